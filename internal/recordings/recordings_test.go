//go:build recordings

package recordings_test

import (
	"flag"
	"testing"

	"github.com/everturn/everturn/internal/recordings"
)

var dir = flag.String("dir", "", "where the recordings are")

// Everything that was recorded, in every way of delivery.
func TestRecordings(t *testing.T) {
	if *dir == "" {
		t.Fatal("there is nothing to play: say where with -dir")
	}
	list, err := recordings.Load(*dir)
	if err != nil {
		t.Fatal(err)
	}
	report := play(t, list)
	for _, way := range recordings.Ways {
		tally := report.Tallies[way]
		t.Logf("%-24s %6d plays: %6d complete, %6d of them as the oracle reads them, %6d incomplete and refused, %4d failed and told so",
			way, tally.Plays, tally.Complete, tally.Agreed, tally.Incomplete, tally.Failures)
	}
	t.Logf("%d streams", report.Streams)
	for _, d := range report.Disagreements {
		t.Logf("otherwise: %s", d)
	}
}
