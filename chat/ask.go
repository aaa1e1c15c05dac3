package chat

import (
	"fmt"
	"slices"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// heard is what a running call has asked a person and was answered. It is there until
// the call has its result: a call that runs once more asks the same again.
type heard struct {
	Questions events.Digest   `json:"questions"`
	Answers   []events.Answer `json:"answers"`
	Expired   bool            `json:"expired,omitempty"`
	By        string          `json:"by,omitempty"`
	Timers    int             `json:"timers"` // of the call, up to that answer
}

// decideAsk has a person asked on behalf of a call that runs, or says what became of
// that. Like a claim it compares the time with one that stands in an event: the end of
// the call's own.
func decideAsk(s State, m Ask, at events.Time) Decision {
	c := s.call(m.Call)
	switch {
	case c == nil, !c.open(), c.Requested == nil:
		return told(protocol.AskOver, "the call is not open")
	case m.Group != "" && m.Group != c.Requested.Group:
		return told(protocol.AskOver, "the call was handed to another group")
	case s.Interrupting():
		return told(protocol.AskOver, "the turn is being interrupted")
	case !c.Requested.Idempotent && (c.Started == nil || c.Started.Claim != m.Claim):
		return told(protocol.AskOver, "the call does not run by this claim")
	}
	questions, wrong := cleanQuestions(m.Questions)
	if wrong != "" {
		return told(protocol.AskRefused, wrong)
	}
	before := c.heardOf(digestOf(questions))
	if m.N >= 1 && m.N <= len(before) {
		h := before[m.N-1]
		return Decision{Asked: &protocol.AskAnswer{Answer: protocol.AskAnswered, Answers: h.Answers, Expired: h.Expired, By: h.By}}
	}
	timeout := min(c.askedUntil().Sub(at), events.MaxQuestionTimeout)
	if m.TimeoutMS > 0 && m.TimeoutMS < timeout.Milliseconds() { // compared as it is: a Duration may not hold it
		timeout = time.Duration(m.TimeoutMS) * time.Millisecond
	}
	switch {
	case m.N != len(before)+1:
		return told(protocol.AskRefused, fmt.Sprintf("n: %d, and these questions were asked %d times before", m.N, len(before)))
	case c.Question != nil:
		return told(protocol.AskWaiting, "")
	case len(c.Heard) >= events.MaxAsksPerCall:
		return told(protocol.AskRefused, fmt.Sprintf("the call has asked %d times, which is as often as it may", len(c.Heard)))
	case timeout < events.MinAskTimeout:
		return told(protocol.AskRefused, fmt.Sprintf("there is too little time left: a person would have %v, and must have %v at least",
			max(timeout, 0), events.MinAskTimeout))
	}
	d := told(protocol.AskWaiting, "")
	d.Events = []events.Event{events.QuestionAsked{
		Call: m.Call, Questions: questions, TimeoutMS: timeout.Milliseconds(), Due: at.Add(timeout),
	}}
	return d
}

func told(v protocol.AskVerdict, why string) Decision {
	return Decision{Asked: &protocol.AskAnswer{Answer: v, Why: why}}
}

// askedUntil is when nobody waits for an answer to what a running call asks: some time
// before a runner that began at once has none left.
func (c *call) askedUntil() events.Time {
	return c.Requested.Deadline.Add(-events.Dead - events.AskReserve)
}

// heardOf is what was answered to the very same questions, in order.
func (c *call) heardOf(questions events.Digest) []heard {
	var list []heard
	for _, h := range c.Heard {
		if h.Questions == questions {
			list = append(list, h)
		}
	}
	return list
}

// timersSet is how many timers the call's questions had.
func (c *call) timersSet() int {
	switch n := len(c.Heard); {
	case c.Question != nil:
		return c.Question.Timers
	case n > 0:
		return c.Heard[n-1].Timers
	}
	return 0
}

// hear folds the answer to a running call, which goes on with it. That to any other is
// its result, which follows in the same commit.
func (s *State) hear(e events.QuestionAnswered) {
	c := s.call(e.Call)
	if c.Requested == nil {
		return
	}
	c.Heard = append(slices.Clip(c.Heard), heard{
		Questions: digestOf(c.Question.Questions), Answers: e.Answers, Expired: e.Expired, By: e.By, Timers: c.Question.Timers,
	})
	c.Question = nil
}

// unsoundHeard reports whether a call cannot have heard that.
func (c *call) unsoundHeard() bool {
	last := 0
	for _, h := range c.Heard {
		if h.Timers <= last || h.Timers > maxNumber/2 || c.Requested == nil {
			return true
		}
		last = h.Timers
	}
	return len(c.Heard) > events.MaxAsksPerCall
}
