package chat

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// Delays between attempts.
const (
	firstBackoff = 1 * time.Second        // doubled for each attempt, up to [events.MaxBackoff]
	firstQuick   = 200 * time.Millisecond // doubled for each quick retry
	jitterShare  = 5                      // a fifth, up or down
)

// decideAttempt closes the open attempt with what came of it.
func decideAttempt(s State, m AttemptEnded, at events.Time) Decision {
	if !s.AttemptOpen(m.Step, m.Attempt) {
		return Decision{} // late: somebody closed it
	}
	m = m.believed()
	st := s.step(m.Step)
	if s.InterruptingStep(m.Step) {
		return facts(interruptedStep(m, st.Purpose))
	}
	if m.Answer != nil && st.Purpose != events.PurposeAnswer {
		answer := *m.Answer
		answer.Parts = slices.DeleteFunc(slices.Clone(answer.Parts), func(p events.Part) bool { return p.Type == events.PartCall })
		m.Answer = &answer // it has nobody to call a tool for
	}
	switch {
	case m.Answer != nil && callsIn(m.Answer.Parts) > events.MaxCallsPerStep:
		return facts(events.StepFailed{
			Step: m.Step, Attempt: m.Attempt, Class: events.ClassTooManyCalls, Usage: m.Answer.Usage,
			CostMicros: m.Answer.CostMicros,
			Message: fmt.Sprintf("the model asked for %d calls in one step, at most %d are allowed",
				callsIn(m.Answer.Parts), events.MaxCallsPerStep),
		})
	case m.Answer != nil:
		return completedStep(s, m, at)
	case m.Err != nil:
		e := events.StepFailed{
			Step: m.Step, Attempt: m.Attempt, Class: m.Err.Class, Message: FailedMessage(m.Err.Message), Usage: m.Err.Usage,
			CostMicros: m.Err.CostMicros,
		}
		e.AfterCompaction = s.helps(e.Class, st, m.Attempt)
		if m.Err.Class.Retryable() && m.Attempt < events.MaxAttemptsPerStep && st.insists() {
			e.RetryAt = at.Add(retryDelay(s.Key(), m.Step, m.Attempt, st.Quick, m.Err))
		}
		return facts(e)
	}
	// The worker stopped although nobody interrupts: as if it had gone away.
	return facts(s.lost(m.Step, m.Attempt)...)
}

// believed is m with what its provider counted and charged within what can be true.
// All that is written down of an attempt is made of it; what the provider itself
// said stays word for word in its reports.
func (m AttemptEnded) believed() AttemptEnded {
	if m.Answer != nil {
		answer := *m.Answer
		answer.Usage, answer.CostMicros = answer.Usage.Bounded(), events.Cost(answer.CostMicros)
		m.Answer = &answer
	}
	if m.Err != nil {
		failed := *m.Err
		failed.Usage, failed.CostMicros = failed.Usage.Bounded(), events.Cost(failed.CostMicros)
		m.Err = &failed
	}
	return m
}

// insists reports whether a failure that may pass is followed by another attempt. A
// review that fails is a person's, and nobody needs a title.
func (st *step) insists() bool { return st.Call == nil && st.Purpose != events.PurposeTitle }

// decideLost closes an attempt whose worker went away.
func decideLost(s State, m AttemptLost) []events.Event {
	if !s.AttemptOpen(m.Step, m.Attempt) {
		return nil
	}
	if s.InterruptingStep(m.Step) {
		return []events.Event{interruptedStep(AttemptEnded{Step: m.Step, Attempt: m.Attempt, Partial: m.Partial}, s.step(m.Step).Purpose)}
	}
	if m.Step.Turn != 0 && s.needless(s.step(m.Step)) {
		return []events.Event{events.StepInterrupted{Step: m.Step, Attempt: m.Attempt}}
	}
	return s.lost(m.Step, m.Attempt)
}

func (s State) lost(step events.StepID, attempt int) []events.Event {
	switch {
	case step.Turn == 0 && s.overdrawnAside(): // nobody is asked again
		return []events.Event{events.StepInterrupted{Step: step, Attempt: attempt}}
	case s.step(step).Call != nil && !s.mayAsk(): // a person is
		return s.unreviewed(step)
	}
	return []events.Event{events.StepFailed{
		Step: step, Attempt: attempt, Class: events.ClassCrashed, Message: "the worker that asked the model went away",
	}}
}

// interruptedStep keeps what an interrupted attempt has said. Its calls are
// dropped, finished or not: they were never run and are never shown. Half of what
// no user reads is of no use to anybody.
func interruptedStep(m AttemptEnded, p events.Purpose) events.StepInterrupted {
	e := events.StepInterrupted{Step: m.Step, Attempt: m.Attempt}
	said := m.Partial
	switch {
	case m.Answer != nil:
		said, e.Usage, e.CostMicros = m.Answer.Parts, m.Answer.Usage, m.Answer.CostMicros
	case m.Err != nil:
		e.Usage, e.CostMicros = m.Err.Usage, m.Err.CostMicros
	}
	if p != events.PurposeAnswer {
		return e
	}
	room := events.MaxPartialBytes
	for _, p := range said {
		if p.Type != events.PartText && p.Type != events.PartReasoning {
			continue
		}
		p.Text = events.CutText(events.RepairText(p.Text), room)
		room -= len(p.Text)
		if p.Text != "" || len(p.Opaque) > 0 {
			e.Parts = append(e.Parts, p)
		}
	}
	return e
}

// completedStep records the answer, and what becomes at once of those of its calls
// that no runner is given.
func completedStep(s State, m AttemptEnded, at events.Time) Decision {
	a := m.Answer
	e := events.StepCompleted{
		Step: m.Step, Attempt: m.Attempt, Stop: a.Stop, RawStop: a.RawStop, Usage: a.Usage,
		CostMicros: a.CostMicros, Provider: a.Provider, Timing: m.Timing, RawUsage: rawUsage(a.RawUsage),
	}
	st := s.step(m.Step)
	for _, p := range a.Parts {
		p.Text = events.RepairText(p.Text)
		if isOwn(p.Type) && p.Model == "" {
			p.Model = st.Model // who was asked, unless another one stood in for it
		}
		if p.Type == events.PartCall {
			e.Parts = append(e.Parts, p)
			last := &e.Parts[len(e.Parts)-1]
			last.Ordinal = callsIn(e.Parts)
			last.Name = events.Shorten(events.RepairText(p.Name), maxTitleChars)
			last.Arguments = strings.ToValidUTF8(p.Arguments, events.Replacement)
			last.ProviderID = strings.ToValidUTF8(p.ProviderID, events.Replacement)
			continue
		}
		e.Parts = append(e.Parts, p)
	}
	switch st.Purpose {
	case events.PurposeTitle:
		return facts(s.titled(e)...)
	case events.PurposeSummary, events.PurposeReview:
		return facts(e)
	case events.PurposeAnswer:
	}
	t := s.f.Current
	mayRun := func(tool events.Tool) bool {
		return t.Rules >= rulesApprovals || !needsApproval(s.effective(t).Approval, tool) // before those nobody could be asked
	}
	begin := beginning{at: at, artifacts: s.f.Artifacts, skills: s.effective(t).Skills}
	calls := settleCalls(&e, s.effective(t), m.Schemas, mayRun, &begin)
	return Decision{Events: append([]events.Event{e}, calls...), Large: begin.contents, Shared: begin.shared}
}

// rawUsage is what is kept of a provider's reports: the newest that there is room
// for, whole ones only.
func rawUsage(reports []string) []string {
	var kept []string
	room := events.MaxRawUsageBytes
	for _, report := range slices.Backward(reports) {
		report = events.RepairText(report)
		if report == "" {
			continue
		}
		if room -= len(report); room < 0 {
			break
		}
		kept = append(kept, report)
	}
	slices.Reverse(kept)
	return kept
}

// isOwn reports whether content of this type is given back only to the model it
// came from. A prompt leaves it out of what other models were asked; who stands
// in for whom is known to those who ask, and they leave out the rest.
func isOwn(t events.PartType) bool {
	return t == events.PartReasoning || t == events.PartProviderCall || t == events.PartProviderResult
}

func callsIn(parts []events.Part) int {
	n := 0
	for _, p := range parts {
		if p.Type == events.PartCall {
			n++
		}
	}
	return n
}

// retryDelay is how long to wait after attempt failed. The jitter is derived, so
// that the same failure always waits the same time; no provider is asked sooner
// than it said.
func retryDelay(k events.Key, step events.StepID, attempt, quick int, e *model.Error) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(k.String() + "." + step.String() + "-" + strconv.Itoa(attempt))) // a hash never fails
	share := int64(h.Sum64() % 1000)                                                       // of a thousand

	if e.Class.Interrupted() && quick < events.MaxQuickRetries && e.RetryAfter <= 0 {
		d := firstQuick << quick
		return d + d/jitterShare*time.Duration(share)/1000
	}
	after := e.RetryAfter
	if after < 0 || after > events.MaxRetryFor {
		after = 0
	}
	d := max(min(firstBackoff<<min(attempt-1, 10), events.MaxBackoff), after)
	d += d / jitterShare * time.Duration(2*share-1000) / 1000
	return max(d, after)
}

// FailedMessage is text cleaned for people: one line, at most
// [events.MaxErrorChars] characters.
func FailedMessage(text string) string {
	return events.Shorten(strings.Join(strings.Fields(events.RepairText(text)), " "), events.MaxErrorChars)
}

// decideTimer does what a timer was set for, if that is still wanted.
func decideTimer(s State, m TimerDue, at events.Time) []events.Event {
	switch m.Name.Kind {
	case protocol.TimerRetry:
		st := s.step(m.Name.Step)
		if st == nil || st.Phase != phaseWaiting || s.InterruptingStep(m.Name.Step) {
			return nil
		}
		if name, _ := s.retryTimer(m.Name.Step, st); name != m.Name {
			return nil
		}
		if m.Name.Step.Turn == 0 {
			if s.overdrawnAside() {
				return s.stopAside()
			}
		} else if list, held := s.held(at); held {
			return list // when there is more to spend another timer is set
		}
		return []events.Event{s.nextAttempt(m.Name.Step.Turn, st)}
	case protocol.TimerDeadline:
		c := s.call(m.Name.Call)
		if c != nil && c.working() {
			return append(c.abandoned(m.Name.Call), settledByRule(m.Name.Call, events.ToolUnknown, saidChildSilent))
		}
		if c == nil || !c.open() || c.Requested == nil {
			return nil
		}
		return []events.Event{settledByRule(m.Name.Call, c.settledWithout(events.ToolTimeout), "")}
	case protocol.TimerAction:
		return s.endAction(m.Name.Step)
	case protocol.TimerQuestion:
		return s.expire(m.Name)
	case protocol.TimerApproval:
		return s.unanswered(m.Name.Call)
	case protocol.TimerBudget:
		return s.outOfTime(m.Name, at)
	case protocol.TimerReview:
		return s.unreviewed(m.Name.Step)
	case protocol.TimerEnd:
		if turn, _ := s.Running(); !s.Interrupting() || turn != m.Name.Turn {
			return nil
		}
		return s.endNow(m.Partial)
	case protocol.TimerErase, protocol.TimerDelete:
		return s.decideErasure(m.Name.Kind, at)
	}
	panic(fmt.Sprintf("chat: no decision for timer %q", m.Name.Kind))
}
