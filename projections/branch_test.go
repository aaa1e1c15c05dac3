package projections_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
)

// branched is a chat of four turns: 1; 2 and 4 behind it; 3 instead of 1.
func branched(t *testing.T) *projections.Projections {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{})
	c.Send("one")
	c.Answer(events.Text("ONE"))
	c.Send("two")
	c.Answer(events.Text("TWO"))
	c.Command(protocol.Edit{V: 1, Turn: 1, Parts: []events.Part{events.Text("three")}})
	c.Answer(events.Text("THREE"))
	c.Command(protocol.SelectBranch{V: 1, Turn: 1})
	c.Send("four")
	c.Answer(events.Text("FOUR"))
	b := &book{}
	for _, commit := range c.Commits {
		b.write(ann, commit.Cause, commit.Events...)
	}
	return open(t, b, blobs(c.Blobs))
}

// saidOn is what a transcript shows, and the siblings of its turns.
func saidOn(t *testing.T, p *projections.Projections, request string) (texts []string, siblings [][]int) {
	t.Helper()
	answer, err := ask(t, p, "transcript", request)
	if err != nil {
		t.Fatal(err)
	}
	page := decoded(t, answer)
	for _, m := range page.Messages {
		texts = append(texts, m.Parts[0].Text)
	}
	for _, turn := range page.Turns {
		siblings = append(siblings, turn.Siblings)
	}
	return texts, siblings
}

// Rule: S13.
func TestATranscriptShowsOneBranch(t *testing.T) {
	t.Parallel()
	p := branched(t)
	for _, tt := range []struct {
		branch   int
		texts    []string
		siblings [][]int
	}{
		{0, []string{"one", "ONE", "four", "FOUR"}, [][]int{{1, 3}, {2, 4}}},
		{1, []string{"one", "ONE"}, [][]int{{1, 3}}},
		{2, []string{"one", "ONE", "two", "TWO"}, [][]int{{1, 3}, {2, 4}}},
		{3, []string{"three", "THREE"}, [][]int{{1, 3}}},
	} {
		texts, siblings := saidOn(t, p, fmt.Sprintf(`{"chat":"ann","branch":%d}`, tt.branch))
		if diff := cmp.Diff(tt.texts, texts); diff != "" {
			t.Errorf("branch %d (-want +got):\n%s", tt.branch, diff)
		}
		if diff := cmp.Diff(tt.siblings, siblings); diff != "" {
			t.Errorf("branch %d, siblings (-want +got):\n%s", tt.branch, diff)
		}
	}
	texts, _ := saidOn(t, p, `{"chat":"ann","after":2,"limit":1}`)
	if diff := cmp.Diff([]string{"four"}, texts); diff != "" {
		t.Errorf("a page (-want +got):\n%s", diff)
	}
	_, err := ask(t, p, "transcript", `{"chat":"ann","branch":5}`)
	if refused, ok := errors.AsType[*protocol.RefusedError](err); !ok || refused.Code != events.CodeUnknownTurn {
		t.Errorf("a branch that there is not: %v", err)
	}
}

// Rule: S13.
func TestBranchesAreListedByTheirLastTurns(t *testing.T) {
	t.Parallel()
	b, err := branched(t).Branches(t.Context(), ann.Tenant, projections.BranchesRequest{Chat: ann.Chat})
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Branches {
		b.Branches[i].At = 0
	}
	want := []projections.Branch{
		{Turn: 2, From: 1, TurnCount: 2, Status: projections.TurnCompleted, Text: "two"},
		{Turn: 3, TurnCount: 1, Status: projections.TurnCompleted, Text: "three"},
		{Turn: 4, TurnCount: 2, Status: projections.TurnCompleted, Text: "four", Selected: true},
	}
	if diff := cmp.Diff(want, b.Branches); diff != "" {
		t.Errorf("branches (-want +got):\n%s", diff)
	}
}
