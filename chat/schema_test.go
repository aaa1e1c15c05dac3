package chat

import (
	"os"
	"strings"
	"testing"
)

// What is wrong with a schema or with arguments stands in the log, so it is the same
// on every machine and each time.
func TestWhatIsSaidOfSchemas(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	const manyWrong = `{"properties":{"a":{"type":"nope"},"b":{"type":"nope"},"c":{"type":7},"d":{"minimum":"x"}}}`
	for _, raw := range []string{
		`{"type":"nope"}`, `7`, `{"$ref":"other.json"}`, `{"$ref":"#/$defs/x"}`, `{"$id":"/etc/passwd","$ref":"x"}`, `{"$id":"%zz"}`,
		`{"$anchor":"a","$defs":{"b":{"$anchor":"a"}}}`, `{"$ref":"#nope"}`, `{"$schema":"::"}`, manyWrong,
	} {
		said := map[string]bool{}
		for range 20 {
			_, err := CompileSchema([]byte(raw))
			if err == nil {
				t.Fatalf("%s is taken for a schema", raw)
			}
			said[err.Error()] = true
		}
		if len(said) > 1 {
			t.Errorf("%s: %d different things are said", raw, len(said))
		}
		for text := range said {
			if strings.Contains(text, here) || strings.Contains(text, "file:") {
				t.Errorf("%s: %s", raw, text)
			}
		}
	}
}

func TestWhatIsSaidOfArguments(t *testing.T) {
	t.Parallel()
	s, err := CompileSchema([]byte(`{"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"anyOf":[{"type":"string"},{"type":"null"}]},
		"d":{"$ref":"#/$defs/x"}},"patternProperties":{"^a":{"minLength":3},"^.$":{"minLength":2}},"$defs":{"x":{"type":"string"}},"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	want := s.check(`{"a":"1","b":2,"c":3,"d":4,"ee":1,"ff":2,"gg":3}`)
	for range 50 {
		if got := s.check(`{"a":"1","b":2,"c":3,"d":4,"ee":1,"ff":2,"gg":3}`); got != want {
			t.Fatalf("said once:\n%s\nand then:\n%s", want, got)
		}
	}
	if !strings.Contains(want, "'ee', 'ff', 'gg'") {
		t.Errorf("said: %s", want)
	}
}
