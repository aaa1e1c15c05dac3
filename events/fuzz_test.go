package events_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzDecode feeds anything to the decoder. It must not panic, must say which of
// two things is wrong, what it accepts must survive being written again, and all
// of it must be what the plain way does.
func FuzzDecode(f *testing.F) {
	for _, pattern := range []string{"testdata/wire/commit.*.json", "testdata/wire/bad/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatal("no seeds", pattern, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	for _, s := range unusualSpellings() {
		f.Add([]byte(s.body))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		sameAsPlain(t, b)
		c, err := events.Decode(b)
		if err != nil {
			_, newer := errors.AsType[*events.VersionError](err)
			if newer == errors.Is(err, events.ErrMalformed) {
				t.Errorf("neither newer nor malformed, or both: %v", err)
			}
			return
		}
		again, err := events.Encode(c)
		if err != nil {
			t.Fatalf("accepted, and cannot be written: %v", err)
		}
		back, err := events.Decode(again)
		if err != nil {
			t.Fatalf("written, and cannot be read: %v\n%s", err, again)
		}
		if diff := cmp.Diff(c, back, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("means something else after writing:\n%s", diff)
		}
	})
}
