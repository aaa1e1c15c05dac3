package chat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// outputTokens is what an output takes that is as long as one may be, about.
const outputTokens = events.MaxResultBytes / 4

// output is the output of that number: as long as one may be, with a mark.
func output(n int) string {
	mark := fmt.Sprintf("OUTPUT %d. ", n)
	return mark + strings.Repeat("o", events.MaxResultBytes-len(mark))
}

// outputs is a story of one turn in which a tool that reads gave so many outputs,
// and the model has answered. Nobody knows the window.
func outputs(t *testing.T, calls int) *story {
	t.Helper()
	s := begin(t)
	s.send("look at all of it")
	s.looks(1, calls)
	s.answer(events.Text("I have"))
	return s
}

// looks has the tool called so many times in the open turn, each time in a step of
// its own.
func (s *story) looks(turn, calls int) {
	s.t.Helper()
	for n := range calls {
		step, _, _ := s.state.OpenAttempt()
		s.answer(call("look", "{}"))
		s.result(id(turn, step.Step, 1), events.ToolOK, output(n))
	}
}

// masked is the compaction among the events that leaves outputs out.
func masked(t *testing.T, list []events.Event) events.ContextCompacted {
	t.Helper()
	e := find[events.ContextCompacted](t, list)
	if e.Step != nil || len(e.Masked) == 0 {
		t.Fatalf("compacted %+v", e)
	}
	return e
}

func TestS10_5_OldOutputsAreLeftOutFirst(t *testing.T) {
	t.Parallel()
	t.Run("in place of a summary, if that makes the context small enough", func(t *testing.T) {
		t.Parallel()
		s := outputs(t, 12)
		s.windows = map[string]chat.Window{"m": {Tokens: 130_000}} // of which 12 outputs take 98,304
		list := s.send("THE NEXT")
		wants(t, list, "input.accepted", "turn.started", "context.compacted", "step.requested")
		e := masked(t, list)
		// The newest 50,000 tokens are seven outputs: the seventh from the end begins within.
		want := []events.CallID{id(1, 1, 1), id(1, 2, 1), id(1, 3, 1), id(1, 4, 1), id(1, 5, 1)}
		if !slices.Equal(e.Masked, want) || e.Boundary != (events.Boundary{Turn: 1, Step: 5}) {
			t.Errorf("masked %v, boundary %+v", e.Masked, e.Boundary)
		}
		if e.Before < 12*outputTokens || e.After > 8*outputTokens || e.After < 7*outputTokens {
			t.Errorf("from %d to %d tokens", e.Before, e.After)
		}
		shown := s.shown()
		for n := range 12 {
			if is := strings.Contains(shown, fmt.Sprintf("OUTPUT %d. ", n)); is != (n >= len(want)) {
				t.Errorf("output %d is shown: %t", n, is)
			}
		}
		if n := strings.Count(shown, "The output of look, about 8192 tokens, was left out"); n != len(want) {
			t.Errorf("%d placeholders", n)
		}
		if !strings.Contains(shown, "call the tool again with the same arguments") {
			t.Error("nothing says how it can be had")
		}
		s.answer(events.Text("well"))
		s.answers()
	})
	t.Run("and a summary follows if the context is full all the same", func(t *testing.T) {
		t.Parallel()
		s := outputs(t, 12)
		s.windows = map[string]chat.Window{"m": {Tokens: 80_000}}
		list := s.send("THE NEXT")
		wants(t, list, "input.accepted", "turn.started", "context.compacted", "step.requested")
		masked(t, list)
		if !s.summing() || !strings.Contains(s.shown(), "was left out to save room") {
			t.Error("no summary is asked for, or one of everything")
		}
		wants(t, s.answer(events.Text("notes")), "step.completed", "context.compacted", "step.requested")
		s.answer(events.Text("well"))
		s.answers()
	})
	t.Run("in the middle of a long turn, where calls and results stay together", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		s.windows = map[string]chat.Window{"m": {Tokens: 130_000}}
		s.send("a long task")
		s.looks(1, 30)
		s.answer(events.Text("done"))
		if n := len(every[events.ContextCompacted](s)); n < 2 {
			t.Errorf("%d compactions", n)
		}
		for _, e := range every[events.ContextCompacted](s) {
			if e.Step != nil {
				t.Errorf("summed up: %+v", e)
			}
		}
		s.shown()
	})
	t.Run("and if the provider says that the request is too large", func(t *testing.T) {
		t.Parallel()
		s := outputs(t, 12)
		s.windows = map[string]chat.Window{"": {CompactAt: chat.DefaultCompactAt}}
		s.send("THE NEXT")
		tooLarge := model.Error{Class: events.ClassContextTooLarge, Message: "too long"}
		list := s.fail(tooLarge)
		wants(t, list, "step.failed", "context.compacted", "step.requested")
		masked(t, list)
		if e := find[events.StepRequested](t, list); e.Attempt != 2 || e.Purpose != events.PurposeAnswer {
			t.Errorf("asked %+v", e)
		}
		wants(t, s.fail(tooLarge), "step.failed", "step.requested") // now a summary
		if !s.summing() {
			t.Fatal("no summary is asked for")
		}
		list = s.answer(events.Text("notes"))
		wants(t, list, "step.completed", "context.compacted", "step.requested")
		if e := find[events.StepRequested](t, list); e.Attempt != 3 {
			t.Errorf("asked %+v", e)
		}
		wants(t, s.fail(tooLarge), "step.failed", "turn.failed")
		s.answers()
	})
}

func TestS10_5_WhatIsNeverLeftOut(t *testing.T) {
	t.Parallel()
	t.Run("anything, unless all outputs take more than 75,000 tokens", func(t *testing.T) {
		t.Parallel()
		s := outputs(t, 9) // 73,728
		s.windows = map[string]chat.Window{"m": {Tokens: 100_000}}
		s.send("THE NEXT")
		if !s.summing() {
			t.Error("no summary is asked for")
		}
		if list := every[events.ContextCompacted](s); len(list) > 0 {
			t.Errorf("compacted %+v", list)
		}
	})
	t.Run("★ what failed, or of what nobody knows what became", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		s.send("try all of it")
		statuses := []events.ToolStatus{events.ToolError, events.ToolUnknown, events.ToolTimeout, events.ToolOK}
		for n := range 16 {
			s.answer(call("look", "{}"))
			s.result(id(1, n+1, 1), statuses[n%len(statuses)], output(n))
		}
		s.answer(events.Text("I have"))
		s.send("again")
		s.looks(2, 12)
		s.answer(events.Text("well"))
		s.windows = map[string]chat.Window{"m": {Tokens: 150_000}}
		e := masked(t, s.send("THE NEXT"))
		for _, id := range e.Masked {
			if id.Turn == 1 && id.Step%len(statuses) != 0 {
				t.Errorf("call %s is left out", id)
			}
		}
		if len(e.Masked) != 4+5 {
			t.Errorf("masked %v", e.Masked)
		}
	})
	t.Run("★ what no model has read yet, however much it is", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		s.windows = map[string]chat.Window{"m": {Tokens: 100_000}}
		s.send("look at all of it at once")
		s.answer(slices.Repeat([]events.Part{call("look", "{}")}, 12)...)
		var list []events.Event
		for n := range 12 {
			list = s.result(id(1, 1, n+1), events.ToolOK, output(n))
		}
		if slices.Contains(types(list), "context.compacted") {
			t.Errorf("events %v", types(list))
		}
	})
	t.Run("★ what a person answered, however long that is", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		s.command(protocol.Configure{V: 1, Settings: events.Settings{Tools: new([]string{chat.ToolAskUser, "look"})}})
		s.send("ask me, and look at all of it")
		ask := `{"questions":[{"id":"q","header":"h","text":"which?","options":[{"label":"a","description":"A"},{"label":"b","description":"B"}]}]}`
		s.answer(call(chat.ToolAskUser, ask))
		said := strings.Repeat("mine ", 200)
		s.command(protocol.Answer{V: 1, Call: id(1, 1, 1), Answers: []events.Answer{{Question: "q", Text: said}}})
		s.looks(1, 12)
		s.answer(events.Text("I have"))
		s.windows = map[string]chat.Window{"m": {Tokens: 130_000}}
		if e := masked(t, s.send("THE NEXT")); slices.Contains(e.Masked, id(1, 1, 1)) {
			t.Errorf("masked %v", e.Masked)
		}
		if !strings.Contains(s.shown(), strings.TrimSpace(said)) {
			t.Error("the answer is not shown")
		}
	})
	t.Run("what is no longer than its placeholder", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		s.send("look at all of it")
		s.answer(call("look", "{}"))
		s.result(id(1, 1, 1), events.ToolOK, "short")
		s.looks(1, 12)
		s.answer(events.Text("I have"))
		s.windows = map[string]chat.Window{"m": {Tokens: 130_000}}
		if e := masked(t, s.send("THE NEXT")); slices.Contains(e.Masked, id(1, 1, 1)) {
			t.Errorf("masked %v", e.Masked)
		}
	})
	t.Run("anything that saves less than a fifth: a summary does better", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		s.send(strings.Repeat("much ", 60_000)) // 75,000 tokens
		s.looks(1, 10)
		s.answer(events.Text("I have"))
		s.windows = map[string]chat.Window{"m": {Tokens: 150_000}}
		s.send("THE NEXT")
		if !s.summing() || len(every[events.ContextCompacted](s)) > 0 {
			t.Error("outputs are left out")
		}
	})
	t.Run("★ a call that has changed something is not to be made again for its output", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		s.send("pay all of it")
		for n := range 12 {
			s.answer(call("pay", "{}"))
			s.result(id(1, n+1, 1), events.ToolOK, output(n))
		}
		s.answer(events.Text("I have"))
		s.windows = map[string]chat.Window{"m": {Tokens: 130_000}}
		masked(t, s.send("THE NEXT"))
		if shown := s.shown(); strings.Contains(shown, "call the tool again") || !strings.Contains(shown, "ask the user, who can read all of it") {
			t.Error("the model is told to pay again, or not how the output can be had")
		}
	})
}

// What a sub-agent answered is an output of a tool like any other. To have it again by
// the same call would have the task done again.
func TestS10_5_AnswersOfSubAgentsAreLeftOutToo(t *testing.T) {
	t.Parallel()
	s := family(t)
	for n := range 12 {
		s.answer(call("delegate", `{"task":"find out"}`))
		child := s.child(id(1, n+1, 1))
		child.answer(events.Text(output(n)))
		s.reports(child)
	}
	s.answer(events.Text("I have"))
	before := s.shown()
	s.windows = map[string]chat.Window{"m": {Tokens: 130_000}}
	e := masked(t, s.send("THE NEXT"))
	want := []events.CallID{id(1, 1, 1), id(1, 2, 1), id(1, 3, 1), id(1, 4, 1), id(1, 5, 1)}
	if !slices.Equal(e.Masked, want) {
		t.Errorf("masked %v, want %v", e.Masked, want)
	}
	shown := s.shown()
	for n := range 12 {
		if is := strings.Contains(shown, fmt.Sprintf("OUTPUT %d. ", n)); is != (n >= len(want)) {
			t.Errorf("answer %d is shown: %t", n, is)
		}
	}
	if strings.Contains(shown, "call the tool again") || strings.Count(shown, "another one would do all of it again") != len(want) {
		t.Error("the model is told to delegate the same again, or not how the answer can be had")
	}
	s.answer(events.Text("well"))
	s.command(protocol.Restore{V: 1})
	if !strings.HasPrefix(s.shown(), strings.TrimSuffix(before, "]}")) {
		t.Error("something else is shown than before")
	}
	s.answers()
}

func TestS10_5_RestoringShowsOutputsAgain(t *testing.T) {
	t.Parallel()
	maskedStory := func(t *testing.T) (*story, string) {
		s := outputs(t, 12)
		before := s.shown()
		s.windows = map[string]chat.Window{"m": {Tokens: 130_000}}
		masked(t, s.send("THE NEXT"))
		s.answer(events.Text("well"))
		return s, before
	}
	shows := func(s *story) bool { return strings.Contains(s.shown(), "OUTPUT 0. ") }
	t.Run("as the last that was done", func(t *testing.T) {
		t.Parallel()
		s, before := maskedStory(t)
		if shows(s) {
			t.Fatal("nothing is left out")
		}
		s.command(protocol.Clear{V: 1})
		wants(t, of(s.command(protocol.Restore{V: 1})), "context.restored")
		if shows(s) {
			t.Error("restoring what was cleared shows outputs that were left out before")
		}
		e := find[events.ContextRestored](t, of(s.command(protocol.Restore{V: 1})))
		if e.Boundary != (events.Boundary{Turn: 1, Step: 5}) {
			t.Errorf("restored %+v", e)
		}
		if !strings.HasPrefix(s.shown(), strings.TrimSuffix(before, "]}")) {
			t.Error("something else is shown than before")
		}
		wants(t, of(s.command(protocol.Restore{V: 1})), "command.noted")
		masked(t, s.send("once more")) // it is still too much
		s.answer(events.Text("well"))
		s.answers()
	})
	t.Run("on another branch too, as far as that has them", func(t *testing.T) {
		t.Parallel()
		s, _ := maskedStory(t)
		s.command(protocol.Regenerate{V: 1, Turn: 2})
		if shows(s) {
			t.Error("another branch shows what was left out")
		}
		s.answer(events.Text("well"))
		s.command(protocol.Restore{V: 1})
		if !shows(s) {
			t.Error("it does not come back")
		}
		s.command(protocol.Regenerate{V: 1, Turn: 1}) // a branch without those calls
		s.answer(events.Text("well"))
		wants(t, of(s.command(protocol.Restore{V: 1})), "command.noted")
	})
	t.Run("a snapshot knows it", func(t *testing.T) {
		t.Parallel()
		s, _ := maskedStory(t)
		b, err := chat.Encode(s.state)
		if err != nil {
			t.Fatal(err)
		}
		again, err := chat.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if string(chat.Prompt(again).Canonical()) != string(chat.Prompt(s.state).Canonical()) || again.Hash() != s.state.Hash() {
			t.Error("another state")
		}
		s.state = again
		s.command(protocol.Restore{V: 1})
		if !shows(s) {
			t.Error("it does not come back")
		}
	})
}

// Whoever goes on from a chat counts its commits anew, and knows all the same that
// outputs were left out before.
func TestS10_5_AForkDoesNotTakeWhatWasLeftOutForAnAnswer(t *testing.T) {
	t.Parallel()
	c := chatgen.New(lawful)
	c.Live.Windows = map[string]chat.Window{"small": {CompactAt: chat.DefaultCompactAt}}
	c.Create(events.Settings{})
	c.Send("look")
	for step := range 3 {
		c.Answer(chatgen.Call(chatgen.ToolRead, chatgen.ArgumentsValid))
		c.Claim(id(1, step+1, 1), 1)
		c.Pictures(id(1, step+1, 1), 30)
	}
	c.Answer(events.Text("seen"))
	c.Send("and now?")
	masked(t, c.Fail(events.ClassContextTooLarge).Events)
	c.Fail(events.ClassInvalidRequest)
	fork := c.ForkAt(forked, c.State.Rev())
	fork.Send("and now?")
	list := fork.Fail(events.ClassContextTooLarge).Events
	wants(t, list, "step.failed", "step.requested")
	if e := find[events.StepRequested](t, list); e.Purpose != events.PurposeSummary {
		t.Errorf("asked %+v", e)
	}
	fork.Answer(events.Text("notes"))
	fork.Answer(events.Text("well"))
	if _, running := fork.State.Running(); running {
		t.Error("the turn does not end")
	}
}

// A state is a value: what is left out of a newer one is still shown by an older.
func TestS10_5_AnOlderStateStaysAsItWas(t *testing.T) {
	t.Parallel()
	s := outputs(t, 12)
	before := s.state
	shown, hash := string(chat.Prompt(before).Canonical()), before.Hash()
	s.windows = map[string]chat.Window{"m": {Tokens: 130_000}}
	list := s.send("THE NEXT")
	asked := find[events.StepRequested](t, list)
	if string(chat.Prompt(before).Canonical()) != shown || before.Hash() != hash {
		t.Error("an older state has changed")
	}
	if got := events.DigestOf(chat.Prompt(s.state).Canonical()); got != asked.Prompt {
		t.Errorf("the prompt recorded is %s, and shown is %s", asked.Prompt, got)
	}
}

func TestS10_5_ALogThatLeavesOutWhatItCannotIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		with func(*events.ContextCompacted)
	}{
		{"nothing", func(e *events.ContextCompacted) { e.Masked = nil }},
		{"a call there is not", func(e *events.ContextCompacted) { e.Masked[4] = id(1, 5, 2) }},
		{"a call of a turn there is not", func(e *events.ContextCompacted) { e.Masked[4] = id(7, 1, 1) }},
		{"a call twice", func(e *events.ContextCompacted) { e.Masked[4] = e.Masked[3] }},
		{"in another order", func(e *events.ContextCompacted) { slices.Reverse(e.Masked) }},
		{"with a summary", func(e *events.ContextCompacted) { e.Summary = []events.Part{events.Text("notes")} }},
		{"up to where there is nothing", func(e *events.ContextCompacted) { e.Boundary.Turn = 9 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := outputs(t, 12)
			s.windows = map[string]chat.Window{"m": {Tokens: 130_000}}
			before := s.state
			s.send("THE NEXT")
			c := s.log[len(s.log)-1]
			c.Events = slices.Clone(c.Events)
			for i := range c.Events {
				if e, ok := c.Events[i].(events.ContextCompacted); ok {
					e.Masked = slices.Clone(e.Masked)
					tt.with(&e)
					c.Events[i] = e
				}
			}
			if before.Apply(c, "hash").Wrong() == "" {
				t.Error("it is folded")
			}
		})
	}
}
