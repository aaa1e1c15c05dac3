package models

import (
	"os"
	"strings"
	"testing"
)

func TestTheDocumentedFileIsRead(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/MODELS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, file, _ := strings.Cut(string(page), "```yaml\n")
	file, _, _ = strings.Cut(file, "```")
	s, err := Parse("docs/MODELS.md", []byte(file), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if s.Default != "sonnet" || len(s.List()) != 4 {
		t.Errorf("default %q, %d models", s.Default, len(s.List()))
	}
	for _, class := range fallbackClasses() {
		if !strings.Contains(string(page), "`"+string(class)+"`") {
			t.Errorf("class %s is not in the page", class)
		}
	}
}
