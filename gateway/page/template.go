package page

import (
	"embed"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
)

//go:embed templates
var templateFiles embed.FS

// parseTemplates reads all templates. Each piece of the page that is replaced while a
// chat lives is one of its own, so that a page and its stream write the same.
func parseTemplates(files static) (*template.Template, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		"static": files.address,
		"clock":  clock,
		"stamp":  func(t events.Time) string { return t.String() },
		"hour":   func(t events.Time) string { return t.Time().Format("15:04") },
		"precise": func(t events.Time) string {
			return t.Time().Format("15:04:05.000")
		},
		"words": func(s string) string { return strings.ReplaceAll(s, "_", " ") },
		"dict":  dict,
		"half":  func(w float64) string { return fmt.Sprintf("%.1f", w) },
		"left":  func(ms int64) string { return took(time.Duration(ms) * time.Millisecond) },
		"took":  func(from, to events.Time) string { return took(to.Sub(from)) },
	}).ParseFS(templateFiles, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("templates: %w", err)
	}
	return t, nil
}

// dict hands several values to a template.
func dict(pairs ...any) (map[string]any, error) {
	values := make(map[string]any, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: %v is no name", pairs[i])
		}
		values[name] = pairs[i+1]
	}
	return values, nil
}
