package index

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Rows are what folding everything gives, however often whoever keeps them begins anew.
func TestRowsAreTheFoldOfEverything(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			whole := histories(t, seed, 25, 60)
			atOnce := t.TempDir()
			follow(t, whole, atOnce).stop()

			growing, inPieces := &logs{blobs: whole.blobs}, t.TempDir()
			for piece := range 5 {
				for n, list := range whole.stored {
					growing.mu.Lock()
					growing.stored[n] = list[:len(list)*(piece+1)/5]
					growing.mu.Unlock()
				}
				follow(t, growing, inPieces).stop()
			}
			want, got := dump(t, atOnce), dump(t, inPieces)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("rows (-at once +in pieces):\n%s", diff)
			}
			for table, rows := range want {
				if len(rows) == 0 && table != "quarantine" {
					t.Errorf("%s has no rows: the test says nothing about it", table)
				}
				t.Logf("%s: %d rows", table, len(rows))
			}
			if len(want["quarantine"]) > 0 {
				t.Errorf("set aside: %v", want["quarantine"])
			}
		})
	}
}
