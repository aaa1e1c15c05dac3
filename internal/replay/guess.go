package replay

import (
	"slices"
	"strconv"
	"strings"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// guess is a message that may have caused a commit.
type guess struct {
	message chat.Message
	at      []events.Time // when it may have been decided, beside what the commit says

	// stands marks parts of the message whose content could not be had: something
	// short stands in for it, to be given up again for what the log has.
	stands map[int]bool

	// verdicts puts into a decision what only the log knows of it; nil: nothing.
	verdicts func([]events.Event) []events.Event
}

// messages are those that may have caused the commit, the likeliest first. False
// means that the log alone can tell.
func (h *History) messages(c events.Commit) ([]guess, bool) {
	switch c.Cause.Kind {
	case events.CausedByCommand:
		return h.commands(c)
	case events.CausedByAttempt:
		return h.attempts(c)
	case events.CausedByClaim:
		return h.claims(c), true
	case events.CausedByResult:
		return results(c), true
	case events.CausedByAsk:
		return h.asks(c)
	case events.CausedByTimer:
		return h.timers(c)
	case events.CausedByRestore:
		return []guess{{message: chat.Restored{}}}, true
	case events.CausedByChat:
		return h.words(c)
	}
	return nil, false // nothing this release writes
}

// asLogged is e in the form in which the log has it: with content named by its
// digest where it is so there.
func (g guess) asLogged(e, logged events.Event) events.Event {
	theirs, ours := events.Parts(logged), events.Parts(e)
	if logged.EventType() != e.EventType() || len(theirs) != len(ours) {
		return e
	}
	var parts []events.Part
	for i := range ours {
		if theirs[i].Blob == "" || ours[i].Blob != "" {
			continue
		}
		if parts == nil {
			parts = slices.Clone(ours)
		}
		if g.stands[i] {
			parts[i] = theirs[i]
			continue
		}
		parts[i], _ = ours[i].Detach()
	}
	if parts == nil {
		return e
	}
	return events.WithParts(e, parts)
}

// standIn is what a message says whose content cannot be had.
const standIn = "x"

// filled is parts with their content. What cannot be had keeps its digest, or
// has something stand in for it.
func (h *History) filled(k events.Key, parts []events.Part, standing bool) (full []events.Part, stands map[int]bool) {
	for i, p := range parts {
		if p.Blob == "" || p.Attach([]byte(standIn)).Blob != "" { // an image is named by digest on purpose
			continue
		}
		if full == nil {
			full, stands = slices.Clone(parts), make(map[int]bool)
		}
		if h.options.Blob != nil {
			if content, err := h.options.Blob(k, p.Blob); err == nil {
				full[i] = p.Attach(content)
				continue
			}
		}
		if standing {
			full[i], stands[i] = p.Attach([]byte(standIn)), true
		}
	}
	if full == nil {
		return parts, nil
	}
	return full, stands
}

// commands are what a client may have wanted. The body is not in the log, only
// what it came to.
func (h *History) commands(c events.Commit) ([]guess, bool) {
	command := chat.Command{ID: c.Cause.ID, By: c.Cause.By, Sequence: c.Cause.Sequence}
	of := func(bodies ...protocol.Body) []guess {
		var list []guess
		for _, b := range bodies {
			command.Body = b
			list = append(list, guess{message: command})
		}
		return list
	}
	verb := protocol.Verb(c.Cause.Verb)
	if verb == protocol.VerbAnswer {
		return h.answersOf(c, of)
	}
	if verb == protocol.VerbClientResult {
		return h.clientResults(c, of)
	}
	switch e := c.Events[0].(type) {
	case events.CommandRejected:
		switch {
		case e.Code == events.CodeUndeliverable:
			command.Undeliverable, command.Verb = true, verb
			return []guess{{message: command}}, true
		case isAboutBody(verb, e.Code):
			return nil, false
		}
		return of(rejectedBodies(verb, e)...), bodyOf(verb, 0) != nil
	case events.CommandNoted:
		if waiting := h.state.Waiting(); verb == protocol.VerbPromote && len(waiting) > 0 {
			return of(protocol.Promote{V: protocol.Version, Input: waiting[0]}), true // it was the first already
		}
		return of(h.notedBody(verb, e.Turn)), bodyOf(verb, 0) != nil
	case events.InputAccepted:
		parts, stands := h.filled(c.Key, e.Parts, true)
		list := of(protocol.Send{V: protocol.Version, Parts: parts, Mode: e.Mode, Settings: e.Settings})
		if verb == protocol.VerbEdit {
			b := choiceIn(c)
			list = of(protocol.Edit{V: protocol.Version, Turn: b.Again, Input: b.Replaces, Parts: parts, Settings: e.Settings})
		}
		list[0].stands = stands
		return list, true
	case events.ChatCreated:
		return of(protocol.Create{V: protocol.Version, Settings: e.Settings, Title: e.Title}), true
	case events.ChatInherited:
		command.History = h.inherited
		if verb == protocol.VerbImport {
			return of(protocol.Import{V: protocol.Version, History: e.History, Title: e.Title}), true
		}
		return of(protocol.Fork{V: protocol.Version, Chat: e.Origin.Chat, Rev: e.Origin.Rev, Title: e.Title}), true
	case events.ChatConfigured:
		said := e.Settings
		if !namesAgent(c) {
			said.Agent = "" // it was there before
		}
		return of(protocol.Configure{V: protocol.Version, Settings: said}), true
	case events.ChatTitled:
		return of(protocol.Rename{V: protocol.Version, Title: e.Title}), true
	case events.InputEdited:
		parts, stands := h.filled(c.Key, e.Parts, true)
		list := of(protocol.EditInput{V: protocol.Version, Input: e.Input, Parts: parts})
		list[0].stands = stands
		return list, true
	case events.InputPromoted:
		return of(protocol.Promote{V: protocol.Version, Input: e.Input, Interrupt: e.Interrupt}), true
	case events.BranchSelected:
		return of(bodyOf(verb, turnNamed(e))), bodyOf(verb, 0) != nil
	case events.InputWithdrawn:
		if verb != protocol.VerbWithdraw { // it was on its way to another branch
			return of(bodyOf(verb, turnNamed(choiceIn(c)))), bodyOf(verb, 0) != nil
		}
		return of(protocol.Withdraw{V: protocol.Version, Input: e.Input}), true
	case events.ApprovalResolved:
		return h.approvals(c, command, e), true
	case events.ModeSet:
		return of(protocol.SetMode{V: protocol.Version, Approval: e.Approval, Plan: e.Plan}), true
	case events.BudgetExtended:
		return of(h.extension(e)), true
	case events.TurnInterruptRequested:
		return of(protocol.Interrupt{V: protocol.Version, Turn: e.Turn, Reason: e.Reason}), true
	case events.ChatArchived, events.ChatUnarchived, events.InputSteered, events.TurnStarted, events.TurnCompleted, events.TurnFailed,
		events.TurnInterrupted, events.StepRequested, events.StepCompleted, events.StepFailed, events.StepInterrupted,
		events.ToolRequested, events.ToolStarted, events.ToolCompleted,
		events.QuestionAsked, events.QuestionHeld, events.QuestionAnswered, events.ApprovalRequested,
		events.ChatEraseRequested, events.ChatErased, events.ContentDeleted, events.ActionRequested, events.AgentNamed, events.SkillActivated, events.BudgetReached, events.ChatSpawned, events.ChildSpawned, events.ChildEnded,
		events.ContextCompacted, events.ContextCompactionFailed, events.ContextCleared, events.ContextRestored:
		// The verb is all that was said, or cannot have had this outcome.
	}
	return of(bodyOf(verb, 0)), bodyOf(verb, 0) != nil
}

// namesAgent reports whether what a commit answers named an agent.
func namesAgent(c events.Commit) bool {
	return slices.ContainsFunc(c.Events, func(e events.Event) bool {
		_, names := e.(events.AgentNamed)
		return names
	})
}

// choiceIn is the choice of a branch that a commit made.
func choiceIn(c events.Commit) events.BranchSelected {
	for _, e := range c.Events {
		if e, ok := e.(events.BranchSelected); ok {
			return e
		}
	}
	return events.BranchSelected{}
}

// turnNamed is the turn that was named for a choice.
func turnNamed(e events.BranchSelected) int {
	if e.Again != 0 {
		return e.Again
	}
	return e.Turn
}

// isAboutBody reports whether a rejection is about nothing but what the command
// said, of which the log has no more.
func isAboutBody(verb protocol.Verb, code events.Code) bool {
	return verb == protocol.VerbExtend && code == events.CodeBadCommand ||
		verb == protocol.VerbApprove && (code == events.CodeBadCommand || code == events.CodeInvalidAnswer) ||
		code == events.CodeInvalidSettings && verb == protocol.VerbSetMode ||
		code == events.CodeBadCommand && (verb == protocol.VerbSend || verb == protocol.VerbEditInput || verb == protocol.VerbRename || verb == protocol.VerbEdit) ||
		code == events.CodeInvalidSettings && (verb == protocol.VerbSend || verb == protocol.VerbConfigure || verb == protocol.VerbEdit) ||
		code == events.CodeUnknownInput && verb == protocol.VerbEdit
}

// bodyOf is a command that says nothing beyond which turn it means; nil if this
// release has no such command.
func bodyOf(verb protocol.Verb, turn int) protocol.Body {
	const v = protocol.Version
	switch verb {
	case protocol.VerbCreate:
		return protocol.Create{V: v}
	case protocol.VerbSend:
		return protocol.Send{V: v, Parts: []events.Part{events.Text(standIn)}}
	case protocol.VerbInterrupt:
		return protocol.Interrupt{V: v, Turn: turn}
	case protocol.VerbConfigure:
		return protocol.Configure{V: v}
	case protocol.VerbRename:
		return protocol.Rename{V: v, Title: standIn}
	case protocol.VerbArchive:
		return protocol.Archive{V: v}
	case protocol.VerbUnarchive:
		return protocol.Unarchive{V: v}
	case protocol.VerbWithdraw:
		return protocol.Withdraw{V: v}
	case protocol.VerbPromote:
		return protocol.Promote{V: v}
	case protocol.VerbEditInput:
		return protocol.EditInput{V: v}
	case protocol.VerbRetry:
		return protocol.Retry{V: v, Turn: turn}
	case protocol.VerbContinue:
		return protocol.Continue{V: v, Turn: turn}
	case protocol.VerbEdit:
		return protocol.Edit{V: v, Turn: turn, Parts: []events.Part{events.Text(standIn)}}
	case protocol.VerbRegenerate:
		return protocol.Regenerate{V: v, Turn: turn}
	case protocol.VerbSelectBranch:
		return protocol.SelectBranch{V: v, Turn: turn}
	case protocol.VerbCompact:
		return protocol.Compact{V: v}
	case protocol.VerbClear:
		return protocol.Clear{V: v}
	case protocol.VerbRestore:
		return protocol.Restore{V: v}
	case protocol.VerbFork:
		return protocol.Fork{V: v}
	case protocol.VerbImport:
		return protocol.Import{V: v}
	case protocol.VerbAnswer, protocol.VerbClientResult:
		return nil // they say which call
	case protocol.VerbApprove:
		return protocol.Approve{V: v, Decision: protocol.DecideApprove}
	case protocol.VerbSetMode:
		return protocol.SetMode{V: v, Approval: standIn}
	case protocol.VerbExtend:
		return protocol.Extend{V: v, Turn: turn}
	case protocol.VerbErase:
		return protocol.Erase{V: v}
	}
	return nil
}

// rejectedBodies are commands that may have been turned down so: for the turn
// that the reason names, or for none.
func rejectedBodies(verb protocol.Verb, e events.CommandRejected) []protocol.Body {
	if verb == protocol.VerbSend {
		b := protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(standIn)}}
		if e.Code == events.CodeBusy {
			b.Mode = events.ModeReject
		}
		return []protocol.Body{b}
	}
	if verb == protocol.VerbApprove {
		return []protocol.Body{refusedApproval(e)}
	}
	if verb == protocol.VerbErase {
		return []protocol.Body{protocol.Erase{V: protocol.Version, Rev: new(uint64)}} // one that no chat has
	}
	if verb == protocol.VerbExtend {
		return refusedExtensions(e)
	}
	body := bodyOf(verb, 0)
	if turn, ok := firstNumber(e.Message); ok {
		return []protocol.Body{bodyOf(verb, turn), body}
	}
	return []protocol.Body{body}
}

// firstNumber is the first number in a text.
func firstNumber(text string) (int, bool) {
	for word := range strings.FieldsSeq(text) {
		if n, err := strconv.Atoi(strings.Trim(word, ",.;")); err == nil {
			return n, true
		}
	}
	return 0, false
}
