package chat

import (
	"fmt"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// sibling is a turn that is due beside another one, and begins as soon as no turn
// runs. That is all that is kept of an edit until the turn it interrupts has
// ended: whoever folds that end starts it.
type sibling struct {
	Of       int    `json:"of"`
	Input    string `json:"input,omitempty"`    // waits, to be said there
	Replaces string `json:"replaces,omitempty"` // which input of the other; empty: all

	// Joined says that somebody came with an input to stop the chat since then: what
	// came so is read right behind Input.
	Joined bool `json:"joined,omitempty"`
}

// join folds that an input came to stop the chat, which an edit has stopped already.
func (s *State) join(e events.InputPromoted) {
	if due := s.f.Sibling; e.Interrupt && due != nil && due.Input != "" {
		joined := *due
		joined.Joined = true
		s.f.Sibling = &joined
	}
}

// said is everything that people said in the turn, also while it ran.
func (t *turn) said() []input {
	list := t.Inputs
	for _, taken := range t.Steered {
		list = append(slices.Clip(list), taken.Inputs...)
	}
	return list
}

// said finds an input that a turn of that number began with.
func (s State) said(turn int, id string) (input, bool) {
	if t := s.started(turn); t != nil {
		if i := waitingAt(t.said(), id); i >= 0 {
			return t.said()[i], true
		}
	}
	return input{}, false
}

// started is the turn of that number, open or ended, or nil.
func (s State) started(number int) *turn {
	if t := s.f.Current; t != nil && t.Number == number {
		return t
	}
	return s.ended(number)
}

// siblingStarted is the start of the turn that is due beside another one; that one
// has ended.
func (s State) siblingStarted(due sibling, at events.Time, live Live) events.TurnStarted {
	inputs, cause := s.ended(due.Of).said(), events.CauseRegenerate
	if i := waitingAt(s.f.Waiting, due.Input); i >= 0 {
		cause = events.CauseEdit
		said := []input{s.f.Waiting[i]}
		if at := waitingAt(inputs, due.Replaces); at >= 0 {
			inputs = slices.Replace(slices.Clone(inputs), at, at+1, said...)
		} else {
			inputs = said
		}
	}
	if due.Joined {
		for _, in := range s.f.Waiting {
			if in.Mode == events.ModeInterrupt {
				inputs = append(slices.Clip(inputs), in)
			}
		}
	}
	e := s.turnStarted(cause, s.wishing(inputs, due.Input), at, live)
	e.Again = due.Of
	return e
}

// wishing is the inputs of a turn when the one of that id was put among them: what
// it wishes for counts wherever it stands, where else only the first one's does.
func (s State) wishing(inputs []input, id string) []input {
	i := waitingAt(inputs, id)
	if i < 1 || inputs[i].Settings == nil {
		return inputs
	}
	list := slices.Clone(inputs)
	list[0].Settings, list[0].Modes = new(s.wishedBy(list[0]).Merge(s.wishedBy(inputs[i]))), s.f.Modes
	return list
}

// selectBranch folds a choice. What waits in a failed chat waits no longer than
// until another turn is chosen, unless that one failed, too.
func (s *State) selectBranch(e events.BranchSelected) {
	s.moveTip(e.Turn)
	s.f.Sibling = nil
	chosen := s.ended(e.Turn)
	s.f.Stalled = s.f.Current == nil && chosen != nil && chosen.Ended == endedFailed
	if e.Again != 0 {
		s.f.Sibling = &sibling{Of: e.Again, Input: e.Input, Replaces: e.Replaces}
	}
}

// forgetSibling is for a chat that goes on from here: what is due in the other one
// is due there. Its turns go on from where they are.
func (s *State) forgetSibling() {
	if s.f.Sibling == nil {
		return
	}
	s.f.Sibling = nil
	if s.f.Current != nil {
		s.f.Tip = s.f.Current.Number
	}
}

// withdrawn folds that an input does not wait any more, and nothing that was due
// with it.
func (s *State) withdrawn(id string) {
	s.f.Waiting = without(s.f.Waiting, []string{id})
	if due := s.f.Sibling; due != nil && due.Input == id {
		s.f.Sibling = nil
	}
}

func (s State) misfitBranch(e events.BranchSelected) string {
	switch {
	case e.Turn != 0 && s.started(e.Turn) == nil:
		return fmt.Sprintf("turn %d is selected, which was never started", e.Turn)
	case e.Again != 0 && s.started(e.Again) == nil:
		return fmt.Sprintf("turn %d is to be answered again, which was never started", e.Again)
	}
	return ""
}

// unsoundSibling says what a turn is due beside that there is not.
func (f *fields) unsoundSibling() string {
	due := f.Sibling
	if due == nil || f.Current != nil && f.Current.Number == due.Of || pastTurn(f.Past, due.Of) != nil {
		return ""
	}
	return fmt.Sprintf("a turn is due beside turn %d, which is missing", due.Of)
}

// leaveFor is the choice of another branch: what was on its way to one is taken
// back, and a turn that runs elsewhere is told to end.
func (s State) leaveFor(e events.BranchSelected, c Command, at events.Time) []events.Event {
	var list []events.Event
	if due := s.f.Sibling; due != nil && due.Input != "" {
		list = append(list, events.InputWithdrawn{Input: due.Input})
	}
	e.By = c.By
	list = append(list, e)
	if running, ok := s.Running(); ok && running != e.Turn && !s.Interrupting() {
		list = append(list, s.stopTurn(events.ReasonOtherBranch, c.By, at)...)
	}
	return list
}

// dropDue takes back the turn that is due beside another one, for whoever comes to
// stop the chat. A rollback stays where that was to begin; everybody else goes on
// from the turn that runs, as if its branch had not been left.
func (s State) dropDue(rollback bool, c Command, at events.Time) []events.Event {
	if s.f.Sibling == nil {
		return nil
	}
	to, _ := s.Running()
	if rollback {
		to = s.f.Tip
	}
	return s.leaveFor(events.BranchSelected{Turn: to}, c, at)
}

// giveWay is what becomes of the turn that is due when an input comes to stop the
// chat. An edit is not lost: what comes is read behind it, in the same turn. Only a
// rollback takes it back.
func (s State) giveWay(m events.SendMode, c Command, at events.Time) []events.Event {
	if due := s.f.Sibling; due != nil && due.Input != "" && m != events.ModeRollback {
		return nil
	}
	return s.dropDue(m == events.ModeRollback, c, at)
}

func decideEdit(s State, b protocol.Edit, c Command, at events.Time) Decision {
	if no := s.saidBefore(c); no != nil {
		return *no
	}
	parts, wrong := cleanInput(b.Parts)
	if wrong == "" {
		wrong = s.wrongAttachments(c, parts)
	}
	if wrong != "" {
		return rejected(c, events.CodeBadCommand, wrong, "")
	}
	if b.Settings != nil {
		if wrong := invalidWishes(*b.Settings); wrong != "" {
			return rejected(c, events.CodeInvalidSettings, wrong, "")
		}
	}
	if _, running := s.Running(); running && len(s.f.Waiting) >= events.MaxWaitingInputs {
		return rejected(c, events.CodeQueueFull, fmt.Sprintf("%d inputs are waiting", len(s.f.Waiting)), "running")
	}
	t, no := s.editedTurn(b, c)
	if no != nil {
		return *no
	}
	settings := b.Settings
	if settings == nil {
		if first := t.said()[0]; b.Input == "" || b.Input == first.ID { // else that one still wishes for the turn
			if first.Settings != nil {
				settings = new(s.wishedBy(first))
			}
		}
	}
	d := facts(events.InputAccepted{Input: c.ID, Parts: parts, Mode: events.ModeQueue, By: c.By, Settings: settings})
	if s.f.Archived {
		d.Events = append(d.Events, events.ChatUnarchived{})
	}
	e := events.BranchSelected{Turn: t.Parent, Again: t.Number, Input: c.ID, Replaces: b.Input}
	d.Events = append(d.Events, s.leaveFor(e, c, at)...)
	return d
}

// editedTurn is the turn whose input an edit is about; else the decision that says no.
func (s State) editedTurn(b protocol.Edit, c Command) (*turn, *Decision) {
	var no Decision
	t := s.turnOr(b.Turn, s.tip())
	if b.Turn == 0 && b.Input != "" {
		t = s.whereSaid(b.Input)
	}
	switch {
	case b.Input != "" && waitingAt(s.f.Waiting, b.Input) >= 0:
		no = rejected(c, events.CodeUnknownInput, "this input still waits: no turn has taken it", "waiting")
	case t == nil && b.Input != "" && b.Turn == 0:
		no = rejected(c, events.CodeUnknownInput, "no turn has taken an input of this id", "")
	case t == nil:
		no = rejected(c, events.CodeUnknownTurn, fmt.Sprintf("turn %d was never started", b.Turn), "")
	case b.Input != "" && waitingAt(t.said(), b.Input) < 0:
		no = rejected(c, events.CodeUnknownInput, fmt.Sprintf("turn %d did not begin with this input", t.Number), "")
	case len(t.said()) == 0:
		no = rejected(c, events.CodeUnknownInput, fmt.Sprintf("turn %d began with no input; it went on from turn %d", t.Number, t.Parent), "")
	default:
		return t, nil
	}
	return nil, &no
}

// turnOr is the turn of that number, or t if that is 0.
func (s State) turnOr(number int, t *turn) *turn {
	if number == 0 {
		return t
	}
	return s.started(number)
}

// whereSaid is the turn that began with an input: that on the selected branch, if
// several did, else the newest.
func (s State) whereSaid(id string) *turn {
	said := func(t *turn) bool { return waitingAt(t.said(), id) >= 0 }
	if t := s.f.Current; t != nil && said(t) {
		return t
	}
	for _, turns := range [][]*turn{s.path, s.f.Past} {
		for _, t := range slices.Backward(turns) {
			if said(t) {
				return t
			}
		}
	}
	return nil
}

// saidBefore is the no to a command that brings an input whose id another one has. In
// a chat that goes on from another one that can be: the inputs that came along are
// named after commands which only the other has decided.
func (s State) saidBefore(c Command) *Decision {
	if s.f.Inherited == 0 || s.whereSaid(c.ID) == nil {
		return nil
	}
	no := rejected(c, events.CodeBadCommand, "the history that this chat goes on from has an input of this id; send another one under another id", "")
	return &no
}

func decideRegenerate(s State, b protocol.Regenerate, c Command, at events.Time) Decision {
	t := s.turnOr(b.Turn, s.tip())
	if t == nil {
		return rejected(c, events.CodeUnknownTurn, fmt.Sprintf("turn %d was never started", b.Turn), "")
	}
	return facts(s.leaveFor(events.BranchSelected{Turn: t.Parent, Again: t.Number}, c, at)...)
}

func decideSelectBranch(s State, b protocol.SelectBranch, c Command, at events.Time) Decision {
	switch {
	case b.Turn < 1 || s.started(b.Turn) == nil:
		return rejected(c, events.CodeUnknownTurn, fmt.Sprintf("turn %d was never started", b.Turn), "")
	case s.f.Tip == b.Turn && s.f.Sibling == nil:
		return noted(c, b.Turn)
	}
	return facts(s.leaveFor(events.BranchSelected{Turn: b.Turn}, c, at)...)
}

// decideWithdraw takes a waiting input back. If another branch was left for it, the
// chat stays on that one.
func decideWithdraw(s State, b protocol.Withdraw, c Command) Decision {
	if waitingAt(s.f.Waiting, b.Input) < 0 {
		return notWaiting(c)
	}
	d := facts(events.InputWithdrawn{Input: b.Input})
	if due, t := s.f.Sibling, s.f.Current; due != nil && t != nil && due.Input == b.Input {
		d.Events = append(d.Events, events.BranchSelected{Turn: t.Number, By: c.By})
	}
	return d
}
