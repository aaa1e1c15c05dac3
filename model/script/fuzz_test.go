package script_test

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/internal/stage"
	"github.com/everturn/everturn/model/script"
)

// FuzzScript reads any text as a script. It is not taken, and told why; or it
// answers, with one end and calls that are numbered.
func FuzzScript(f *testing.F) {
	demo, err := os.ReadFile("demo.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(demo))
	page, err := os.ReadFile("../../docs/SCRIPT.md")
	if err != nil {
		f.Fatal(err)
	}
	for i, block := range strings.Split(string(page), "```") {
		if i%2 == 1 {
			f.Add(strings.TrimPrefix(block, "yaml\n"))
		}
	}
	f.Add(`{"rules":[{"answer":[{"call":{"name":"x","count":3}},{"pause":"1h"},{"text_hex":"ff00"},{"fail":{"class":"overloaded","times":1}}]}]}`)
	f.Fuzz(func(t *testing.T, source string) {
		m, err := script.Parse("f.yaml", []byte(source))
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		synctest.Test(t, func(t *testing.T) { // pauses take no time in here
			for range 2 {
				h := stage.Hear(t.Context(), t, m, stage.Asked())
				n := 0
				for _, p := range answered(h.Answer) {
					if p.Type == events.PartCall {
						if n++; p.Ordinal != n {
							t.Errorf("call %d has the number %d", n, p.Ordinal)
						}
					}
				}
			}
		})
	})
}

func answered(a *model.Answer) []events.Part {
	if a == nil {
		return nil
	}
	return a.Parts
}
