package toolrunner

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzWork reads any bytes as a call. What is taken names a chat and a call, and
// is the same when it is written and read again.
func FuzzWork(f *testing.F) {
	for _, name := range []string{"work.tool.full", "work.tool.blob", "work.model.full"} {
		b, err := os.ReadFile("../protocol/testdata/wire/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		w, err := parseWork(body)
		if err != nil {
			return
		}
		if err := w.Key().Validate(); err != nil || w.Call.Ordinal < 1 {
			t.Errorf("taken: %+v, %v", w, err)
		}
		again, err := json.Marshal(w)
		if err != nil {
			t.Fatalf("read, and cannot be written: %v", err)
		}
		back, err := parseWork(again)
		if err != nil {
			t.Fatalf("written, and cannot be read: %v\n%s", err, again)
		}
		if third, err := json.Marshal(back); err != nil || string(third) != string(again) {
			t.Errorf("written again, %v:\n%s", err, cmp.Diff(string(again), string(third)))
		}
	})
}
