package projections_test

import (
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections"
)

// People read everything, and where models do not any more. What a model was asked
// for beside its answers is nothing that was said.
func TestS10_4_PeopleSeeWhereContextsChange(t *testing.T) {
	t.Parallel()
	summary := events.StepID{Turn: 3, Step: 1}
	aside := events.StepID{Step: 1}
	s := turns(2)
	s = append(s,
		[]events.Event{
			said("more", "more"), started(4, "more"),
			events.StepRequested{Step: summary, Purpose: events.PurposeSummary, Attempt: 1},
		},
		[]events.Event{
			events.StepCompleted{Step: summary, Attempt: 1, Parts: []events.Part{events.Text("NOTES")}},
			events.ContextCompacted{Step: &summary, Boundary: events.Boundary{Turn: 1, Step: 1}, Summary: []events.Part{events.Text("NOTES")}, Before: 900, After: 300},
			asked(4, 2, 1),
		},
		[]events.Event{answered(4, 2, events.Text("the answer")), completed(4)},
		[]events.Event{events.ContextCleared{Boundary: events.Boundary{Turn: 4, Step: 2}}},
		[]events.Event{events.ContextRestored{Boundary: events.Boundary{Turn: 4, Step: 2}}},
		[]events.Event{events.StepRequested{Step: aside, Purpose: events.PurposeSummary, Attempt: 1}},
		[]events.Event{
			events.StepFailed{Step: aside, Attempt: 1, Class: events.ClassQuota},
			events.ContextCompactionFailed{Step: aside, Class: events.ClassQuota, Message: "no credit left"},
		},
	)
	page := transcript(t, s.written())
	if page.Status != projections.StatusIdle || page.Step != "" || page.MessageCount != 6 {
		t.Errorf("status %s, step %q, %d messages", page.Status, page.Step, page.MessageCount)
	}
	want := []projections.Mark{
		{After: 5, Kind: projections.MarkCompacted, Summary: "NOTES", Before: 900, Tokens: 300},
		{After: 6, Kind: projections.MarkCleared},
		{After: 6, Kind: projections.MarkRestored},
		{After: 6, Kind: projections.MarkFailed, Message: "no credit left"},
	}
	if len(page.Marks) != len(want) {
		t.Fatalf("marks %+v", page.Marks)
	}
	for i, m := range page.Marks {
		m.Rev, m.At = 0, 0
		if m != want[i] {
			t.Errorf("mark %+v, want %+v", m, want[i])
		}
	}
	var text strings.Builder
	if err := projections.NewTextWriter(&text, time.UTC).WritePage(page); err != nil {
		t.Fatal(err)
	}
	before, after, _ := strings.Cut(text.String(), "NOTES")
	if !strings.Contains(before, "more") || !strings.Contains(after, "the answer") || strings.Contains(after, "NOTES") {
		t.Errorf("written is %s", text.String())
	}
}
