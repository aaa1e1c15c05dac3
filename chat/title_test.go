package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// untitled is a story of a chat for which the model "namer" proposes a title.
func untitled(t *testing.T) *story {
	t.Helper()
	s := begin(t)
	s.command(protocol.Configure{V: 1, Settings: events.Settings{Titler: "namer"}})
	return s
}

// naming is that story, at the point where the model is asked.
func naming(t *testing.T, said string) (*story, events.StepRequested) {
	t.Helper()
	s := untitled(t)
	s.send(said)
	list := s.answer(events.Text("certainly"))
	wants(t, list, "step.completed", "turn.completed", "step.requested")
	return s, find[events.StepRequested](t, list)
}

// proposed is what follows when that model says so.
func (s *story) proposed(stop events.Stop, parts ...events.Part) []events.Event {
	s.t.Helper()
	return s.tell(s.proposal(&model.Answer{Parts: parts, Stop: stop}, nil))
}

func (s *story) proposal(a *model.Answer, e *model.Error) chat.AttemptEnded {
	for _, w := range chat.Owed(s.state) {
		if w, ok := w.(protocol.ModelWork); ok && w.Purpose == events.PurposeTitle {
			return chat.AttemptEnded{Step: w.Step, Attempt: w.Attempt, Answer: a, Err: e}
		}
	}
	s.t.Fatal("no model is asked for a title")
	return chat.AttemptEnded{}
}

func TestS12_AModelProposesATitleAfterTheFirstTurn(t *testing.T) {
	t.Parallel()
	said := "Plan a trip\n to Oslo: " + strings.Repeat("é", 300)
	s, asked := naming(t, said)
	if asked.Step != (events.StepID{Turn: 0, Step: 1}) || asked.Purpose != events.PurposeTitle || asked.Model != "namer" ||
		asked.Pool != chat.DefaultPool || asked.Until == nil || *asked.Until != (events.Boundary{Turn: 1}) {
		t.Errorf("asked %+v", asked)
	}
	r := chat.PromptFor(s.state, asked.Step)
	if r.Model != "namer" || r.MaxOutputTokens != 100 || len(r.Tools) > 0 || len(r.Messages) != 1 || events.DigestOf(r.Canonical()) != asked.Prompt {
		t.Fatalf("shown %+v", r)
	}
	shown := map[string]string{}
	if err := json.Unmarshal([]byte(r.Messages[0].Parts[0].Text), &shown); err != nil {
		t.Fatal(err)
	}
	if want := "Plan a trip to Oslo: " + strings.Repeat("é", 179); shown["text"] != want {
		t.Errorf("shown %q, want the first 200 characters", shown["text"])
	}
	list := s.tell(s.ended(&model.Answer{Parts: []events.Part{events.Text("A trip to Oslo")}, Stop: events.StopEnd, CostMicros: new(int64(7)), Usage: events.Usage{Input: 9}}, nil))
	wants(t, list, "step.completed", "chat.titled")
	if e := find[events.StepCompleted](t, list); e.CostMicros == nil || *e.CostMicros != 7 || e.Usage.Input != 9 {
		t.Errorf("what it cost is not on record: %+v", e)
	}
	e := find[events.ChatTitled](t, list)
	if e.Title != "A trip to Oslo" || e.By != "" || e.Step == nil || *e.Step != asked.Step {
		t.Errorf("titled %+v", e)
	}
	if owed := chat.Owed(s.state); len(owed) > 0 {
		t.Errorf("owed %+v", owed)
	}
	s.send("go on")
	wants(t, s.answer(events.Text("well")), "step.completed", "turn.completed") // once in a chat
}

// Nobody is asked for a title unless settings say whom, or if there is one.
func TestS12_WhenNoModelIsAskedForATitle(t *testing.T) {
	t.Parallel()
	ends := func(t *testing.T, s *story) {
		t.Helper()
		wants(t, s.answer(events.Text("b")), "step.completed", "turn.completed")
	}
	t.Run("by default", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		s.send("a")
		ends(t, s)
	})
	t.Run("with none in place of the one of the defaults", func(t *testing.T) {
		t.Parallel()
		var s chat.State
		now := live()
		now.Defaults.Titler = "namer"
		for i, b := range []protocol.Body{
			protocol.Create{V: 1, Settings: events.Settings{Titler: events.TitlerNone}}, protocol.Send{V: 1, Parts: []events.Part{events.Text("a")}},
		} {
			c := chat.Command{ID: string(b.Verb()), Sequence: uint64(i + 1), Body: b}
			d := chat.Handle(s, c, noon, now)
			s = s.Apply(events.Commit{Key: key, ID: c.ID, Rev: s.Rev() + 1, At: noon, Cause: chat.CauseOf(c), Events: d.Events}, "")
		}
		if e, _ := s.Effective(); e.Titler != "" || e.TitlerPool != "" {
			t.Errorf("runs with %+v", e)
		}
	})
	t.Run("a chat that was made with a title", func(t *testing.T) {
		t.Parallel()
		s := &story{t: t, at: noon}
		s.command(protocol.Create{V: 1, Settings: events.Settings{Titler: "namer"}, Title: "mine"})
		s.send("a")
		ends(t, s)
	})
	t.Run("a chat that was given one", func(t *testing.T) {
		t.Parallel()
		s := untitled(t)
		s.send("a")
		s.command(protocol.Rename{V: 1, Title: "mine"})
		ends(t, s)
	})
	t.Run("an input without text", func(t *testing.T) {
		t.Parallel()
		s := untitled(t)
		s.send(" \n ")
		ends(t, s)
	})
	t.Run("a turn that is not completed, but the one after it is", func(t *testing.T) {
		t.Parallel()
		s := untitled(t)
		s.send("first of all")
		wants(t, s.fail(model.Error{Class: events.ClassAuth}), "step.failed", "turn.failed")
		wants(t, of(s.command(protocol.Retry{V: 1})), "turn.started", "step.requested")
		list := s.answer(events.Text("b"))
		wants(t, list, "step.completed", "turn.completed", "step.requested")
		e := find[events.StepRequested](t, list)
		if *e.Until != (events.Boundary{Turn: 1}) || !strings.Contains(s.shown(), "first of all") {
			t.Errorf("asked %+v, shown %s", e, s.shown())
		}
	})
}

// ★ A title that somebody gives meanwhile stays.
func TestS12_ATitleGivenMeanwhileStays(t *testing.T) {
	t.Parallel()
	s, _ := naming(t, "a")
	s.command(protocol.Rename{V: 1, Title: "mine"})
	wants(t, s.answer(events.Text("A model's title")), "step.completed")
	s.answers()
}

func TestS12_WhatIsNoTitle(t *testing.T) {
	t.Parallel()
	text := events.Text
	for _, tt := range []struct {
		name  string
		stop  events.Stop
		parts []events.Part
		title string
	}{
		{"quotation marks are none of it", events.StopEnd, []events.Part{text("  \"A  trip\tto Oslo\"\n")}, "A trip to Oslo"},
		{"more than eight words are cut", events.StopEnd, []events.Part{text("a b c d e f g h i j")}, "a b c d e f g h"},
		{"thoughts are none of it", events.StopEnd, []events.Part{{Type: events.PartReasoning, Text: "hm"}, text("Oslo")}, "Oslo"},
		{"calls are none of it", events.StopEnd, []events.Part{call("pay", "{}"), text("Oslo")}, "Oslo"},
		{"what terminals obey is made plain", events.StopEnd, []events.Part{text("a\x1b]0;root\x07b")}, "a�]0;root�b"},
		{"several lines", events.StopEnd, []events.Part{text("Sure!\nOslo")}, ""},
		{"nothing", events.StopEnd, nil, ""},
		{"blank", events.StopEnd, []events.Part{text(" \"\" ")}, ""},
		{"too long", events.StopEnd, []events.Part{text(strings.Repeat("long", 60))}, ""},
		{"stored outside of the log", events.StopEnd, []events.Part{text(strings.Repeat("long ", events.MaxInlineBytes))}, ""},
		{"cut off", events.StopLength, []events.Part{text("A trip to")}, ""},
		{"refused", events.StopRefused, []events.Part{text("No")}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, _ := naming(t, "a")
			list := s.proposed(tt.stop, tt.parts...)
			if tt.title == "" {
				wants(t, list, "step.completed")
			} else {
				wants(t, list, "step.completed", "chat.titled")
				if got := find[events.ChatTitled](t, list).Title; got != tt.title {
					t.Errorf("title %q, want %q", got, tt.title)
				}
			}
			if owed := chat.Owed(s.state); len(owed) > 0 {
				t.Errorf("owed %+v", owed)
			}
			s.answers()
		})
	}
}

// ★ A name that leads nowhere asks nobody: another one may bring the title, once.
func TestS12_ANameThatLeadsNowhereAsksNobody(t *testing.T) {
	t.Parallel()
	s, _ := naming(t, "first of all")
	wants(t, s.fail(model.Error{Class: events.ClassInvalidRequest, Message: "not configured here"}), "step.failed")
	s.state = reloaded(t, s.state)
	s.send("b")
	wants(t, s.answer(events.Text("c")), "step.completed", "turn.completed") // nor is it asked for after each turn
	s.command(protocol.Configure{V: 1, Settings: events.Settings{Titler: "other"}})
	s.send("d")
	list := s.answer(events.Text("e"))
	wants(t, list, "step.completed", "turn.completed", "step.requested")
	if e := find[events.StepRequested](t, list); e.Model != "other" || e.Step != (events.StepID{Step: 2}) || !strings.Contains(s.shown(), "first of all") {
		t.Errorf("asked %+v, shown %s", e, s.shown())
	}
	wants(t, s.answer(events.Text("A title")), "step.completed", "chat.titled")
	s.answers()
}

// A failure is the end of it, and harms nothing; only a worker that goes away is
// followed by another, a few times.
func TestS12_NoTitleIsInsistedOn(t *testing.T) {
	t.Parallel()
	t.Run("a failure that may pass", func(t *testing.T) {
		t.Parallel()
		s, _ := naming(t, "a")
		list := s.fail(model.Error{Class: events.ClassOverloaded, Usage: events.Usage{Input: 3}})
		wants(t, list, "step.failed")
		if e := find[events.StepFailed](t, list); e.RetryAt != 0 || e.Usage.Input != 3 || len(chat.Owed(s.state)) > 0 {
			t.Errorf("failed %+v, owed %v", e, chat.Owed(s.state))
		}
		s.answers()
	})
	t.Run("a failure that was paid for", func(t *testing.T) {
		t.Parallel()
		s, _ := naming(t, "a")
		wants(t, s.fail(model.Error{Class: events.ClassInvalidRequest, Usage: events.Usage{Input: 3}}), "step.failed")
		s.command(protocol.Configure{V: 1, Settings: events.Settings{Titler: "other"}})
		s.answers()
	})
	t.Run("a worker that goes away, beside a turn that runs with other settings", func(t *testing.T) {
		t.Parallel()
		s, first := naming(t, "a")
		s.command(protocol.Configure{V: 1, Settings: events.Settings{Titler: "other"}})
		s.send("b")
		for attempt := 1; attempt < 3; attempt++ {
			list := s.tell(chat.AttemptLost{Step: first.Step, Attempt: attempt})
			wants(t, list, "step.failed", "step.requested")
			e := find[events.StepRequested](t, list)
			if e.Attempt != attempt+1 || e.Model != "namer" || e.Prompt != first.Prompt || *e.Until != *first.Until {
				t.Errorf("asked again %+v", e)
			}
		}
		wants(t, s.tell(chat.AttemptLost{Step: first.Step, Attempt: 3}), "step.failed")
		wants(t, s.answer(events.Text("c")), "step.completed", "turn.completed")
		if owed := chat.Owed(s.state); len(owed) > 0 {
			t.Errorf("owed %+v", owed)
		}
	})
}

// A model that is asked for a title holds up nobody.
func TestS12_ATitleHoldsUpNobody(t *testing.T) {
	t.Parallel()
	t.Run("a turn begins and ends, and the title comes beside it", func(t *testing.T) {
		t.Parallel()
		s, _ := naming(t, "a")
		wants(t, s.send("b"), "input.accepted", "turn.started", "step.requested")
		if title := s.proposed(events.StopEnd, events.Text("A title")); len(title) != 2 {
			t.Errorf("what it said brings %v", types(title))
		}
		wants(t, s.answer(events.Text("c")), "step.completed", "turn.completed")
	})
	t.Run("what waited is taken at once", func(t *testing.T) {
		t.Parallel()
		s := untitled(t)
		s.send("a")
		s.send("waits")
		list := s.answer(events.Text("b"))
		wants(t, list, "step.completed", "turn.completed", "step.requested", "turn.started", "step.requested")
		s.answer(events.Text("c"))
		wants(t, s.answer(events.Text("A title")), "step.completed", "chat.titled")
	})
	t.Run("an interrupt of a turn is none of the title", func(t *testing.T) {
		t.Parallel()
		s, _ := naming(t, "a")
		s.send("b")
		wants(t, of(s.command(protocol.Interrupt{V: 1})), "turn.interrupt_requested")
		wants(t, s.proposed(events.StopEnd, events.Text("A title")), "step.completed", "chat.titled")
		wants(t, s.tell(due(protocol.TimerName{Kind: protocol.TimerEnd, Turn: 2})), "step.interrupted", "turn.interrupted")
		s.answers()
	})
	t.Run("while it is asked no turn runs that could be interrupted", func(t *testing.T) {
		t.Parallel()
		s, _ := naming(t, "a")
		if no := find[events.CommandRejected](t, of(s.command(protocol.Interrupt{V: 1}))); no.Code != events.CodeNotRunning {
			t.Errorf("rejected %+v", no)
		}
		wants(t, s.proposed(events.StopEnd, events.Text("A title")), "step.completed", "chat.titled")
	})
	t.Run("contexts are cleared, restored and compacted", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		for n := range 6 {
			if n == 5 {
				s.command(protocol.Configure{V: 1, Settings: events.Settings{Titler: "namer"}})
			}
			s.send(strings.Repeat("said ", 60))
			s.answer(events.Text(strings.Repeat("answer ", 60)))
		}
		wants(t, of(s.command(protocol.Clear{V: 1})), "context.cleared")
		wants(t, of(s.command(protocol.Restore{V: 1})), "context.restored")
		wants(t, of(s.command(protocol.Compact{V: 1})), "step.interrupted", "step.requested")
		if !s.summing() {
			t.Error("no summary is written")
		}
		wants(t, s.answer(events.Text("notes")), "step.completed", "context.compacted")
		s.answers()
	})
	t.Run("a backup is closed", func(t *testing.T) {
		t.Parallel()
		s, _ := naming(t, "a")
		wants(t, s.tell(chat.Restored{}), "step.interrupted")
		s.answers()
	})
	t.Run("a fork does not wait for it", func(t *testing.T) {
		t.Parallel()
		s, _ := naming(t, "a")
		if owed := chat.Owed(s.state.Inherit()); len(owed) > 0 {
			t.Errorf("owed %+v", owed)
		}
	})
	t.Run("an erased chat gets none", func(t *testing.T) {
		t.Parallel()
		s, _ := naming(t, "a")
		late := s.proposal(&model.Answer{Parts: []events.Part{events.Text("A title")}, Stop: events.StopEnd}, nil)
		wants(t, of(s.command(protocol.Erase{V: 1})), "chat.erase_requested", "step.interrupted")
		wants(t, s.tell(late))
	})
}

// A release that knows no titles cannot go on with such a turn.
func TestS12_TurnsThatBringTitlesHaveTheRulesThatSaySo(t *testing.T) {
	t.Parallel()
	if got := chat.RulesOf(events.Effective{Titler: "namer", CompactAt: chat.MaxCompactAt}); got != 2 {
		t.Errorf("rules %d", got)
	}
}

func TestTitlesFromNowhereAreNotFolded(t *testing.T) {
	t.Parallel()
	for _, e := range []events.Event{
		events.ChatTitled{Title: "a", Step: &events.StepID{Step: 1}},
		events.ChatTitled{Title: "a", Step: &events.StepID{Turn: 1, Step: 1}},
	} {
		s := begin(t)
		s.send("a")
		c := events.Commit{Key: key, Rev: s.state.Rev() + 1, At: noon, Events: []events.Event{e}}
		if got := s.state.Apply(c, "").Wrong(); !strings.Contains(got, "no model was asked for a title") {
			t.Errorf("%T: wrong is %q", e, got)
		}
	}
}
