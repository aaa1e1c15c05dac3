package doctest

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// body is an example of a body on a page, after a comment that names its schema.
var body = regexp.MustCompile("(?s)<!-- body: ([a-z.-]+) -->\n```json\n(.*?)```")

// bodiesOfRunners are what the author of a runner has to write and to read.
var bodiesOfRunners = []string{
	"offer", "offer-answer", "work.tool", "claim", "claim-answer", "runner-question", "runner-answer", "progress", "stop", "result",
	"result-answer", "upload", "upload-answer", "download", "download-answer", "ask", "ask-answer",
}

// Whoever writes a runner copies from the page: what it shows is what is taken.
func TestBodiesOnPagesAreValid(t *testing.T) {
	t.Parallel()
	shown := map[string]bool{}
	for name, content := range pages(t) {
		for _, match := range body.FindAllStringSubmatch(content, -1) {
			kind, example := match[1], match[2]
			schema, err := jsonschema.NewCompiler().Compile(filepath.Join(root, "docs", "schema", kind+".json"))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(example))
			if err == nil {
				err = schema.Validate(value)
			}
			if err != nil {
				t.Errorf("%s: %s\n%s%v", name, kind, example, err)
			}
			for field := range value.(map[string]any) {
				if !bytes.Contains(schemaFile(t, kind), []byte(`"`+field+`"`)) {
					t.Errorf("%s: %s: there is no field %s", name, kind, field)
				}
			}
			shown[kind] = true
		}
	}
	for _, kind := range bodiesOfRunners {
		if !shown[kind] {
			t.Errorf("no page shows the body %s", kind)
		}
	}
}

func schemaFile(t *testing.T, kind string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "docs", "schema", kind+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
