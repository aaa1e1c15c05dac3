package chat

import (
	"fmt"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// mode is the approval mode in force in a turn.
func (s State) mode(t *turn) events.ApprovalMode {
	if t.Approval != "" {
		return t.Approval
	}
	return s.effective(t).Approval
}

// decideSetMode changes which calls need a person, and whether turns plan only.
func decideSetMode(s State, b protocol.SetMode, c Command) Decision {
	switch b.Approval {
	case "":
		if b.Plan == nil {
			return rejected(c, events.CodeInvalidSettings, "approval, plan: want at least one of them", "")
		}
	case events.ApprovalAsk, events.ApprovalAuto, events.ApprovalFull:
	default:
		return rejected(c, events.CodeInvalidSettings, fmt.Sprintf("approval: %.20q, want ask, auto or full", b.Approval), "")
	}
	if (b.Approval == "" || s.inMode(b.Approval)) && (b.Plan == nil || *b.Plan == s.f.Plan) {
		return noted(c, 0)
	}
	return facts(events.ModeSet{Approval: b.Approval, Plan: b.Plan, By: c.By})
}

// inMode reports whether the approval mode is that one now, and stays so whatever
// was said before.
func (s State) inMode(mode events.ApprovalMode) bool {
	return s.f.Settings.Approval == mode && (s.f.Current == nil || s.mode(s.f.Current) == mode) && !s.saysOtherwise(mode)
}

// setMode changes the approval mode of the open turn and of all later ones. Whether
// they plan only is another matter: the open one has its tools.
func (s *State) setMode(e events.ModeSet) {
	if e.Plan != nil {
		s.f.Plan = *e.Plan
	}
	if e.Approval == "" {
		return
	}
	s.f.Settings.Approval = e.Approval
	s.f.Modes++
	if s.f.Current != nil {
		s.f.Current.Approval = e.Approval
		s.f.Current.Rules = max(s.f.Current.Rules, rulesApprovals)
	}
}

// wishedBy is what an input says about settings, as far as it still holds. A mode
// that was set since is the later word, for whatever turn the input leads to.
func (s State) wishedBy(in input) events.Settings {
	said := wishes(in.Settings)
	if in.Modes != s.f.Modes {
		said.Approval = ""
	}
	return said
}

// saysOtherwise reports whether an input asks for another mode, and none was set
// since: a turn that it leads to would have it.
func (s State) saysOtherwise(mode events.ApprovalMode) bool {
	other := func(in input) bool {
		wished := s.wishedBy(in).Approval
		return wished != "" && wished != mode
	}
	if slices.ContainsFunc(s.f.Waiting, other) || s.f.Current != nil && slices.ContainsFunc(s.f.Current.said(), other) {
		return true
	}
	return slices.ContainsFunc(s.f.Past, func(t *turn) bool { return slices.ContainsFunc(t.said(), other) })
}
