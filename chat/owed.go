package chat

import (
	"encoding/json"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Owed is everything the state still has to cause outside, in the order in
// which it is dispatched. Dispatching it again is always safe: each piece has a
// subject of its own on which a second one is refused, or is a schedule that
// replaces itself.
func Owed(s State) []protocol.Work {
	list := s.owedInTurn()
	if s.f.Aside != nil {
		list = append(list, s.owedStep(0, s.f.Aside)...)
	}
	return list
}

func (s State) owedInTurn() []protocol.Work {
	t, st := s.lastStep()
	if t == nil {
		return s.owedErasure()
	}
	if s.Interrupting() {
		name := protocol.TimerName{Kind: protocol.TimerEnd, Turn: t.Number}
		return append(s.owedChildren(), s.timer(name, s.f.Rev, t.Interrupted)) // children are told first
	}
	var list []protocol.Work
	held := t.Allowance.Held != nil // no attempt follows then
	if _, asked := s.pending(); asked != nil && (!held || asked.Phase != phaseWaiting) {
		list = append(list, s.owedStep(t.Number, asked)...)
		if asked.Call != nil && asked.Phase == phaseOpen {
			name := protocol.TimerName{Kind: protocol.TimerReview, Step: events.StepID{Turn: t.Number, Step: asked.Number}}
			list = append(list, s.timer(name, asked.Rev, asked.Due))
		}
	}
	if st != nil && st.Phase == phaseCompleted {
		list = append(list, s.owedCalls(t, st)...)
	}
	if name, due, bounded := s.timeLeft(); bounded {
		list = append(list, s.timer(name, t.Allowance.Rev, due))
	}
	return list
}

// owedStep is the attempt of a step that is under way, or the timer of its next.
func (s State) owedStep(turn int, st *step) []protocol.Work {
	id := events.StepID{Turn: turn, Step: st.Number}
	switch st.Phase {
	case phaseOpen:
		return []protocol.Work{protocol.ModelWork{
			V: protocol.Version, Tenant: s.f.Tenant, Chat: s.f.Chat, Rev: st.Rev,
			Step: id, Attempt: st.Attempt, Purpose: st.Purpose, Pool: st.Pool,
		}}
	case phaseWaiting:
		name, rev := s.retryTimer(id, st)
		return []protocol.Work{s.timer(name, rev, st.RetryAt)}
	case phaseCrashed, phaseFailed, phaseTooLarge, phaseInterrupted, phaseCompleted, phaseDone: // passed through within one commit
	}
	return nil
}

// owedCalls is the work of each call that was handed out, and its deadline; of one
// that waits for a person, the end of the waiting.
func (s State) owedCalls(t *turn, st *step) []protocol.Work {
	list := s.owedAction(t, st)
	for i := range st.Calls {
		c := &st.Calls[i]
		id := t.callID(st, c)
		if c.open() && c.Question != nil {
			list = append(list, s.owedQuestion(id, c.Question))
		}
		if c.working() {
			list = append(list, s.owedChild(id, c.Child)...)
		}
		if c.waits() {
			timer := protocol.TimerName{Kind: protocol.TimerApproval, Call: id}
			list = append(list, s.timer(timer, c.Approval.Rev, c.Approval.Due))
		}
		if !c.open() || c.Requested == nil {
			continue
		}
		r := c.Requested
		work := protocol.ToolWork{
			V: protocol.Version, Tenant: s.f.Tenant, Chat: s.f.Chat, Rev: r.Rev, Call: id, Tool: c.Tool,
			Group: r.Group, Manifest: r.Manifest, Blob: c.Blob,
			IdempotencyKey: protocol.IdempotencyKey(s.Key(), id), TimeoutMS: r.TimeoutMS, Deadline: r.Deadline,
			Permissions: c.permissions(),
		}
		if c.Blob == "" {
			work.Arguments = json.RawMessage(normalArguments(c.Arguments))
		}
		deadline := protocol.TimerName{Kind: protocol.TimerDeadline, Call: id}
		list = append(list, work, s.timer(deadline, r.Rev, r.Deadline))
	}
	return list
}

func (s State) timer(name protocol.TimerName, rev uint64, due events.Time) protocol.Timer {
	return protocol.Timer{
		V: protocol.Version, Tenant: s.f.Tenant, Chat: s.f.Chat, Rev: rev, Name: name.String(), Due: due,
	}
}

// Owes is what [protocol.HeaderOwes] says of the state: the kinds of work owed,
// each once, in the order of their first.
func Owes(s State) string {
	var kinds []string
	seen := map[string]bool{}
	for _, w := range Owed(s) {
		if k := w.Kind(); !seen[k] {
			seen[k] = true
			kinds = append(kinds, k)
		}
	}
	return strings.Join(kinds, ",")
}

// retryTimer is what the next attempt of a step waits for, and the commit that it
// follows from. What was set before the turn was extended may have come, and be on its
// way out, when it is owed again: so it has another name then.
func (s State) retryTimer(id events.StepID, st *step) (protocol.TimerName, uint64) {
	name, rev := protocol.TimerName{Kind: protocol.TimerRetry, Step: id, Attempt: st.Attempt}, st.Rev
	if id.Turn == 0 {
		return name, rev
	}
	if a := s.f.Current.Allowance; a.Extended > 0 {
		name.Number, rev = a.Extended, max(rev, a.Rev)
	}
	return name, rev
}
