package index

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/listing"
)

// foldVersion is the number of the rules below, of what [chat] holds, and of the
// tables: raise it with any change, and every file is built anew.
const foldVersion = 2

// fold is a chat to which commits are applied, and what follows from them.
type fold struct {
	chat *chat
	change

	rev       uint64      // of the commit that is folded
	at        events.Time // when what is folded happened
	inherited bool        // it happened in the chat that this one goes on from
}

// apply folds a commit. It never fails: what makes no sense is noted, and what can be
// read of it counts.
func (f *fold) apply(i item) {
	c := f.chat
	if i.place.Sequence <= c.Sequence && c.Rev > 0 {
		return
	}
	f.trouble = append(f.trouble, i.trouble...)
	if i.commit.Rev == 0 {
		return // it cannot be read
	}
	if _, erased := i.commit.Events[0].(events.ChatErased); erased {
		f.bury(i)
		return
	}
	if c.Gone {
		return // what is behind a tombstone says only that everything is deleted
	}
	if i.commit.Rev != c.Rev+1 {
		f.note(i, fmt.Sprintf("rev %d follows rev %d", i.commit.Rev, c.Rev))
	}
	c.place, c.ordinal = i.place, 0
	c.Rev, c.At = i.commit.Rev, i.commit.At
	f.rev = i.commit.Rev
	if c.Created == 0 {
		c.Created, c.Status = i.commit.At, listing.StatusIdle
		if i.commit.Rev == 1 && i.commit.Cause.Kind == events.CausedByCommand {
			c.Owner = clean(i.commit.Cause.By, maxNameBytes)
		}
	}
	f.moved = append(f.moved, moved{i.commit.Rev, i.place.Sequence, i.commit.At})
	f.inherit(i.history)
	f.at = i.commit.At
	for _, e := range i.commit.Events {
		f.event(e)
	}
	c.OpenCount = len(c.Open)
}

// note sets a commit aside.
func (f *fold) note(i item, why string) {
	f.trouble = append(f.trouble, trouble{i.place, i.key, i.commit.Rev, why})
}

// inherit folds what was before a chat's first commit. What models were asked for
// there was counted there.
func (f *fold) inherit(history []events.Recorded) {
	f.inherited = true
	for _, before := range history {
		f.at = before.At
		for _, e := range before.Events {
			f.event(e)
		}
	}
	f.inherited, f.chat.ordinal = false, 0
}

// bury forgets a chat. It is kept that it is erased, for what stands behind its
// tombstone.
func (f *fold) bury(i item) {
	*f.chat = chat{place: i.place, Tenant: f.chat.Tenant, Chat: listing.Chat{Chat: f.chat.Chat.Chat, Rev: i.commit.Rev}, Gone: true}
	f.change = change{fresh: true}
}

// event folds one event. It never judges: what does not fit is left out.
func (f *fold) event(e events.Event) {
	c := f.chat
	switch e := e.(type) {
	case events.ChatCreated:
		f.begun(e.Settings, e.Title, e.By)
	case events.ChatSpawned:
		f.begun(e.Settings, e.Title, "")
		c.Parent = new(e.Parent)
	case events.ChatInherited:
		c.Archived, c.Parent = false, nil
		c.Asked = slices.DeleteFunc(c.Asked, func(a asked) bool { return a.Step.Turn == 0 }) // of use only there
		c.Origin = &listing.Origin{Tenant: clean(e.Origin.Tenant, maxNameBytes), Chat: clean(e.Origin.Chat, maxNameBytes), Rev: e.Origin.Rev}
		f.begun(e.Settings, e.Title, e.By)
	case events.ChatConfigured:
		c.Agent = clean(e.Settings.Agent, maxNameBytes)
	case events.ChatTitled:
		f.title(e.Title, e.By)
	case events.ChatArchived:
		c.Archived = true
	case events.ChatUnarchived:
		c.Archived = false
	case events.BudgetReached:
		c.close(func(o open) bool { return o.Kind == listing.OpenBudget })
		c.Open = append(c.Open, open{
			Kind: listing.OpenBudget, Since: f.at, Rev: f.rev, Turn: e.Turn, Text: fmt.Sprintf("%s of the %s", e.Bound, e.Scope),
		})
	case events.BudgetExtended:
		c.close(func(o open) bool { return o.Kind == listing.OpenBudget })
	case events.CommandRejected, events.CommandNoted, events.AgentNamed, events.SkillActivated, events.ChatEraseRequested, events.ChatErased,
		events.ContentDeleted, events.InputPromoted, events.BranchSelected, events.ModeSet, events.ToolRequested, events.ToolStarted,
		events.ChildSpawned, events.ChildEnded, events.ContextCompacted, events.ContextCompactionFailed, events.ContextCleared,
		events.ContextRestored:
		// Nothing of it is listed.
	case events.InputAccepted, events.InputEdited, events.InputSteered, events.InputWithdrawn:
		f.input(e)
	case events.TurnStarted:
		f.turnStarted(e)
	case events.TurnInterruptRequested:
		c.Status = listing.StatusInterrupting
	case events.TurnCompleted:
		f.turnEnded(listing.StatusIdle)
	case events.TurnInterrupted:
		f.turnEnded(listing.StatusIdle)
	case events.TurnFailed:
		f.turnEnded(listing.StatusFailed)
		c.close(func(open) bool { return true })
		c.Open = append(c.Open, open{
			Kind: listing.OpenFailure, Since: f.at, Rev: f.rev, Turn: e.Turn, Class: e.Class, Text: clean(e.Message, maxOpenBytes),
		})
	case events.StepRequested, events.StepCompleted, events.StepFailed, events.StepInterrupted:
		f.step(e)
	case events.ApprovalRequested, events.ApprovalResolved, events.ActionRequested, events.QuestionAsked, events.QuestionHeld,
		events.QuestionAnswered, events.ToolCompleted:
		f.call(e)
	}
}

// begun is the beginning of a chat.
func (f *fold) begun(s events.Settings, title, by string) {
	c := f.chat
	c.Agent = clean(s.Agent, maxNameBytes)
	if !f.inherited {
		c.Owner = cmp.Or(c.Owner, clean(by, maxNameBytes))
	}
	if title != "" {
		f.title(title, by)
	}
}

// title names the chat, and can be found.
func (f *fold) title(title, by string) {
	c := f.chat
	f.unsay(c.TitleAs)
	c.Title, c.Titled = clean(title, maxNameBytes), true
	c.TitleAs = f.say(listing.KindTitle, 0, by, title)
}

// turnStarted opens a turn; a failure before it waits for nobody any more.
func (f *fold) turnStarted(e events.TurnStarted) {
	c := f.chat
	c.Status = listing.StatusRunning
	c.TurnCount++
	c.Agent = c.agent(e.Settings)
	c.Spender = c.Agent
	c.close(func(o open) bool { return o.Kind == listing.OpenFailure })
	f.taken(e.Inputs)
}

// taken are inputs that are messages of a turn now, some of them once more.
func (f *fold) taken(inputs []string) {
	for _, id := range inputs {
		f.chat.takeWaiting(id)
	}
	f.chat.MessageCount += len(inputs)
}

// turnEnded closes a turn, and all that waits in it.
func (f *fold) turnEnded(status listing.Status) {
	f.chat.Status = status
	f.chat.close(func(o open) bool { return o.Kind != listing.OpenFailure })
}

// input folds what becomes of what people say.
func (f *fold) input(e events.Event) {
	c := f.chat
	switch e := e.(type) { //nolint:gochecksumtype // the caller has sorted them
	case events.InputAccepted:
		if !c.Titled && c.Title == "" {
			c.Title = beginning(e.Parts)
		}
		id := f.say(listing.KindUser, 0, e.By, textOf(e.Parts))
		if len(c.Waiting) < maxWaiting {
			c.Waiting = append(c.Waiting, waiting{e.Input, id})
		}
	case events.InputEdited:
		i := slices.IndexFunc(c.Waiting, func(w waiting) bool { return w.Input == e.Input })
		if i >= 0 {
			f.unsay(c.Waiting[i].ID)
			c.Waiting[i].ID = f.say(listing.KindUser, 0, e.By, textOf(e.Parts))
		}
	case events.InputSteered:
		f.taken(e.Inputs)
	case events.InputWithdrawn:
		if w, ok := c.takeWaiting(e.Input); ok {
			f.unsay(w.ID)
		}
	}
}

// say notes something that can be found, and gives its id; 0 if there is nothing.
func (f *fold) say(kind listing.Kind, turn int, by, text string) int64 {
	if strings.TrimSpace(text) == "" {
		return 0
	}
	id, ok := f.saidID()
	if !ok {
		return 0
	}
	f.said = append(f.said, said{
		id: id, place: f.chat.place, rev: f.rev, at: f.at, turn: turn, kind: kind, by: clean(by, maxNameBytes), text: clean(text, maxSaidBytes), inherited: f.inherited,
	})
	return id
}

// unsay takes something back.
func (f *fold) unsay(id int64) {
	if id == 0 {
		return
	}
	f.said = slices.DeleteFunc(f.said, func(s said) bool { return s.id == id })
	f.unsaid = append(f.unsaid, id)
}

// textOf is what parts say to a person.
func textOf(parts []events.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Type != events.PartText || p.Text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.Text)
	}
	return b.String()
}

// beginning is the start of what parts say, on one line.
func beginning(parts []events.Part) string {
	for _, p := range parts {
		words := strings.Join(strings.Fields(p.Text), " ")
		if words == "" {
			continue
		}
		if runes := []rune(words); len(runes) > maxTitleChars {
			words = strings.TrimSpace(string(runes[:maxTitleChars])) + "…"
		}
		return clean(words, maxNameBytes)
	}
	return ""
}
