package replay_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/replay"
)

var ann = events.Key{Tenant: "acme", Chat: "ann"}

// change is a rule that is not ours any more: what it makes of an event that we
// decide. Nil means that it would not happen.
type change func(events.Event) events.Event

// changed are the rules with that change.
func changed(do change) replay.Rules {
	all := func(list []events.Event) []events.Event {
		var kept []events.Event
		for _, e := range list {
			if e = do(e); e != nil {
				kept = append(kept, e)
			}
		}
		return kept
	}
	return replay.Rules{
		Decide: func(s chat.State, m chat.Message, at events.Time, live chat.Live) chat.Decision {
			d := chat.Decide(s, m, at, live)
			d.Events = all(d.Events)
			return d
		},
		Advance: func(s chat.State, at events.Time, live chat.Live) []events.Event {
			return all(chat.Advance(s, at, live))
		},
	}
}

// place is an event of a log.
type place struct {
	rev   uint64
	event int
}

// first is the first event that a change touches.
func first(t *testing.T, log *chatgen.Chat, do change) (place, bool) {
	t.Helper()
	for _, c := range log.Commits {
		for i, e := range c.Events {
			if now := do(e); now == nil || encoded(t, now) != encoded(t, e) {
				return place{c.Rev, i + 1}, true
			}
		}
	}
	return place{}, false
}

func encoded(t *testing.T, e events.Event) string {
	t.Helper()
	b, err := events.EncodeEvent(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(e.EventType()) + string(b)
}

// on is a change of events of one type.
func on[E events.Event](do func(E) events.Event) change {
	return func(e events.Event) events.Event {
		if e, ok := e.(E); ok {
			return do(e)
		}
		return e
	}
}

// A rule that changes is reported where it first makes a difference, nowhere
// before, and with what the difference is.
func TestAChangedRuleIsReportedAtItsFirstPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		do    change
		field string
	}{
		{"another end at the step limit", on(func(e events.TurnCompleted) events.Event {
			if e.Finish == events.FinishMaxSteps {
				e.Finish = events.FinishComplete
			}
			return e
		}), "finish"},
		{"no turn for what waits", on(func(events.TurnStarted) events.Event { return nil }), ""},
		{"more time to end", on(func(e events.TurnInterruptRequested) events.Event {
			e.Due = e.Due.Add(time.Second)
			return e
		}), "due"},
		{"more time for a call", on(func(e events.ToolRequested) events.Event {
			e.Deadline = e.Deadline.Add(time.Second)
			return e
		}), "deadline"},
		{"less time for a call", on(func(e events.ToolRequested) events.Event {
			e.Deadline = e.Deadline.Add(-time.Second)
			return e
		}), "deadline"},
		{"more time for a child", on(func(e events.ChildSpawned) events.Event {
			e.Due = e.Due.Add(time.Second)
			return e
		}), "due"},
		{"no retry", on(func(e events.StepFailed) events.Event {
			e.RetryAt = 0
			return e
		}), "retry_at"},
		{"a longer wait before a retry", on(func(e events.StepFailed) events.Event {
			if e.RetryAt != 0 {
				e.RetryAt = e.RetryAt.Add(2 * time.Hour)
			}
			return e
		}), "retry_at"},
		{"no licence", on(func(events.ToolStarted) events.Event { return nil }), ""},
		{"something else is shown to the model", on(func(e events.StepRequested) events.Event {
			if e.Step.Step > 1 {
				e.Prompt = events.DigestOf([]byte(e.Prompt))
			}
			return e
		}), "prompt"},
		{"busy chats take what they are told", on(func(e events.CommandRejected) events.Event {
			if e.Code == events.CodeBusy {
				return events.CommandNoted{Verb: e.Verb}
			}
			return e
		}), ""},
		{"other words for a no", on(func(e events.CommandRejected) events.Event {
			if e.Code == events.CodeNotRunning {
				e.Message += "!"
			}
			return e
		}), "message"},
		{"another sentence about a call that was cut", on(func(e events.ToolCompleted) events.Event {
			if e.Runner == "" && e.Status == events.ToolDenied {
				e.Parts = []events.Part{events.Text("No.")}
			}
			return e
		}), "parts[0].text"},
		{"a status of runners that counts as it is", on(func(e events.ToolCompleted) events.Event {
			if e.Runner != "" && e.Status == events.ToolTimeout {
				e.Status = events.ToolUnknown
			}
			return e
		}), "status"},
		{"totals that forget a call", on(func(e events.TurnInterrupted) events.Event {
			e.Totals.Calls = 0
			return e
		}), "totals.calls"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const logs, enough = 500, 10
			touched := 0
			for i := uint64(0); i < logs && touched < enough; i++ {
				log := chatgen.Log(ann, rand.New(rand.NewPCG(i, 3)), 40)
				o := everything(log)
				o.Rules = changed(tt.do)
				want, touches := first(t, log, tt.do)
				d := replayed(o, log.Bytes).Difference()
				switch {
				case !touches && d == nil:
				case !touches:
					t.Fatalf("log %d: %s, and the rule has no place in it", i, d)
				case d == nil:
					t.Fatalf("log %d: nothing is reported, want rev %d event %d", i, want.rev, want.event)
				case (place{d.Rev, d.Event}) != want || d.Field != tt.field || d.Sequence != want.rev || d.Chat != ann:
					t.Fatalf("log %d: %s, want rev %d event %d field %q", i, d, want.rev, want.event, tt.field)
				default:
					touched++
				}
			}
			if touched < enough {
				t.Errorf("the rule made a difference in %d logs only", touched)
			}
		})
	}
}

// doctored is a log with another event in one place, and a chain that fits.
func doctored(t *testing.T, log *chatgen.Chat, at place, with ...events.Event) [][]byte {
	t.Helper()
	commits := slices.Clone(log.Commits)
	c := &commits[at.rev-1]
	c.Events = slices.Replace(slices.Clone(c.Events), at.event-1, min(at.event, len(c.Events)), with...)
	return chained(t, commits)
}

// chained are the bytes of commits, each with the hash of the one before.
func chained(t *testing.T, commits []events.Commit) [][]byte {
	t.Helper()
	var list [][]byte
	prev := ""
	for _, c := range commits {
		c.Prev = prev
		b, err := events.Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		prev = events.Hash(b)
		list = append(list, b)
	}
	return list
}

// A log that keeps every rule of its form, and in which something else happened
// than would be decided, is found out at that place.
func TestADoctoredLogIsReportedAtItsPlace(t *testing.T) {
	t.Parallel()
	found := make(map[events.Type]int)
	for i := range uint64(600) {
		chance := rand.New(rand.NewPCG(i, 4))
		log := chatgen.Log(ann, chance, 30)
		if len(log.Commits) == 0 {
			continue // its create was refused
		}
		c := log.Commits[chance.IntN(len(log.Commits))]
		at := place{c.Rev, 1 + chance.IntN(len(c.Events))}
		e := c.Events[at.event-1]
		other := falsified(e)
		if other == nil || e.EventType() == (events.QuestionAsked{}).EventType() && c.Cause.Kind == events.CausedByAsk {
			continue // what a runner asks came from outside
		}
		d := replayed(everything(log), doctored(t, log, at, other)).Difference()
		if d == nil || (place{d.Rev, d.Event}) != at || d.Type != e.EventType() {
			t.Errorf("log %d: %v, want rev %d event %d %s", i, d, at.rev, at.event, e.EventType())
		}
		found[e.EventType()]++
		if len(c.Events) > 1 && !alsoWished(c.Events) { // the last event never happened
			at.event = len(c.Events)
			d := replayed(everything(log), doctored(t, log, at)).Difference()
			if d == nil || (place{d.Rev, d.Event}) != at || d.Logged != "nothing" {
				t.Errorf("log %d: %v, want rev %d event %d", i, d, at.rev, at.event)
			}
		}
	}
	if len(found) < 7 {
		t.Errorf("doctored: %v, want more types", found)
	}
}

// alsoWished reports whether the last of the events is there only since a command
// asked for it besides the first: without it the log says that it did not.
func alsoWished(list []events.Event) bool {
	denied, _ := list[0].(events.ApprovalResolved)
	_, stops := list[len(list)-1].(events.TurnInterruptRequested)
	return stops && denied.By == events.ResolvedByUser
}

// falsified is e with something in it that follows from the state, and not from
// what came from outside; nil if there is none.
func falsified(e events.Event) events.Event {
	switch e := e.(type) {
	case events.QuestionAsked:
		e.Questions = slices.Clone(e.Questions)
		e.Questions[0].Text = "What else?"
		return e
	case events.ChildSpawned:
		e.Depth++
		return e
	case events.ActionRequested:
		e.Calls = append(slices.Clone(e.Calls), e.Calls[0])
		return e
	case events.TurnStarted:
		e.Parent += 3
		return e
	case events.BranchSelected:
		if e.Again == 0 {
			return nil
		}
		e.Turn += 3
		return e
	case events.StepRequested:
		e.Model += "er"
		return e
	case events.ToolRequested:
		e.ReadOnly = !e.ReadOnly
		return e
	case events.ApprovalRequested:
		e.Policy += "er"
		return e
	case events.TurnCompleted:
		e.Totals.Steps++
		return e
	case events.TurnFailed:
		e.Message += "?"
		return e
	case events.TurnInterrupted:
		e.Totals.Attempts++
		return e
	case events.TurnInterruptRequested:
		e.Turn++
		return e
	case events.StepInterrupted:
		e.Attempt++
		return e
	}
	return nil
}
