package chat

import (
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Apply folds one commit, whose bytes have the given hash. It takes every fact as
// it stands: the time to object was before the commit was written. A fact that
// fits nowhere is not folded, nor is anything after it; see [State.Wrong].
func (s State) Apply(c events.Commit, hash string) State {
	s = s.evolve(c)
	s.prev, s.at = hash, c.At
	return s
}

// evolve is Apply without the commit's place in its log.
func (s State) evolve(c events.Commit) State {
	if _, erased := c.Events[0].(events.ChatErased); erased && c.Rev > s.f.Rev+1 {
		s = State{f: fields{Rev: c.Rev - 1}} // what was before is deleted, from the end on
	}
	s = s.clone()
	if s.hashed == nil {
		s.hashed = new(hashed)
	}
	s.f.Tenant, s.f.Chat = c.Key.Tenant, c.Key.Chat
	s.f.Rev++
	if s.wrong == "" {
		s.wrong = crowded(c)
	}
	answered := false
	for _, e := range c.Events {
		s.fold(e)
		if _, ok := e.(events.StepCompleted); ok {
			answered = true
		}
	}
	if answered && s.wrong == "" {
		s.wrong = s.undone()
	}
	if c.Cause.Kind == events.CausedByCommand {
		s.remember(c)
	}
	return s
}

// clone is s with everything that an event may change made its own. What is
// finished is shared.
func (s State) clone() State {
	if s.f.Aside != nil {
		aside := *s.f.Aside
		s.f.Aside = &aside
	}
	if s.f.Current == nil {
		return s
	}
	t := *s.f.Current
	t.Steps = slices.Clone(t.Steps)
	for i := len(t.Steps) - 1; i >= 0; i-- {
		last := *t.Steps[i]
		last.Calls = slices.Clone(last.Calls)
		t.Steps[i] = &last
		if last.Purpose == events.PurposeAnswer {
			break // nothing happens any more to the steps before it
		}
	}
	s.f.Current = &t
	return s
}

// fold changes s in place; s must be a clone.
func (s *State) fold(e events.Event) {
	if s.wrong == "" {
		s.wrong = s.misfit(e)
	}
	if s.wrong != "" {
		return
	}
	switch e := e.(type) {
	case events.ChatCreated:
		s.f.Settings = e.Settings
		s.title(e.Title)
	case events.ChatSpawned:
		s.beSpawned(e)
	case events.ChildSpawned:
		s.spawnChild(e)
	case events.ChildEnded:
		s.endChild(e)
	case events.ChatInherited:
		s.f.Settings, s.f.Archived, s.f.Inherited = e.Settings, false, s.newest()
		s.title(e.Title)
		s.forgetSibling()
	case events.ChatConfigured:
		s.f.Settings = e.Settings
	case events.ChatTitled:
		s.title(e.Title)
	case events.ChatArchived:
		s.f.Archived = true
	case events.ChatUnarchived:
		s.f.Archived = false
	case events.ChatEraseRequested:
		s.askErasure(e)
	case events.ChatErased:
		s.bury(e)
	case events.ContentDeleted:
		s.empty()
	case events.CommandRejected, events.CommandNoted:
		// The ring remembers them, from the commit's cause.
	case events.InputAccepted:
		s.acceptInput(e)
	case events.InputEdited:
		s.f.Waiting = edited(s.f.Waiting, e)
	case events.InputPromoted:
		s.f.Waiting = promoted(s.f.Waiting, e)
		s.join(e)
	case events.InputSteered:
		s.steerTurn(e)
	case events.InputWithdrawn:
		s.withdrawn(e.Input)
	case events.BranchSelected:
		s.selectBranch(e)
	case events.TurnStarted:
		s.startTurn(e)
	case events.TurnInterruptRequested:
		s.f.Current.Interrupted, s.f.Current.Reason = e.Due, e.Reason
	case events.TurnCompleted:
		t := s.f.Current
		t.Finish = e.Finish
		s.endTurn(endedCompleted)
		s.nameAfter(t)
	case events.TurnFailed:
		s.f.Current.Message = e.Message
		s.endTurn(endedFailed)
		s.f.Stalled = true
	case events.TurnInterrupted:
		s.endTurn(endedInterrupted)
	case events.StepRequested:
		s.requestStep(e)
	case events.StepCompleted:
		s.completeStep(e)
	case events.StepFailed:
		s.failStep(e)
	case events.StepInterrupted:
		st := s.step(e.Step)
		st.Phase, st.Parts = phaseInterrupted, e.Parts
		s.spent(e.Step, e.Usage, e.CostMicros)
		s.endTitle(e.Step)
	case events.ContextCompacted:
		s.compact(e)
	case events.ContextCompactionFailed:
		s.done(e.Step, e.Class, e.Message)
	case events.ContextCleared:
		s.bound(e.Boundary, nil)
		s.f.Compacted, s.f.LeftOut = false, 0
	case events.ContextRestored:
		s.unbound()
		s.f.Compacted, s.f.LeftOut = false, 0
	case events.ToolRequested:
		s.call(e.Call).Requested = &requested{
			Rev: s.f.Rev, Group: e.Group, Manifest: e.Manifest, Idempotent: e.Idempotent,
			ReadOnly: e.ReadOnly, TimeoutMS: e.TimeoutMS, Deadline: e.Deadline,
		}
	case events.ToolStarted:
		c := s.call(e.Call)
		c.Started = &started{Claim: e.Claim, Delivery: e.Delivery, Runner: e.Runner, At: e.At}
		c.Starts++
	case events.ApprovalRequested:
		s.requestApproval(e)
	case events.ApprovalResolved:
		s.resolveApproval(e)
	case events.ModeSet:
		s.setMode(e)
	case events.BudgetReached:
		s.holdTurn(e)
	case events.BudgetExtended:
		s.extend(e)
	case events.SkillActivated:
		s.activateSkill(e)
	case events.AgentNamed:
		// The settings name it, too.
	case events.ToolCompleted:
		c := s.call(e.Call)
		c.Result = &result{Status: e.Status, Parts: e.Parts, IsError: e.IsError}
		if c.Requested != nil {
			c.Question, c.Heard = nil, nil // it asks nobody any more
		}
		s.keepArtifacts(e.Artifacts)
	case events.ActionRequested:
		s.requestAction(e)
	case events.QuestionAsked:
		s.askQuestion(e)
	case events.QuestionHeld:
		s.holdQuestion(e)
	case events.QuestionAnswered:
		s.hear(e)
	}
}

func (s *State) acceptInput(e events.InputAccepted) {
	in := input{ID: e.Input, Parts: e.Parts, Mode: e.Mode, Settings: e.Settings, Modes: s.f.Modes}
	if s.f.Current == nil {
		s.f.Stalled = false
	} else if e.Mode == events.ModeRollback && s.f.Tip == s.f.Current.Number { // else its branch was left already
		in.Rolls = s.f.Current.Number
	}
	s.f.Waiting = with(s.f.Waiting, in)
}

func (s *State) startTurn(e events.TurnStarted) {
	t := &turn{
		Number: e.Turn, Parent: e.Parent, Again: e.Again, Cause: e.Cause, Settings: e.Settings.Digest, Rules: e.Rules,
		Allowance: allowance{Rev: s.f.Rev, Began: e.At},
	}
	for _, id := range e.Inputs {
		if i := waitingAt(s.f.Waiting, id); i >= 0 {
			t.Inputs = append(t.Inputs, s.f.Waiting[i])
		} else if in, ok := s.said(e.Again, id); ok {
			t.Inputs = append(t.Inputs, in)
		}
	}
	if due := s.f.Sibling; due != nil {
		t.Inputs = s.wishing(t.Inputs, due.Input)
	}
	s.f.Waiting = without(s.f.Waiting, e.Inputs)
	for i := range s.f.Waiting {
		s.f.Waiting[i].Rolls = 0 // this turn is where the chat goes on
	}
	s.f.Bodies = remembered(s.f.Bodies, e.Settings)
	s.startPath(e.Turn, e.Parent)
	s.f.Current, s.f.Stalled, s.f.Sibling = t, false, nil
}

// remembered is the ring of settings after a turn used some: newest last, so
// that those in use are never the ones to go.
func remembered(bodies []body, r events.RecordedSettings) []body {
	if n := len(bodies); n > 0 && bodies[n-1].Digest == r.Digest && r.Body == nil {
		return bodies
	}
	next := body{Digest: r.Digest}
	kept := make([]body, 0, ringSettings)
	for _, b := range bodies {
		if b.Digest == r.Digest {
			next = b
		} else {
			kept = append(kept, b)
		}
	}
	if r.Body != nil {
		next.Effective = *r.Body
	}
	if len(kept) == ringSettings {
		kept = kept[1:]
	}
	return append(kept, next)
}

func (s *State) endTurn(how ending) {
	s.f.Current.Ended, s.f.Current.shown = how, new(shown)
	s.f.Past = with(s.f.Past, s.f.Current)
	s.f.Current = nil
	s.endPath()
}

func (s *State) requestStep(e events.StepRequested) {
	st := s.step(e.Step)
	if st == nil {
		st = &step{Number: e.Step.Step, Purpose: e.Purpose, Until: e.Until, Call: e.Call, Due: e.Due}
		if e.Step.Turn == 0 {
			s.f.Aside, s.f.Asides = st, st.Number
			s.asked(e.Purpose)
		} else {
			s.f.Current.Steps = append(s.f.Current.Steps, st)
		}
	}
	if e.Step.Turn != 0 {
		s.f.Current.Attempts++
	}
	st.Phase, st.Attempt, st.Rev, st.Model, st.Pool = phaseOpen, e.Attempt, s.f.Rev, e.Model, e.Pool
	st.RetryAt, st.Class, st.Message = 0, "", ""
}

func (s *State) completeStep(e events.StepCompleted) {
	st := s.step(e.Step)
	st.Phase, st.Parts, st.Stop = phaseCompleted, e.Parts, e.Stop
	s.spent(e.Step, e.Usage, e.CostMicros)
	if st.Purpose != events.PurposeAnswer {
		s.endTitle(e.Step)
		return
	}
	t := s.f.Current
	for _, p := range e.Parts {
		if p.Type != events.PartCall {
			continue
		}
		id := events.CallID{Turn: t.Number, Step: st.Number, Ordinal: p.Ordinal}
		st.Calls = append(st.Calls, call{
			Ordinal: p.Ordinal, WireID: s.wireID(id, p.ProviderID), Tool: p.Name, Arguments: p.Arguments, Blob: p.Blob,
		})
	}
	t.Calls += len(st.Calls)
	s.f.Measured = measured{Step: e.Step, Tokens: e.Usage.Total()}
	s.f.Compacted, s.f.LeftOut = false, 0
}

func (s *State) failStep(e events.StepFailed) {
	st := s.step(e.Step)
	st.Class, st.Message, st.RetryAt = e.Class, e.Message, e.RetryAt
	switch {
	case e.RetryAt != 0:
		st.Phase = phaseWaiting
	case e.AfterCompaction:
		st.Phase = phaseTooLarge
	case e.Class == events.ClassCrashed && e.Attempt < st.maxAttempts():
		st.Phase = phaseCrashed
	default:
		st.Phase = phaseFailed
	}
	if e.Class.Interrupted() {
		st.Quick++
	}
	s.spent(e.Step, e.Usage, e.CostMicros)
	s.notAsked(st, e)
	s.endTitle(e.Step)
}

// remember puts the outcome of the command that caused c into the ring.
func (s *State) remember(c events.Commit) {
	r := protocol.ReplyOf(c, s.newest())
	asked := false // to erase the chat
	for _, e := range c.Events {
		_, created := e.(events.ChatCreated)
		_, inherited := e.(events.ChatInherited)
		if created || inherited {
			s.f.Created = c.Cause.Sequence
		}
		_, erases := e.(events.ChatEraseRequested)
		asked = asked || erases
	}
	if asked && s.f.Erasure != nil {
		s.f.Erasure.Command, s.f.Erasure.Turn = r.ID, r.Turn
	}
	s.f.Decided = max(s.f.Decided, c.Cause.Sequence)
	ring := s.f.Commands
	if len(ring) == ringCommands {
		s.forget(ring[0].ID)
		ring = ring[1:]
	}
	s.f.Commands = with(ring, &r)
}

// with is list and then e, in a slice of its own. It has no room for more: the
// next list is again another one.
func with[T any](list []T, e T) []T {
	return append(append(make([]T, 0, len(list)+1), list...), e)
}

// without is list without the inputs of those ids, in a slice of its own.
func without(list []input, ids []string) []input {
	return slices.DeleteFunc(slices.Clone(list), func(in input) bool { return slices.Contains(ids, in.ID) })
}
