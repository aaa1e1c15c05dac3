package projections_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
)

// People read everything, and where models do not any more. What a model was asked
// for beside its answers is nothing that was said.
func TestS10_5_PeopleSeeThatOutputsAreLeftOut(t *testing.T) {
	t.Parallel()
	s := append(turns(2), []events.Event{
		said("more", "more"), started(3, "more"),
		events.ContextCompacted{
			Boundary: events.Boundary{Turn: 1, Step: 1}, Masked: []events.CallID{{Turn: 1, Step: 1, Ordinal: 1}, {Turn: 1, Step: 1, Ordinal: 2}},
			Before: 90_000, After: 60_000,
		},
		asked(3, 1, 1),
	})
	page := transcript(t, s.written())
	if len(page.Marks) != 1 || page.Marks[0].Masked != 2 || page.Marks[0].Kind != projections.MarkCompacted {
		t.Fatalf("marks %+v", page.Marks)
	}
	var text strings.Builder
	if err := projections.NewTextWriter(&text, time.UTC).WritePage(page); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "without 2 old outputs of tools: about 60000 tokens, and not 90000") {
		t.Errorf("written is %s", text.String())
	}
}

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

// What changes behind one turn changes nothing for a branch without it.
//
// Rule: S13.
func TestMarksAreThoseOfTheBranch(t *testing.T) {
	t.Parallel()
	c := chatgen.New(ann)
	c.Create(events.Settings{})
	c.Send("one")
	c.Answer(events.Text("ONE"))
	c.Send("two")
	c.Answer(events.Text("TWO"))
	c.Command(protocol.Clear{V: protocol.Version})
	c.Command(protocol.SelectBranch{V: protocol.Version, Turn: 1})
	c.Send("three")
	c.Answer(events.Text("THREE"))
	c.Command(protocol.SelectBranch{V: protocol.Version, Turn: 1})
	c.Command(protocol.Clear{V: protocol.Version})
	b := &book{}
	for _, commit := range c.Commits {
		b.write(ann, commit.Cause, commit.Events...)
	}
	p := open(t, b, blobs(c.Blobs))
	for _, tt := range []struct {
		branch int
		after  []int
	}{{3, []int{2}}, {0, []int{2}}} {
		page, err := p.Transcript(t.Context(), ann.Tenant, projections.TranscriptRequest{Chat: ann.Chat, Branch: tt.branch})
		if err != nil {
			t.Fatal(err)
		}
		var after []int
		for _, m := range page.Marks {
			after = append(after, m.After)
		}
		if !slices.Equal(after, tt.after) {
			t.Errorf("branch %d has marks behind %v, want %v", tt.branch, after, tt.after)
		}
		var text strings.Builder
		if err := projections.NewTextWriter(&text, time.UTC).WritePage(page); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(text.String(), "shown nothing"); n != len(tt.after) {
			t.Errorf("branch %d says %d times that nothing is shown, want %d:\n%s", tt.branch, n, len(tt.after), text.String())
		}
		if _, above, _ := strings.Cut(text.String(), "THREE"); strings.Contains(above, "shown nothing") {
			t.Errorf("branch %d says that nothing is shown of what is:\n%s", tt.branch, text.String())
		}
	}
}

// What is taken back stands wherever that stood: outputs are shown again on each
// branch that has one of them.
//
// Rule: S13.
func TestMarksOfWhatIsTakenBack(t *testing.T) {
	t.Parallel()
	behind := func(turn, parent int, more ...events.Event) []events.Event {
		input := fmt.Sprint("i", turn)
		start := events.TurnStarted{Turn: turn, Parent: parent, Cause: events.CauseInput, Inputs: []string{input}, Rules: 1, PromptRules: 1, At: noon}
		return append([]events.Event{said(input, "x"), start, asked(turn, 1, 1), answered(turn, 1, events.Text("y"))}, append(more, completed(turn))...)
	}
	boundary := events.Boundary{Turn: 2, Step: 1}
	s := story{
		{created()},
		behind(1, 0),
		behind(2, 1, events.ContextCompacted{Boundary: boundary, Masked: []events.CallID{{Turn: 1, Step: 1, Ordinal: 1}, {Turn: 2, Step: 1, Ordinal: 1}}}),
		{events.ContextCleared{Boundary: boundary}},
		{events.ContextRestored{Boundary: boundary}},
		{events.BranchSelected{Turn: 1}},
		{events.ContextRestored{Boundary: boundary}},
		behind(3, 1),
	}
	p := open(t, s.written(), nil)
	const compacted, cleared, restored = string(projections.MarkCompacted), string(projections.MarkCleared), string(projections.MarkRestored)
	for branch, want := range map[int][]string{2: {compacted, cleared, restored, restored}, 3: {compacted, restored}} {
		page, err := p.Transcript(t.Context(), ann.Tenant, projections.TranscriptRequest{Chat: ann.Chat, Branch: branch})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range page.Marks {
			got = append(got, string(m.Kind))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("branch %d (-want +got):\n%s", branch, diff)
		}
	}
}

// Outputs are left out wherever they stand; that no summary was written is told
// where it was wanted.
//
// Rule: S13.
func TestMarksOfWhatHasNoBoundary(t *testing.T) {
	t.Parallel()
	aside := events.StepID{Step: 1}
	behind := func(turn, parent int, more ...events.Event) []events.Event {
		input := fmt.Sprint("i", turn)
		start := events.TurnStarted{Turn: turn, Parent: parent, Cause: events.CauseInput, Inputs: []string{input}, Rules: 1, PromptRules: 1, At: noon}
		return append([]events.Event{said(input, "x"), start, asked(turn, 1, 1), answered(turn, 1, events.Text("y"))}, append(more, completed(turn))...)
	}
	s := story{
		{created()},
		behind(1, 0),
		behind(2, 1, events.ContextCompacted{Masked: []events.CallID{{Turn: 2, Step: 1, Ordinal: 2}, {Turn: 1, Step: 1, Ordinal: 1}}}),
		behind(3, 2, events.ContextCompacted{Masked: []events.CallID{{Turn: 3, Step: 1, Ordinal: 1}}}),
		{events.ContextCompactionFailed{Step: aside, Message: "behind turn 3"}},
		{events.BranchSelected{Turn: 1}},
		{events.ContextCompactionFailed{Step: aside, Message: "behind turn 1"}},
		behind(4, 1, events.ContextCompactionFailed{Step: events.StepID{Turn: 4, Step: 2}, Message: "in turn 4"}),
	}
	p := open(t, s.written(), nil)
	for branch, want := range map[int][]string{
		3: {"2", "1", "behind turn 3", "behind turn 1"}, 4: {"2", "behind turn 1", "in turn 4"},
	} {
		page, err := p.Transcript(t.Context(), ann.Tenant, projections.TranscriptRequest{Chat: ann.Chat, Branch: branch})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range page.Marks {
			if m.Kind == projections.MarkCompacted {
				m.Message = fmt.Sprint(m.Masked)
			}
			got = append(got, m.Message)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("branch %d (-want +got):\n%s", branch, diff)
		}
	}
}
