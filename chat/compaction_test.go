package chat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// long is a story with a window, of so many answered turns that take about a
// hundred tokens each. Its instructions hold a mark.
func long(t *testing.T, window int64, turns int) *story {
	t.Helper()
	s := begin(t)
	s.command(protocol.Configure{V: 1, Settings: events.Settings{System: "MARK OF THE SYSTEM"}})
	for n := range turns {
		s.send(fmt.Sprintf("question %d %s", n, strings.Repeat("q", 160)))
		s.answer(events.Text(fmt.Sprintf("answer %d %s", n, strings.Repeat("a", 160))))
	}
	s.windows = map[string]chat.Window{"m": {Tokens: window}}
	return s
}

// used ends the open attempt with an answer for which the provider counted so
// many tokens.
func (s *story) used(tokens int64, parts ...events.Part) []events.Event {
	s.t.Helper()
	stop := events.StopEnd
	if slices.ContainsFunc(parts, func(p events.Part) bool { return p.Type == events.PartCall }) {
		stop = events.StopCalls
	}
	return s.tell(s.ended(&model.Answer{Parts: parts, Stop: stop, Usage: events.Usage{Input: tokens / 2, CacheRead: tokens - tokens/2}}, nil))
}

// shown is what the open attempt's model reads, in one text.
func (s *story) shown() string {
	step, _, open := s.state.OpenAttempt()
	if !open {
		return string(chat.Prompt(s.state).Canonical())
	}
	r := chat.PromptFor(s.state, step)
	if wrong := verify.Promptable(r); wrong != "" {
		s.t.Error(wrong)
	}
	return string(r.Canonical())
}

func (s *story) summing() bool { return s.work().Purpose == events.PurposeSummary }
func TestS10_1_SizeOfAContext(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		window chat.Window
		counts int64  // of the call before
		says   int    // characters of the next input
		image  bool   // and an image with it
		sums   bool   // a summary is asked for
		model  string // of that input
	}{
		{"at 70 percent nothing happens", chat.Window{Tokens: 1000}, 695, 4, false, false, ""},
		{"past 70 percent older messages are summed up", chat.Window{Tokens: 1000}, 697, 4, false, true, ""},
		{"what came after is estimated by its characters", chat.Window{Tokens: 1000}, 500, 784, false, false, ""},
		{"four of them are a token, and a message is four more", chat.Window{Tokens: 1000}, 500, 785, false, true, ""},
		{"an image is a thousand tokens", chat.Window{Tokens: 1600}, 200, 4, true, true, ""},
		{"another share can be set for a model", chat.Window{Tokens: 1000, CompactAt: 90}, 880, 4, false, false, ""},
		{"past the share that was set", chat.Window{Tokens: 1000, CompactAt: 90}, 897, 4, false, true, ""},
		{"100 turns it off", chat.Window{Tokens: 1000, CompactAt: 100}, 5000, 4, false, false, ""},
		{"where nobody knows the window nothing happens", chat.Window{}, 50_000_000, 4, false, false, ""},
		{"the window is that of the turn's own model", chat.Window{Tokens: 1000}, 900, 4, false, false, "other"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := long(t, 0, 3)
			s.windows = map[string]chat.Window{"m": tt.window}
			s.send("counted")
			s.used(tt.counts, events.Text("yes"))
			input := protocol.Send{V: 1, Parts: []events.Part{events.Text(strings.Repeat("x", tt.says))}}
			if tt.image {
				input.Parts = append(input.Parts, events.Part{Type: events.PartImage, MediaType: "image/png", Bytes: 9, Blob: events.DigestOf(nil)})
			}
			if tt.model != "" {
				input.Settings = &events.Settings{Model: tt.model}
			}
			s.command(input)
			if s.summing() != tt.sums {
				t.Errorf("work %+v", s.work())
			}
		})
	}
	t.Run("a counted call says nothing once something else is shown before it", func(t *testing.T) {
		t.Parallel()
		s := long(t, 1000, 3)
		s.send("counted")
		s.used(900, events.Text("yes"))
		s.command(protocol.Clear{V: 1})
		s.send("a")
		if s.summing() {
			t.Error("what was cleared counts")
		}
	})
}

func TestS10_2_WhatIsKept(t *testing.T) {
	t.Parallel()
	t.Run("from the first message of a user in the newest 40 percent on", func(t *testing.T) {
		t.Parallel()
		s := long(t, 0, 5) // ten messages: the newest four begin with the fourth turn
		_, list := s.command(protocol.Compact{V: 1})
		if e := find[events.StepRequested](t, list); *e.Until != (events.Boundary{Turn: 3, Step: 1}) {
			t.Errorf("until %+v", e.Until)
		}
		shown := s.shown()
		if !strings.Contains(shown, "answer 2") || strings.Contains(shown, "question 3") {
			t.Errorf("summed up is %s", shown)
		}
	})
	t.Run("no call is parted from its result, in the middle of a long turn too", func(t *testing.T) {
		t.Parallel()
		for steps := 2; steps < 12; steps++ {
			s := begin(t)
			s.windows = map[string]chat.Window{"m": {Tokens: 1000}}
			s.send("a long task")
			for n := range steps - 1 {
				s.used(100, call("look", "{}"))
				s.result(id(1, n+1, 1), events.ToolOK, "seen "+strings.Repeat("s", 400))
			}
			s.used(900, call("look", "{}"))
			list := s.result(id(1, steps, 1), events.ToolOK, "seen")
			e := find[events.StepRequested](t, list)
			if e.Purpose != events.PurposeSummary {
				t.Fatalf("%d steps: %+v", steps, e)
			}
			s.shown() // is whole
			s.answer(events.Text("notes"))
			s.shown()
			if e.Until.Step < 1 || e.Until.Step >= steps {
				t.Errorf("%d steps: until %+v", steps, e.Until)
			}
			s.answer(events.Text("done"))
			s.answers()
		}
	})
	t.Run("what nobody answered is never summed up", func(t *testing.T) {
		t.Parallel()
		s := long(t, 0, 1)
		for range 4 {
			s.send("UNANSWERED")
			s.fail(model.Error{Class: events.ClassQuota})
		}
		_, list := s.command(protocol.Compact{V: 1})
		if e := find[events.StepRequested](t, list); *e.Until != (events.Boundary{Turn: 1, Step: 1}) {
			t.Errorf("until %+v", e.Until)
		}
		if strings.Contains(s.shown(), "UNANSWERED") {
			t.Error("it is summed up")
		}
	})
	t.Run("at least two messages are kept", func(t *testing.T) {
		t.Parallel()
		s := long(t, 0, 1)
		_, list := s.command(protocol.Compact{V: 1})
		if no := find[events.CommandRejected](t, list); no.Code != events.CodeNothingToCompact {
			t.Errorf("rejected %+v", no)
		}
	})
}

func TestS10_3_Summaries(t *testing.T) {
	t.Parallel()
	full := func(t *testing.T) *story {
		t.Helper()
		s := long(t, 0, 8)
		s.send("counted")
		s.windows = map[string]chat.Window{"m": {Tokens: 1000}}
		s.used(900, events.Text("yes"))
		s.send("THE NEWEST")
		if !s.summing() {
			t.Fatal("no summary is asked for")
		}
		return s
	}
	t.Run("B24 a summary stands in place of what it is about, and instructions and tools stay", func(t *testing.T) {
		t.Parallel()
		s := full(t)
		tools := len(chat.Prompt(s.state).Tools)
		list := s.answer(events.Text("THE NOTES"), call("look", "{}"))
		wants(t, list, "step.completed", "context.compacted", "step.requested")
		e := find[events.ContextCompacted](t, list)
		if e.After*100 > e.Before*80 || e.Boundary.Turn == 0 || *e.Step != (events.StepID{Turn: 10, Step: 1}) {
			t.Errorf("compacted %+v", e)
		}
		shown := s.shown()
		for _, want := range []string{"THE NOTES", "MARK OF THE SYSTEM", "THE NEWEST"} {
			if !strings.Contains(shown, want) {
				t.Errorf("no %s in %s", want, shown)
			}
		}
		if strings.Contains(shown, "question 0") {
			t.Error("what was summed up is shown")
		}
		if n := len(chat.Prompt(s.state).Tools); n != tools {
			t.Errorf("%d tools, and %d before", n, tools)
		}
		list = s.answer(events.Text("well"))
		if done := find[events.TurnCompleted](t, list); done.Totals.Steps != 2 || done.Totals.Attempts != 2 {
			t.Errorf("completed %+v", done)
		}
		s.answers()
	})
	t.Run("a blank summary has failed, and with it the turn", func(t *testing.T) {
		t.Parallel()
		s := full(t)
		list := s.answer(events.Text(" \u200b"))
		wants(t, list, "step.completed", "context.compaction_failed", "turn.failed")
		if e := find[events.TurnFailed](t, list); e.Class != events.ClassContextTooLarge {
			t.Errorf("failed %+v", e)
		}
		if !strings.Contains(s.shown(), "question 0") {
			t.Error("something is gone")
		}
	})
	t.Run("B22 a summary that saves less than a fifth has failed, and nobody asks again by himself", func(t *testing.T) {
		t.Parallel()
		s := full(t)
		wants(t, s.answer(events.Text(strings.Repeat("longer and longer ", 500))), "step.completed", "context.compaction_failed", "turn.failed")
		if owed := chat.Owed(s.state); len(owed) > 0 {
			t.Errorf("owed %+v", owed)
		}
		_, list := s.command(protocol.Retry{V: 1}) // somebody does
		wants(t, list, "turn.started", "step.requested")
		s.answer(events.Text("short notes"))
		s.answer(events.Text("well"))
		s.answers()
	})
	t.Run("a summary is retried as any step, and an error for good is that of the turn", func(t *testing.T) {
		t.Parallel()
		s := full(t)
		wants(t, s.fail(model.Error{Class: events.ClassOverloaded}), "step.failed")
		step := events.StepID{Turn: 10, Step: 1}
		list := s.tell(due(protocol.TimerName{Kind: protocol.TimerRetry, Step: step, Attempt: 1}))
		if e := find[events.StepRequested](t, list); e.Until == nil || e.Purpose != events.PurposeSummary {
			t.Errorf("asked %+v", e)
		}
		wants(t, s.tell(chat.AttemptLost{Step: step, Attempt: 2}), "step.failed", "step.requested")
		list = s.fail(model.Error{Class: events.ClassAuth, Message: "no"})
		wants(t, list, "step.failed", "context.compaction_failed", "turn.failed")
		if e := find[events.TurnFailed](t, list); e.Class != events.ClassAuth {
			t.Errorf("failed %+v", e)
		}
	})
	t.Run("an interrupt ends it, and nothing is kept of it", func(t *testing.T) {
		t.Parallel()
		s := full(t)
		wants(t, of(s.command(protocol.Interrupt{V: 1, Turn: 10})), "turn.interrupt_requested")
		list := s.tell(due(protocol.TimerName{Kind: protocol.TimerEnd, Turn: 10}))
		wants(t, list, "step.interrupted", "turn.interrupted")
	})
}

func of[A, B any](_ A, b B) B { return b }
func TestS1_1_7_WhatStaysTooLargeFails(t *testing.T) {
	t.Parallel()
	t.Run("over the window right after a compaction", func(t *testing.T) {
		t.Parallel()
		s := long(t, 1000, 8)
		s.send(strings.Repeat("huge ", 1000))
		if !s.summing() {
			t.Fatal("no summary is asked for")
		}
		list := s.answer(events.Text("notes"))
		wants(t, list, "step.completed", "context.compacted", "turn.failed")
		if e := find[events.TurnFailed](t, list); e.Class != events.ClassContextTooLarge {
			t.Errorf("failed %+v", e)
		}
		// Between two compactions that nobody asked for something is answered.
		_, list = s.command(protocol.Retry{V: 1})
		wants(t, list, "turn.started", "turn.failed")
		s.command(protocol.Clear{V: 1})
		s.answers()
	})
	t.Run("with nothing that could be summed up", func(t *testing.T) {
		t.Parallel()
		s := long(t, 1000, 0)
		list := s.send(strings.Repeat("huge ", 1000))
		wants(t, list, "input.accepted", "turn.started", "turn.failed")
		s.command(protocol.Clear{V: 1})
		s.answers()
	})
	t.Run("what fits the window is asked, though a compaction did not help much", func(t *testing.T) {
		t.Parallel()
		s := long(t, 1000, 8)
		s.send(strings.Repeat("large", 480)) // 600 tokens
		s.answer(events.Text("notes"))
		if s.summing() {
			t.Error("it is summed up again")
		}
		s.answer(events.Text("well"))
	})
}

// A short answer is what the chat wants, and not a short summary.
func TestS10_3_ASummaryIsWholeOrNone(t *testing.T) {
	t.Parallel()
	s := long(t, 0, 6)
	s.command(protocol.Configure{V: 1, Settings: events.Settings{Limits: &events.Limits{OutputTokens: 20}}})
	s.send("configured")
	s.answer(events.Text("yes"))
	s.command(protocol.Compact{V: 1})
	step, _, ok := s.state.OpenAttempt()
	if !ok {
		t.Fatal("no summary is asked for")
	}
	if r := chat.PromptFor(s.state, step); r.MaxOutputTokens < 1000 {
		t.Errorf("the summary may have %d tokens", r.MaxOutputTokens)
	}
	list := s.tell(chat.AttemptEnded{Step: step, Attempt: 1, Answer: &model.Answer{
		Parts: []events.Part{events.Text("1. The user wan")}, Stop: events.StopLength,
	}})
	wants(t, list, "step.completed", "context.compaction_failed")
	if e := find[events.ContextCompactionFailed](t, list); e.Class != events.ClassContextTooLarge || !strings.Contains(e.Message, "cut off") {
		t.Errorf("failed %+v", e)
	}
	s.answers()
}

func TestS2_3_TooLargeIsCompactedOnce(t *testing.T) {
	t.Parallel()
	tooLarge := model.Error{Class: events.ClassContextTooLarge, Message: "too long"}
	unknown := func(t *testing.T) *story { // a model whose window nobody knows
		s := long(t, 0, 5)
		s.windows = map[string]chat.Window{"": {CompactAt: chat.DefaultCompactAt}}
		return s
	}
	t.Run("the same step is asked again with less", func(t *testing.T) {
		t.Parallel()
		s := unknown(t)
		s.send("a")
		list := s.fail(tooLarge)
		wants(t, list, "step.failed", "step.requested")
		if e := find[events.StepFailed](t, list); !e.AfterCompaction {
			t.Errorf("failed %+v", e)
		}
		list = s.answer(events.Text("notes"))
		wants(t, list, "step.completed", "context.compacted", "step.requested")
		if e := find[events.StepRequested](t, list); e.Step != (events.StepID{Turn: 6, Step: 1}) || e.Attempt != 2 {
			t.Errorf("asked %+v", e)
		}
		wants(t, s.fail(tooLarge), "step.failed", "turn.failed")
		s.answers()
	})
	t.Run("not with nothing to sum up, and not where it is turned off", func(t *testing.T) {
		t.Parallel()
		s := long(t, 0, 0)
		s.send("a")
		wants(t, s.fail(tooLarge), "step.failed", "turn.failed")
		s = long(t, 0, 5)
		s.windows = map[string]chat.Window{"m": {CompactAt: chat.MaxCompactAt}}
		s.send("a")
		wants(t, s.fail(tooLarge), "step.failed", "turn.failed")
		s = long(t, 0, 5) // nothing is said about any model
		s.send("a")
		wants(t, s.fail(tooLarge), "step.failed", "turn.failed")
	})
	t.Run("a summary that is too large itself fails the turn", func(t *testing.T) {
		t.Parallel()
		s := unknown(t)
		s.send("a")
		s.fail(tooLarge)
		list := s.fail(tooLarge)
		wants(t, list, "step.failed", "context.compaction_failed", "turn.failed")
		s.answers()
	})
}
