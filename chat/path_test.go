package chat_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/google/go-cmp/cmp"
)

// grow adds an answered turn with that parent.
func (s *story) grow(number, parent int, said, answer string) {
	s.t.Helper()
	m := chat.Command{ID: said, Sequence: s.seq}
	first := find[events.TurnStarted](s.t, s.log[1].Events)
	first.Settings.Body = nil
	first.Turn, first.Parent, first.Inputs = number, parent, []string{said}
	s.commit(m, []events.Event{
		events.InputAccepted{Input: said, Parts: []events.Part{events.Text(said)}, Mode: events.ModeQueue},
		first,
		events.StepRequested{Step: events.StepID{Turn: number, Step: 1}, Purpose: events.PurposeAnswer, Attempt: 1, Model: "m", Pool: "default"},
	})
	s.answer(events.Text(answer))
}

// shown is the text of what the model reads, in order.
func shown(s chat.State) string {
	var all []string
	for _, m := range chat.Prompt(s).Messages {
		for _, p := range m.Parts {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, " ")
}

// asked is the next step that is asked for, in a copy of the story.
func asked(t *testing.T, s story, text string) (events.TurnStarted, events.StepRequested, chat.State) {
	t.Helper()
	list := s.send(text)
	return find[events.TurnStarted](t, list), find[events.StepRequested](t, list), s.state
}

// reloaded is a state that was kept and read again.
func reloaded(t *testing.T, s chat.State) chat.State {
	t.Helper()
	b, err := chat.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := chat.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func TestTheModelReadsThePathToTheTipAndNothingElse(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.send("a")
	s.answer(events.Text("A"))
	for _, turn := range []struct {
		number, parent int
		said, reads    string
	}{
		{2, 1, "b", "a A b B"},
		{3, 2, "c", "a A b B c C"},
		{4, 1, "d", "a A d D"},
		{5, 4, "e", "a A d D e E"},
		{6, 0, "f", "f F"},
		{7, 3, "g", "a A b B c C g G"},
		{8, 5, "h", "a A d D e E h H"},
	} {
		s.grow(turn.number, turn.parent, turn.said, strings.ToUpper(turn.said))
		if got := shown(s.state); got != turn.reads {
			t.Errorf("after turn %d the model reads %q, want %q", turn.number, got, turn.reads)
		}
		back := reloaded(t, s.state)
		if diff := cmp.Diff(string(chat.Prompt(s.state).Canonical()), string(chat.Prompt(back).Canonical())); diff != "" {
			t.Errorf("turn %d, read again (-before +after):\n%s", turn.number, diff)
		}
		started, requested, next := asked(t, *s, "next")
		if started.Turn != turn.number+1 || started.Parent != turn.number {
			t.Errorf("turn %d follows turn %d, want turn %d to follow %d", started.Turn, started.Parent, turn.number+1, turn.number)
		}
		if want := events.DigestOf(chat.Prompt(next).Canonical()); requested.Prompt != want {
			t.Errorf("turn %d: the digest recorded is not that of what the model reads", started.Turn)
		}
	}
}

func TestATurnFollowsOnlyOneThatWasStarted(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.send("a")
	s.answer(events.Text("A"))
	for _, parent := range []int{-1, 2, 3} {
		c := *s
		c.commit(chat.Command{ID: "x", Sequence: 9}, []events.Event{events.TurnStarted{Turn: 2, Parent: parent, Cause: events.CauseRetry}})
		if c.state.Wrong() == "" {
			t.Errorf("turn 2 follows turn %d", parent)
		}
	}
}
