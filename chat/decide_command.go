package chat

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Limits of what a command may carry.
const (
	maxTitleChars  = 200
	maxReasonChars = 500
	maxSystemBytes = 64 << 10
	maxInputParts  = 128
)

// decideCommand decides a command that is not on record yet. One that is yields
// nothing, whatever it says and however long ago that was.
func decideCommand(s State, c Command, at events.Time, live Live) Decision {
	if s.HasDecided(c.ID) {
		return Decision{}
	}
	if s.Exists() && c.Sequence != 0 && c.Sequence < s.Created() {
		return refused(events.CodeUnknownChat, "the chat did not exist when this command was stored")
	}
	if c.Sequence != 0 && c.Sequence <= s.Decided() { // so long ago that its outcome is forgotten
		return Decision{}
	}
	if s.f.Erasure != nil {
		return refused(events.CodeErased, "%s", s.saidErased())
	}
	if c.Undeliverable {
		return undeliverable(s, c)
	}
	if !s.Exists() {
		return decideFirst(s, c)
	}
	if s.compacting() && movesTip(c.Body) {
		return rejected(c, events.CodeNotIdle, "a summary is being written", string(events.PurposeSummary))
	}
	switch b := c.Body.(type) {
	case protocol.Create, protocol.Fork, protocol.Import:
		return rejected(c, events.CodeExists, "this chat exists already", "")
	case protocol.Send:
		return decideSend(s, b, c, at)
	case protocol.Interrupt:
		return decideInterrupt(s, b, c, at)
	case protocol.Configure:
		return decideConfigure(s, b, c)
	case protocol.Rename:
		return decideRename(b, c)
	case protocol.Archive:
		if s.f.Archived {
			return noted(c, 0)
		}
		return facts(events.ChatArchived{})
	case protocol.Unarchive:
		if !s.f.Archived {
			return noted(c, 0)
		}
		return facts(events.ChatUnarchived{})
	case protocol.Withdraw:
		return decideWithdraw(s, b, c)
	case protocol.Promote:
		return decidePromote(s, b, c, at)
	case protocol.EditInput:
		return decideEditInput(s, b, c)
	case protocol.Edit:
		return decideEdit(s, b, c, at)
	case protocol.Regenerate:
		return decideRegenerate(s, b, c, at)
	case protocol.SelectBranch:
		return decideSelectBranch(s, b, c, at)
	case protocol.Retry:
		return decideRetry(s, b, c, at, live)
	case protocol.Continue:
		return decideContinue(s, b, c, at, live)
	case protocol.Answer:
		return decideAnswer(s, b, c, at)
	case protocol.Approve:
		return decideApprove(s, b, c, at)
	case protocol.SetMode:
		return decideSetMode(s, b, c)
	case protocol.Extend:
		return decideExtend(s, b, c, at)
	case protocol.Erase:
		return decideErase(s, b, c, at)
	case protocol.ClientResult:
		return decideClientResult(s, b, c)
	case protocol.Compact:
		return decideCompact(s, c)
	case protocol.Clear:
		return decideClear(s, c)
	case protocol.Restore:
		return decideRestore(s, c)
	}
	panic(fmt.Sprintf("chat: no decision for command %T", c.Body))
}

func facts(e ...events.Event) Decision { return Decision{Events: e} }

func noted(c Command, turn int) Decision {
	return facts(events.CommandNoted{Verb: string(c.verb()), Turn: turn})
}

func rejected(c Command, code events.Code, message, status string) Decision {
	return facts(events.CommandRejected{Verb: string(c.verb()), Code: code, Message: message, Status: status})
}

func refused(code events.Code, format string, args ...any) Decision {
	return Decision{Refused: &protocol.RefusedError{Code: code, Detail: fmt.Sprintf(format, args...)}}
}

func undeliverable(s State, c Command) Decision {
	const message = "the command could not be decided and was set aside"
	if !s.Exists() {
		return refused(events.CodeUndeliverable, message)
	}
	return rejected(c, events.CodeUndeliverable, message, "")
}

// decideFirst decides a command for a chat that does not exist.
func decideFirst(s State, c Command) Decision {
	switch b := c.Body.(type) {
	case protocol.Create:
		return decideCreate(b, c)
	case protocol.Fork:
		return decideInherit(s, b.Title, c)
	case protocol.Import:
		return decideInherit(s, b.Title, c)
	case protocol.Send, protocol.Interrupt, protocol.Configure, protocol.Rename, protocol.Archive, protocol.Unarchive,
		protocol.Withdraw, protocol.Edit, protocol.Regenerate, protocol.SelectBranch, protocol.Promote, protocol.EditInput, protocol.Retry, protocol.Continue, protocol.Answer, protocol.Approve,
		protocol.SetMode, protocol.Extend, protocol.Erase, protocol.ClientResult, protocol.Compact, protocol.Clear, protocol.Restore:
	}
	return refused(events.CodeUnknownChat, "the chat does not exist; create it first")
}

func decideCreate(b protocol.Create, c Command) Decision {
	if wrong := InvalidSettings(b.Settings); wrong != "" {
		return refused(events.CodeInvalidSettings, "%s", wrong) // there is no log to write the no to
	}
	title, wrong := cleanTitle(b.Title)
	if wrong != "" && b.Title != "" {
		return refused(events.CodeBadCommand, "%s", wrong)
	}
	return facts(events.ChatCreated{Settings: b.Settings, Title: title, By: c.By})
}

func decideSend(s State, b protocol.Send, c Command, at events.Time) Decision {
	if no := s.saidBefore(c); no != nil {
		return *no
	}
	parts, wrong := cleanInput(b.Parts)
	if wrong != "" {
		return rejected(c, events.CodeBadCommand, wrong, "")
	}
	if wrong := s.wrongAttachments(c, parts); wrong != "" {
		return rejected(c, events.CodeBadCommand, wrong, "")
	}
	mode := b.Mode
	switch mode {
	case "":
		mode = events.ModeQueue
	case events.ModeQueue, events.ModeSteer, events.ModeInterrupt, events.ModeRollback, events.ModeReject:
	default:
		return rejected(c, events.CodeBadCommand, "mode: want queue, steer, interrupt, rollback or reject", "")
	}
	if b.ClientTools != nil {
		b.Settings = new(events.Settings{}.Merge(wishes(b.Settings)).Merge(events.Settings{ClientTools: b.ClientTools}))
	}
	if b.Settings != nil {
		if wrong := invalidWishes(*b.Settings); wrong != "" {
			return rejected(c, events.CodeInvalidSettings, wrong, "")
		}
	}
	turn, running := s.Running()
	if running || s.compacting() {
		if mode == events.ModeReject && running {
			return rejected(c, events.CodeBusy, fmt.Sprintf("turn %d is running", turn), "running")
		}
		if mode == events.ModeReject {
			return rejected(c, events.CodeBusy, "a summary is being written", string(events.PurposeSummary))
		}
		if len(s.f.Waiting) >= events.MaxWaitingInputs {
			return rejected(c, events.CodeQueueFull, fmt.Sprintf("%d inputs are waiting", len(s.f.Waiting)), "running")
		}
	}
	d := facts(events.InputAccepted{Input: c.ID, Parts: parts, Mode: mode, By: c.By, Settings: b.Settings})
	if s.f.Archived {
		d.Events = append(d.Events, events.ChatUnarchived{})
	}
	d.Events = append(d.Events, s.goesAhead(c, mode, at)...)
	return d
}

// cleanInput is an input with its text repaired, or what is wrong with it.
func cleanInput(parts []events.Part) ([]events.Part, string) {
	if len(parts) == 0 {
		return nil, "parts: want at least one"
	}
	if len(parts) > maxInputParts {
		return nil, fmt.Sprintf("parts: %d, at most %d are allowed", len(parts), maxInputParts)
	}
	clean := make([]events.Part, len(parts))
	attached := int64(0)
	for i, p := range parts {
		if isAttachment(p.Type) {
			var wrong string
			if clean[i], wrong = cleanAttachment(p); wrong != "" {
				return nil, fmt.Sprintf("parts[%d]: %s", i, wrong)
			}
			attached += p.Bytes
			continue
		}
		if p.Type != events.PartText {
			return nil, fmt.Sprintf("parts[%d]: type %.20q, want text, image or file", i, p.Type)
		}
		if p.Blob != "" {
			return nil, fmt.Sprintf("parts[%d]: a client cannot name stored content", i)
		}
		clean[i] = events.Text(events.RepairText(p.Text))
	}
	if attached > MaxAttachedBytes {
		return nil, fmt.Sprintf("parts: images and files of %d bytes together, at most %d are allowed in one input: send them in several", attached, MaxAttachedBytes)
	}
	return clean, ""
}

func decideConfigure(s State, b protocol.Configure, c Command) Decision {
	if wrong := InvalidSettings(b.Settings); wrong != "" {
		return rejected(c, events.CodeInvalidSettings, wrong, "")
	}
	merged := s.f.Settings.Merge(b.Settings)
	if digestOf(merged) == digestOf(s.f.Settings) {
		return noted(c, 0)
	}
	return facts(events.ChatConfigured{Settings: merged})
}

func decideRename(b protocol.Rename, c Command) Decision {
	title, wrong := cleanTitle(b.Title)
	if wrong != "" {
		return rejected(c, events.CodeBadCommand, wrong, "")
	}
	return facts(events.ChatTitled{Title: title, By: c.By})
}

func cleanTitle(title string) (clean, wrong string) {
	clean = strings.Join(strings.Fields(events.RepairText(title)), " ")
	switch n := utf8.RuneCountInString(clean); {
	case n == 0:
		return "", "title: want at least one character"
	case n > maxTitleChars:
		return "", fmt.Sprintf("title: %d characters, at most %d are allowed", n, maxTitleChars)
	}
	return clean, ""
}

// decideRetry asks the failed step of the last turn again, in a turn that
// follows it, so that the model is shown the same history.
func decideRetry(s State, b protocol.Retry, c Command, at events.Time, live Live) Decision {
	t, no := s.endedTurn(b.Turn, c)
	if no != nil {
		return *no
	}
	if t.Ended != endedFailed {
		return rejected(c, events.CodeAlreadyFinished, fmt.Sprintf("turn %d did not fail", t.Number), string(t.Ended))
	}
	return s.goOn(events.CauseRetry, t, c, at, live)
}

// decideContinue goes on where the last turn stopped before the model was done.
func decideContinue(s State, b protocol.Continue, c Command, at events.Time, live Live) Decision {
	t, no := s.endedTurn(b.Turn, c)
	if no != nil {
		return *no
	}
	switch {
	case t.Ended == endedInterrupted,
		t.Finish == events.FinishMaxSteps, t.Finish == events.FinishLength, t.Finish == events.FinishStopAfterTool:
		return s.goOn(events.CauseContinue, t, c, at, live)
	}
	return rejected(c, events.CodeAlreadyFinished, fmt.Sprintf("turn %d has nothing to continue", t.Number), string(t.Ended))
}

// goOn begins a turn without an input behind t. The model must be shown something.
func (s State) goOn(cause events.TurnCause, t *turn, c Command, at events.Time, live Live) Decision {
	if !s.shownAnything() {
		return rejected(c, events.CodeAlreadyFinished,
			fmt.Sprintf("the model is shown nothing of turn %d since the context was cleared: say it again, or restore the context", t.Number), string(t.Ended))
	}
	return facts(s.turnStarted(cause, nil, at, live))
}

// endedTurn is the turn at the tip if it is the one asked for (0 means whichever
// it is) and has ended; else the decision that says no.
func (s State) endedTurn(number int, c Command) (*turn, *Decision) {
	var no Decision
	t := s.tip()
	switch {
	case t == nil, number < 0, number > s.newest():
		no = rejected(c, events.CodeUnknownTurn, fmt.Sprintf("turn %d was never started", number), "")
	case s.compacting():
		no = rejected(c, events.CodeNotIdle, "a summary is being written", string(events.PurposeSummary))
	case s.f.Current != nil:
		no = rejected(c, events.CodeNotIdle, fmt.Sprintf("turn %d is running", t.Number), "running")
	case number != 0 && number != t.Number:
		no = rejected(c, events.CodeAlreadyFinished, fmt.Sprintf("turn %d is not the last of its branch", number), "")
	default:
		return t, nil
	}
	return nil, &no
}
