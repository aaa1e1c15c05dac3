package system

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
	"github.com/everturn/everturn/toolrunner"
)

// consult is a tool that asks a person two things, the second after the first.
func consult(ctx context.Context, c toolrunner.Call) (string, error) {
	var said []string
	for _, what := range []string{"color", "size"} {
		reply, err := c.Ask(ctx, []events.Question{{ID: what, Header: what, Text: "Which " + what + "?", Options: []events.Option{
			{Label: "the first", Description: "as it is"}, {Label: "another", Description: "as it should be"},
		}}})
		if err != nil {
			return "", err
		}
		said = append(said, fmt.Sprintf("%s: %s by %q, expired %t", what, reply.Answers[0].Text, reply.By, reply.Expired))
	}
	return strings.Join(said, "; "), nil
}

// consulted calls the tool in a new chat and waits until it asks.
func consulted(t *testing.T, s *system, tool string) *chat {
	t.Helper()
	c := s.chat(t, scripted(t, toolThenText("      - call: {name: "+tool+", arguments: '{}'}")))
	c.do(send("go"))
	c.asks(1)
	return c
}

// asks waits until a person was asked that many times.
func (c *chat) asks(n int) {
	c.Helper()
	c.until(fmt.Sprintf("%d questions", n), func(h history) bool { return len(all[events.QuestionAsked](h)) == n })
}

func (c *chat) says(question, text string) protocol.Answer {
	return protocol.Answer{
		V: protocol.Version, Call: events.CallID{Turn: 1, Step: 1, Ordinal: 1}, Answers: []events.Answer{{Question: question, Text: text}},
	}
}

// finishes waits for the end of the turn, and fails unless the tool said that. Nobody
// was asked anything twice.
func (c *chat) finishes(status events.ToolStatus, says string) {
	c.Helper()
	h := c.ended(1)
	r := all[events.ToolCompleted](h)[0]
	if r.Status != status || !strings.Contains(r.Parts[0].Text, says) {
		c.Errorf("result %s %q, want %s with %q; the log is\n%s", r.Status, r.Parts[0].Text, status, says, h)
	}
	seen := map[string]bool{}
	for _, e := range all[events.QuestionAsked](h) {
		if seen[e.Questions[0].ID] {
			c.Errorf("a person was asked for the %s twice; the log is\n%s", e.Questions[0].ID, h)
		}
		seen[e.Questions[0].ID] = true
	}
	c.stillWorks()
}

// A tool asks a person in the middle of its call, and goes on with the answer,
// whichever of two orchestrators hears what.
//
// Rule: S8.
func TestARunningCallIsAnsweredAndGoesOn(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	s.startOrchestrator(nil)

	t.Run("answered", func(t *testing.T) {
		t.Parallel()
		c := consulted(t, s, "consult_once")
		shown := func() *transcript.Call {
			for _, m := range c.transcript().Messages {
				for _, p := range m.Parts {
					if p.Call != nil {
						return p.Call
					}
				}
			}
			t.Fatal("the transcript shows no call")
			return nil
		}
		if call := shown(); call.Status != transcript.CallAsking || call.Question.Questions[0].Text != "Which color?" {
			t.Errorf("the transcript shows %+v", call)
		}
		c.do(c.says("color", "red"))
		c.asks(2)
		if call := shown(); call.Status != transcript.CallAsking || call.Question.Questions[0].ID != "size" || call.Question.Answers != nil {
			t.Errorf("the transcript shows %+v", call)
		}
		c.do(c.says("size", "as large as can be"))
		c.finishes(events.ToolOK, `color: red by "user:test", expired false; size: as large as can be`)
	})

	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		c := consulted(t, s, "consult_once")
		began := time.Now()
		c.do(interrupt(1))
		c.ended(1)
		if took := time.Since(began); took > interruptTakes {
			t.Errorf("it took %v, at most %v are allowed", took, interruptTakes)
		}
		if r := c.refused(c.says("color", "red")); r.Code != events.CodeAlreadyResolved {
			t.Errorf("reply %+v", r)
		}
		c.stillWorks()
	})

	t.Run("held and let go", func(t *testing.T) {
		t.Parallel()
		c := consulted(t, s, "consult")
		for _, hold := range []bool{true, false} {
			c.do(protocol.Answer{V: protocol.Version, Call: events.CallID{Turn: 1, Step: 1, Ordinal: 1}, Hold: &hold})
		}
		c.do(c.says("color", "red"))
		c.asks(2)
		c.do(c.says("size", "small"))
		c.finishes(events.ToolOK, "size: small")
	})
}

// interruptTakes is how long an interrupt may take, with time for a busy machine.
const interruptTakes = 10 * time.Second

// Whoever goes away while a person is asked, the person is asked once: a call that may run
// again is given the answer that is there, and one that must not is unknown.
//
// Rules: S8, S14.
func TestAQuestionOfARunningCallOutlivesItsProcesses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, tool string
		status     events.ToolStatus
		says       string
		die        func(s *system, parts map[string]*part)
	}{
		{"the orchestrator", "consult_once", events.ToolOK, "color: red", func(s *system, parts map[string]*part) {
			parts["orchestrator"].kill()
			s.startOrchestrator(nil)
		}},
		{"the runner of a call that may run again", "consult", events.ToolOK, "color: red", func(s *system, parts map[string]*part) {
			parts["runner"].kill()
			s.startRunner(nil)
		}},
		{"the runner of a call that must not run twice", "consult_once", events.ToolUnknown, "", func(s *system, parts map[string]*part) {
			parts["runner"].kill()
			s.startRunner(nil)
		}},
		{"both", "consult", events.ToolOK, "color: red", func(s *system, parts map[string]*part) {
			parts["orchestrator"].kill()
			parts["runner"].kill()
			s.startOrchestrator(nil)
			s.startRunner(nil)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, options{ackWait: time.Second})
			parts := map[string]*part{"orchestrator": s.startOrchestrator(nil), "runner": s.startRunner(nil)}
			c := consulted(t, s, tt.tool)
			c.do(c.says("color", "red"))
			c.asks(2)
			tt.die(s, parts)
			if tt.status == events.ToolOK {
				c.do(c.says("size", "small"))
			}
			c.finishes(tt.status, tt.says)
		})
	}
}
