//go:build defects

package sim

import (
	"regexp"
	"testing"
)

// enough is the number of seeds within which a defect must be found.
const enough = 2000

var foundAt = regexp.MustCompile(`(?m)seed \d+: .*\n.*$`)

// TestDefects plants each defect in a copy of the product and demands that the
// simulation finds it. It takes minutes, so it is built only when asked for.
func TestDefects(t *testing.T) {
	for name, d := range defects(t) {
		t.Run(name, func(t *testing.T) {
			binary := compile(t, d)
			out, err := childWith(t, binary, *first, enough)
			if err == nil {
				t.Fatalf("not found in %d seeds: %s", enough, d.what)
			}
			found := foundAt.FindString(out)
			if found == "" {
				t.Fatalf("no seed failed, but the process did: %v\n%s", err, out)
			}
			t.Logf("%s\nfound by %s", d.what, found)
		})
	}
}
