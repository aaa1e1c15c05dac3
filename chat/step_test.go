package chat_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

func retryDue(attempt int) chat.TimerDue {
	return due(protocol.TimerName{Kind: protocol.TimerRetry, Step: events.StepID{Turn: 1, Step: 1}, Attempt: attempt})
}

func TestAttempts(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *story)
	}{
		{"S2.2 a retryable failure is retried when its timer comes, once", func(t *testing.T, s *story) {
			s.send("a")
			list := s.fail(model.Error{Class: events.ClassOverloaded})
			wants(t, list, "step.failed")
			wait := find[events.StepFailed](t, list).RetryAt.Sub(noon)
			if wait < 800*time.Millisecond || wait > 1200*time.Millisecond {
				t.Errorf("first retry after %v, want 1 s and a fifth", wait)
			}
			wants(t, s.tell(retryDue(1)), "step.requested")
			wants(t, s.tell(retryDue(1)))
			wants(t, s.tell(retryDue(2)))
		}},
		{"what the provider says of usage is kept word for word, as far as there is room", func(t *testing.T, s *story) {
			s.send("a")
			large := `{"x":"` + strings.Repeat("x", events.MaxRawUsageBytes-30) + `"}`
			list := s.tell(chat.AttemptEnded{Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1, Answer: &model.Answer{
				Parts: []events.Part{events.Text("b")}, Stop: events.StopEnd,
				RawUsage: []string{`{"too":"old"}`, large, "", "{\"n\": 1,\n\"a\":\"\x00\"}"},
			}})
			want := []string{large, "{\"n\": 1,\n\"a\":\"" + events.Replacement + "\"}"}
			if got := find[events.StepCompleted](t, list).RawUsage; !slices.Equal(got, want) {
				t.Errorf("kept %.80q", got)
			}
		}},
		{"what an attempt cost is recorded, whatever came of it", func(t *testing.T, s *story) {
			used, cost := events.Usage{Input: 10, Output: 2}, new(int64(34))
			s.send("a")
			list := s.fail(model.Error{Class: events.ClassOverloaded, Usage: used, CostMicros: cost})
			if e := find[events.StepFailed](t, list); e.CostMicros == nil || *e.CostMicros != 34 {
				t.Errorf("failed: %+v", e)
			}
			s.tell(retryDue(1))
			many := model.Answer{Parts: slices.Repeat([]events.Part{call("look", "{}")}, 500), Stop: events.StopCalls, Usage: used, CostMicros: cost}
			if e := find[events.StepFailed](t, s.tell(s.ended(&many, nil))); e.CostMicros == nil || *e.CostMicros != 34 {
				t.Errorf("failed: %+v", e)
			}
			for _, late := range []chat.AttemptEnded{
				{Answer: &model.Answer{Parts: []events.Part{events.Text("b")}, Stop: events.StopEnd, Usage: used, CostMicros: cost}},
				{Err: &model.Error{Class: events.ClassIncomplete, Usage: used, CostMicros: cost}},
			} {
				s.send("a")
				s.command(protocol.Interrupt{V: 1})
				late.Step, late.Attempt, _ = s.state.OpenAttempt()
				if e := find[events.StepInterrupted](t, s.tell(late)); e.CostMicros == nil || *e.CostMicros != 34 {
					t.Errorf("interrupted: %+v", e)
				}
			}
			s.answers()
		}},
		{"S2.2 Retry-After is kept to, absurd ones are ignored", func(t *testing.T, s *story) {
			s.send("a")
			list := s.fail(model.Error{Class: events.ClassRateLimit, RetryAfter: 30 * time.Second})
			if wait := find[events.StepFailed](t, list).RetryAt.Sub(noon); wait < 30*time.Second || wait > 36*time.Second {
				t.Errorf("retry after %v", wait)
			}
			s.tell(retryDue(1))
			list = s.fail(model.Error{Class: events.ClassRateLimit, RetryAfter: 2 * time.Hour})
			if wait := find[events.StepFailed](t, list).RetryAt.Sub(noon); wait > 3*time.Second {
				t.Errorf("retry after %v", wait)
			}
		}},
		{"S2.2 interrupted streams are retried quickly five times", func(t *testing.T, s *story) {
			s.send("a")
			for n, ms := range []int{200, 400, 800, 1600, 3200} {
				low := time.Duration(ms) * time.Millisecond
				list := s.fail(model.Error{Class: events.ClassIncomplete})
				if wait := find[events.StepFailed](t, list).RetryAt.Sub(noon); wait < low || wait > low+low/5 {
					t.Errorf("quick retry %d after %v, want %v to a fifth more", n+1, wait, low)
				}
				s.tell(retryDue(n + 1))
			}
			list := s.fail(model.Error{Class: events.ClassIncomplete})
			if wait := find[events.StepFailed](t, list).RetryAt.Sub(noon); wait < 25*time.Second {
				t.Errorf("the sixth retry comes after %v, want the long delay", wait)
			}
		}},
		{"S2.2 the 25th failure is the last", func(t *testing.T, s *story) {
			s.send("a")
			for n := 1; n < events.MaxAttemptsPerStep; n++ {
				s.fail(model.Error{Class: events.ClassInternal})
				s.tell(retryDue(n))
			}
			wants(t, s.fail(model.Error{Class: events.ClassInternal}), "step.failed", "turn.failed")
			s.answers()
		}},
		{"S2.2 the same failure waits the same time", func(t *testing.T, s *story) {
			s.send("a")
			m := s.ended(nil, &model.Error{Class: events.ClassTimeout})
			a := chat.Handle(s.state, m, noon, live())
			b := chat.Handle(s.state, m, noon, live())
			if find[events.StepFailed](t, a.Events).RetryAt != find[events.StepFailed](t, b.Events).RetryAt {
				t.Error("the delay is not derived")
			}
		}},
		{"S2.3 what no retry helps fails the turn", func(t *testing.T, s *story) {
			for _, c := range []events.ErrorClass{
				events.ClassQuota, events.ClassAuth, events.ClassContextTooLarge, events.ClassInvalidRequest, events.ClassUnknown,
			} {
				s.send("a")
				wants(t, s.fail(model.Error{Class: c}), "step.failed", "turn.failed")
			}
			s.answers()
		}},
		{"S2.5 a crashed attempt is closed and followed in one commit", func(t *testing.T, s *story) {
			s.send("a")
			lost := chat.AttemptLost{Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1}
			wants(t, s.tell(lost), "step.failed", "step.requested")
			wants(t, s.tell(lost))
		}},
		{"a late answer of a closed attempt changes nothing", func(t *testing.T, s *story) {
			s.send("a")
			late := s.ended(&model.Answer{Parts: []events.Part{events.Text("late")}, Stop: events.StopEnd}, nil)
			s.tell(chat.AttemptLost{Step: late.Step, Attempt: late.Attempt})
			wants(t, s.tell(late))
			wants(t, s.answer(events.Text("in time")), "step.completed", "turn.completed")
		}},
		{"S2.7 calls cut by the length limit are not run", func(t *testing.T, s *story) {
			s.send("a")
			list := s.stopped(events.StopLength, call("pay", `{"pa`))
			wants(t, list, "step.completed", "tool.completed", "step.requested")
			if r := find[events.ToolCompleted](t, list); r.Status != events.ToolInvalid {
				t.Errorf("status %q", r.Status)
			}
		}},
		{"reasoning is shown to its own model only", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(events.Part{Type: events.PartReasoning, Text: "hm", Opaque: []byte("signed")}, events.Text("ok"))
			shown := func() (n int) {
				for _, m := range chat.Prompt(s.state).Messages {
					for _, p := range m.Parts {
						if p.Type == events.PartReasoning {
							n++
						}
					}
				}
				return n
			}
			s.send("b")
			if shown() != 1 {
				t.Error("its own model is not shown it")
			}
			s.answer(events.Text("ok"))
			s.command(protocol.Configure{V: 1, Settings: events.Settings{Model: "other"}})
			s.send("c")
			if shown() != 0 {
				t.Error("another model is shown it")
			}
		}},
		{"what the model that stood in has thought stays its own", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(events.Part{Type: events.PartReasoning, Text: "hm", Model: "another"}, events.Text("ok"))
			owner := func() string {
				for _, m := range chat.Prompt(s.state).Messages {
					for _, p := range m.Parts {
						if p.Type == events.PartReasoning {
							return p.Model
						}
					}
				}
				return ""
			}
			s.send("b")
			if got := owner(); got != "another" { // it may stand in again
				t.Errorf("it is said to be of %q", got)
			}
			s.answer(events.Text("ok"))
			s.command(protocol.Configure{V: 1, Settings: events.Settings{Model: "other"}})
			s.send("c")
			if got := owner(); got != "" {
				t.Errorf("a model that nobody stood in for is shown what is of %q", got)
			}
		}},
		{"arguments that are no object are invalid, whatever the schema says", func(t *testing.T, s *story) {
			s.send("a")
			m := s.ended(&model.Answer{Parts: []events.Part{call("look", "[]")}, Stop: events.StopCalls}, nil)
			anything, err := chat.CompileSchema([]byte(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			for d := range m.Schemas {
				m.Schemas[d] = anything
			}
			if r := find[events.ToolCompleted](t, s.tell(m)); r.Status != events.ToolInvalid {
				t.Errorf("status %q", r.Status)
			}
		}},
		{"S4.12 500 calls in a step end it visibly", func(t *testing.T, s *story) {
			s.send("a")
			list := s.answer(slices.Repeat([]events.Part{call("look", "{}")}, 500)...)
			wants(t, list, "step.failed", "turn.failed")
			if c := find[events.TurnFailed](t, list).Class; c != events.ClassTooManyCalls {
				t.Errorf("class %q", c)
			}
			s.answers()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, begin(t))
		})
	}
}
