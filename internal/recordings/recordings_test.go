//go:build recordings

package recordings_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/recordings"
)

var dir = flag.String("dir", "", "where the recordings are")

// exceptions are the streams of which an adapter makes something else than the
// oracle, on purpose, and why. There are none.
var exceptions = map[string]string{}

// minAgreement is how many of the complete answers must be as the oracle reads
// them, in percent; each of the others must be an exception.
const minAgreement = 99

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
	t.Logf("%d streams", report.Streams)
	for _, way := range recordings.Ways {
		tally := report.Tallies[way]
		t.Logf("%-22s %6d plays: %6d incomplete and refused, %3d failures told as such, %5d complete, of which %5d as the oracle has them",
			way, tally.Plays, tally.Incomplete, tally.Failures, tally.Complete, tally.Agreed)
		if tally.Agreed*100 < tally.Complete*minAgreement {
			t.Errorf("%s: fewer than %d %% agree", way, minAgreement)
		}
	}
	for class, n := range report.Classes {
		if class != events.ClassInvalidRequest { // every failure inside of a recorded stream is one
			t.Errorf("%d failures inside of streams are %s", n, class)
		}
	}
	for _, d := range report.Disagreements {
		id, _, _ := strings.Cut(d, " ")
		if reason := exceptions[id]; reason != "" {
			t.Logf("exception: %s: %s", reason, d)
			continue
		}
		t.Errorf("otherwise than the oracle: %s", d)
	}
	if report.Streams == 0 {
		t.Error("there are no streams")
	}
}

// Every failure that was recorded.
//
// Rule: S2.3.
func TestFailures(t *testing.T) {
	if *dir == "" {
		t.Fatal("there is nothing to play: say where with -dir")
	}
	list, err := recordings.Load(*dir)
	if err != nil {
		t.Fatal(err)
	}
	runner := runner(t)
	played, wrong := runner.Failures(t.Context(), list)
	t.Logf("%d failures, %d of another class than they should be", played, len(wrong))
	for _, w := range wrong {
		t.Error(w)
	}
}
