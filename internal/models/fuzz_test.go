package models

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/everturn/everturn/internal/yamlfile"
)

// FuzzFile reads any text as a models.yaml. Everything that is wrong is told, and
// no error repeats a key.
func FuzzFile(f *testing.F) {
	const secret = "sk-fuzzed-0123456789"
	f.Add("default: a\nmodels:\n- {name: a, provider: anthropic, model: b, price: {input: 3, output: 15}}\n")
	f.Add("models:\n- name: a\n  provider: openai-compatible\n  base_url: http://127.0.0.1:1/v1\n  api_key_env: KEY\n" +
		"  fallbacks: [{model: b, on: [overloaded]}]\n- {name: b, provider: script, script: s.yaml}\n")
	f.Add("models:\n- {name: a, provider: openai, api_key: " + secret + "}\n")
	f.Add("api_key: |\n  " + secret + "\n")
	page, err := os.ReadFile("../../docs/MODELS.md")
	if err != nil {
		f.Fatal(err)
	}
	for i, block := range strings.Split(string(page), "```") {
		if i%2 == 1 {
			f.Add(strings.TrimPrefix(block, "yaml\n"))
		}
	}
	f.Fuzz(func(t *testing.T, source string) {
		getenv := func(string) string { return secret }
		if len(source) > 0 && source[0] == '#' {
			getenv = func(string) string { return "" }
		}
		set, err := Parse("f.yaml", []byte(source), getenv)
		if err != nil {
			if wrong, ok := errors.AsType[*yamlfile.Error](err); ok && len(wrong.Problems) == 0 {
				t.Error("not taken, and not told why")
			}
			if err.Error() == "" {
				t.Error("an error without words")
			}
			if !strings.Contains(source, secret) && strings.Contains(err.Error(), secret) {
				t.Errorf("the error repeats a key: %v", err)
			}
			return
		}
		if _, ok := set.Find(set.Default); !ok {
			t.Errorf("the default %q is no model", set.Default)
		}
		for _, m := range set.List() {
			if _, ok := set.Find(m.Name); !ok {
				t.Errorf("%q is listed and not found", m.Name)
			}
		}
	})
}

// FuzzSecret writes a key where none belongs, behind any text. No error shows it.
func FuzzSecret(f *testing.F) {
	const secret = "sk-fuzzed-0123456789"
	f.Add("default: a\nmodels:\n- {name: a, provider: anthropic}\n", "api_key")
	f.Add("models:\n- name: a\n  provider: openai\n  ", "key")
	f.Add("models:\n- name: a\n  base_url: http://h/v1\n  ", "\"token\"")
	f.Fuzz(func(t *testing.T, before, field string) {
		words := strings.FieldsFunc(field, func(r rune) bool { return r != '_' && (r > 'z' || !unicode.IsLetter(r)) })
		if len(words) == 0 || slices.Contains(shownKeys(), words[len(words)-1]) {
			return // nobody writes a key there, or takes it for one
		}
		_, err := Parse("f.yaml", []byte(before+field+": "+secret+"\n"), func(string) string { return "" })
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("the error shows the key: %v", err)
		}
	})
}
