package replay

import (
	"strings"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// answersOf are what somebody may have said to a question. What was wrong with an
// answer only the log can tell.
func (h *History) answersOf(c events.Commit, of func(...protocol.Body) []guess) ([]guess, bool) {
	const v = protocol.Version
	hold := true
	for _, e := range c.Events {
		if e, ok := e.(events.QuestionHeld); ok {
			return of(protocol.Answer{V: v, Call: e.Call, Hold: &e.Held}), true
		}
		if e, ok := e.(events.QuestionAnswered); ok {
			return of(protocol.Answer{V: v, Call: e.Call, Answers: e.Answers}), true
		}
		if _, noted := e.(events.CommandNoted); noted { // one that was held was held again, or the other way round
			var bodies []protocol.Body
			for _, call := range h.asking() {
				bodies = append(bodies, protocol.Answer{V: v, Call: call, Hold: &hold}, protocol.Answer{V: v, Call: call, Hold: new(bool)})
			}
			return of(bodies...), len(bodies) > 0
		}
		if e, ok := e.(events.CommandRejected); ok {
			if call, named := firstCall(e.Message); named {
				return of(protocol.Answer{V: v, Call: call, Hold: &hold}), true
			}
		}
	}
	return nil, false
}

// asks are what a runner may have asked for a call. How often it had asked the very
// same before is what the state knows, and a guess here.
func (h *History) asks(c events.Commit) ([]guess, bool) {
	e, ok := c.Events[0].(events.QuestionAsked)
	if !ok {
		return nil, false
	}
	m := chat.Ask{Ask: protocol.Ask{
		V: protocol.Version, Call: e.Call, Rev: h.state.Rev(), Claim: h.known.starts[e.Call].Claim, Questions: e.Questions, TimeoutMS: e.TimeoutMS,
	}}
	var list []guess
	for n := range events.MaxAsksPerCall {
		m.N = n + 1
		list = append(list, guess{message: m})
	}
	return list, true
}

// asking are the calls that wait for a person's answer.
func (h *History) asking() (calls []events.CallID) {
	for _, w := range chat.Owed(h.state) {
		t, ok := w.(protocol.Timer)
		if !ok {
			continue
		}
		if name, err := protocol.ParseTimerName(t.Name); err == nil && name.Kind == protocol.TimerQuestion {
			calls = append(calls, name.Call)
		}
	}
	return calls
}

// firstCall is the first id of a call in a text.
func firstCall(text string) (events.CallID, bool) {
	for word := range strings.FieldsSeq(text) {
		if call, err := events.ParseCallID(word, "."); err == nil {
			return call, true
		}
	}
	return events.CallID{}, false
}

// begun are the events with which a call began in the commit of its step.
func begun(list []events.Event, call events.CallID) []events.Event {
	var own []events.Event
	for _, e := range list {
		if e, ok := e.(events.QuestionAsked); ok && e.Call == call {
			own = append(own, e)
		}
	}
	return own
}

// setsQuestion reports whether an event sets a timer for the answer to a call's
// questions. The newest before a timer came is the one that set it: the others
// are stale then.
func setsQuestion(e events.Event, call events.CallID) bool {
	if e, ok := e.(events.QuestionAsked); ok {
		return e.Call == call
	}
	held, ok := e.(events.QuestionHeld)
	return ok && held.Call == call
}
