package projections

import (
	"errors"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// maxTitleChars is how much of the first input stands in for a title.
const maxTitleChars = 50

// fold is a chat as people see it, up to some commit. A page shares the parts of
// its messages with the fold, which therefore replaces them and never writes to
// them.
type fold struct {
	key      events.Key
	sequence uint64 // of the last commit folded, in the stream
	hash     string // of its bytes
	bytes    int    // of all commits folded

	head     Head
	titled   bool // somebody set the title
	messages []Message
	marks    []turnMark
	turns    []Turn
	tip      int  // the turn that the next one follows
	branched bool // some turn does not follow the one before it
	waiting  []waitingInput
	children []openChild
	step     events.StepID             // the newest that answers
	answer   int                       // index of the newest answer; its calls may be open
	outcomes map[string]protocol.Reply // of commands
	erased   *erased                   // nothing else is known of the chat then
	full     bool                      // the point asked for is reached: nothing more belongs to it
}

func newFold(k events.Key) *fold {
	return &fold{
		key: k, head: Head{Chat: k.Chat, Status: StatusIdle}, answer: -1, outcomes: make(map[string]protocol.Reply),
	}
}

// apply folds one stored commit, unless it lies behind the point asked for. It
// does not believe a broken chain: what it says would be made up.
//
// A chat that goes on from a history begins with what people read there.
func (f *fold) apply(m protocol.Stored, until Point, get content) error {
	c, err := events.Decode(m.Body)
	if version := (*events.VersionError)(nil); errors.As(err, &version) {
		return question.Refuse(events.CodeUnavailable, "rev %d: %v", f.head.Rev+1, err)
	}
	if err == nil && f.sequence == 0 && c.Key == f.key {
		if first, ok := c.Events[0].(events.ChatInherited); ok {
			if before(until, c) {
				f.full = true
				return nil
			}
			whole, err := inherited(f.key, first, get)
			if err != nil {
				return err
			}
			*f = *whole
		}
	}
	if err != nil || c.Key != f.key || !f.follows(c) {
		return question.Refuse(events.CodeChatStopped, "the chat's log is damaged behind rev %d", f.head.Rev)
	}
	if before(until, c) {
		f.full = true
		return nil
	}
	f.sequence, f.hash = m.Sequence, events.Hash(m.Body)
	f.bytes += len(m.Body)
	f.head.Rev, f.head.At = c.Rev, c.At
	if c.Rev == 1 {
		f.head.Created = c.At
	}
	for _, e := range c.Events {
		f.event(e)
	}
	f.outcome(c)
	f.full = c.Rev == until.Rev
	f.head.MessageCount, f.head.WaitingCount = len(f.messages), len(f.waiting)
	return nil
}

// event folds one event. It never judges: what does not fit is left out.
func (f *fold) event(e events.Event) {
	switch e := e.(type) {
	case events.ChatCreated:
		f.title(e.Title, e.Title != "")
	case events.ChatSpawned:
		f.title(e.Title, e.Title != "")
		f.head.Parent = &e.Parent
	case events.ChatInherited:
		f.head.Archived, f.head.Parent = false, nil
		if e.Title != "" {
			f.title(e.Title, true)
		}
	case events.ChatTitled:
		f.title(e.Title, true)
	case events.ChatArchived:
		f.head.Archived = true
	case events.ChatUnarchived:
		f.head.Archived = false
	case events.ChatErased:
		f.bury(e)
	case events.ModeSet:
		if e.Plan != nil {
			f.head.Plan = *e.Plan
		}
	case events.BudgetReached:
		f.head.Reached = &e
	case events.BudgetExtended:
		f.head.Reached = nil
	case events.SkillActivated:
		f.skillActivated(e)
	case events.ChatConfigured, events.CommandRejected, events.CommandNoted, events.AgentNamed,
		events.ChatEraseRequested, events.ContentDeleted:
		// Nothing that people read in a chat.
	case events.InputAccepted:
		f.waiting = append(f.waiting, waitingInput{accepted: e, rev: f.head.Rev, at: f.head.At})
		if !f.titled && f.head.Title == "" {
			f.title(beginning(e.Parts), false)
		}
	case events.InputEdited:
		f.edit(e)
	case events.InputPromoted:
		f.promote(e)
	case events.InputSteered:
		f.takeInputs(e.Step.Turn, e.Inputs, 0)
	case events.InputWithdrawn:
		f.takeWaiting(e.Input)
	case events.BranchSelected:
		f.branchSelected(e)
	case events.TurnStarted:
		f.turnStarted(e)
	case events.TurnInterruptRequested:
		f.head.Status = StatusInterrupting
	case events.TurnCompleted:
		f.turnEnded(e.Turn, StatusIdle, func(t *Turn) { t.Status, t.Finish, t.Totals = TurnCompleted, e.Finish, e.Totals })
	case events.TurnFailed:
		f.turnEnded(e.Turn, StatusFailed, func(t *Turn) {
			t.Status, t.Class, t.Message, t.Totals = TurnFailed, e.Class, e.Message, e.Totals
		})
	case events.TurnInterrupted:
		f.turnEnded(e.Turn, StatusIdle, func(t *Turn) { t.Status, t.Reason, t.Totals = TurnInterrupted, e.Reason, e.Totals })
	case events.StepRequested:
		f.stepRequested(e)
	case events.StepCompleted:
		if f.answers(e.Step) {
			f.stepCompleted(e)
		}
	case events.StepFailed:
		if f.answers(e.Step) {
			f.head.RetryAt = e.RetryAt
		}
	case events.StepInterrupted:
		if f.answers(e.Step) {
			f.stepInterrupted(e)
		}
	case events.ApprovalRequested:
		f.approvalRequested(e)
	case events.ApprovalResolved:
		f.approvalResolved(e)
	case events.ContextCompacted:
		f.compacted(e)
	case events.ContextCompactionFailed:
		f.failed(e)
	case events.ContextCleared:
		f.cleared(e)
	case events.ContextRestored:
		f.restored(e)
	case events.ToolRequested:
		f.call(e.Call, func(c *Call) { c.Status = CallRequested })
	case events.ToolStarted:
		f.call(e.Call, func(c *Call) { c.Status = CallStarted })
	case events.ToolCompleted:
		f.call(e.Call, func(c *Call) {
			c.Status, c.IsError, c.Truncated, c.Blob, c.RanMS = CallStatus(e.Status), e.IsError, e.Truncated, e.Blob, e.Timing.RanMS
			c.Result, c.Artifacts = partsOf(e.Parts), e.Artifacts
		})
	case events.ChildSpawned:
		f.childSpawned(e)
	case events.ChildEnded:
		f.childEnded(e)
	case events.ActionRequested:
		for _, id := range e.Calls {
			f.call(id, func(c *Call) { c.Status, c.Due = CallClient, e.Due })
		}
	case events.QuestionAsked:
		f.call(e.Call, func(c *Call) { c.Status, c.Question = CallAsking, &Question{Questions: e.Questions, Due: e.Due} })
	case events.QuestionHeld:
		f.question(e.Call, func(q *Question) { q.Held, q.Due, q.LeftMS = e.Held, e.Due, e.LeftMS })
	case events.QuestionAnswered:
		f.question(e.Call, func(q *Question) { q.Answers, q.Expired, q.By = e.Answers, e.Expired, e.By })
		f.call(e.Call, func(c *Call) { c.Status = CallStarted }) // its result, which may follow at once, says more
	}
}

func (f *fold) title(title string, set bool) {
	f.head.Title, f.titled = title, f.titled || set
}

// beginning is the start of what parts say, on one line.
func beginning(parts []events.Part) string {
	for _, p := range parts {
		words := strings.Join(strings.Fields(p.Text), " ")
		if words == "" {
			continue
		}
		if runes := []rune(words); len(runes) > maxTitleChars {
			return strings.TrimSpace(string(runes[:maxTitleChars])) + "…"
		}
		return words
	}
	return ""
}

// say appends a message.
func (f *fold) say(m Message) {
	m.N, m.Rev = len(f.messages)+1, f.head.Rev
	f.messages = append(f.messages, m)
	if n := len(f.turns); n > 0 {
		f.turns[n-1].Last = m.N
	}
}

func (f *fold) turnStarted(e events.TurnStarted) {
	f.head.Status, f.head.Turn = StatusRunning, e.Turn
	f.answer = -1
	f.tip = e.Turn
	if n := len(f.turns); n > 0 && f.turns[n-1].Turn != e.Parent {
		f.branched = true
	}
	f.turns = append(f.turns, Turn{
		Turn: e.Turn, Parent: e.Parent, Again: e.Again, Cause: e.Cause, Status: TurnRunning, Rev: f.head.Rev, Started: f.head.At,
		First: len(f.messages) + 1, Last: len(f.messages),
	})
	f.takeInputs(e.Turn, e.Inputs, e.Again)
}

func (f *fold) turnEnded(turn int, status Status, end func(*Turn)) {
	f.head.Status, f.head.Reached = status, nil
	f.head.Step, f.head.Attempt, f.head.RetryAt = "", 0, 0
	f.answer = -1
	if n := len(f.turns); n > 0 && f.turns[n-1].Turn == turn {
		t := &f.turns[n-1]
		t.Rev, t.Ended = f.head.Rev, f.head.At
		end(t)
	}
}

// stepRequested shows which step is under way, if people are to read its answer; of
// one that judges a call, that call waits for it.
func (f *fold) stepRequested(e events.StepRequested) {
	if e.Call != nil {
		f.call(*e.Call, func(c *Call) {
			if c.Status == CallWaiting { // it may run by now
				c.Status = transcript.CallReview
			}
		})
	}
	if e.Purpose == events.PurposeAnswer {
		f.step = e.Step
		f.head.Step, f.head.Attempt, f.head.RetryAt = e.Step.String(), e.Attempt, 0
	}
}

// answers reports whether the step is the newest that answers. What a model says
// for another purpose is nothing that people read in a chat.
func (f *fold) answers(id events.StepID) bool { return f.step == id }

func (f *fold) stepCompleted(e events.StepCompleted) {
	f.head.Step, f.head.Attempt, f.head.RetryAt = "", 0, 0
	m := Message{
		At: f.head.At, Turn: e.Step.Turn, Role: RoleAssistant, Step: e.Step.String(), Parts: partsOf(e.Parts),
		Stop: e.Stop, Model: e.Provider.Model, Usage: &e.Usage, CostMicros: e.CostMicros,
	}
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Type == events.PartCall {
			id := events.CallID{Turn: e.Step.Turn, Step: e.Step.Step, Ordinal: p.Ordinal}
			p.Call = &Call{ID: id, Status: CallWaiting}
		}
	}
	f.say(m)
	f.answer = len(f.messages) - 1
}

// stepInterrupted keeps what was said so far. A step that had said nothing
// leaves no message.
func (f *fold) stepInterrupted(e events.StepInterrupted) {
	f.head.Step, f.head.Attempt, f.head.RetryAt = "", 0, 0
	if len(e.Parts) == 0 {
		return
	}
	f.say(Message{
		At: f.head.At, Turn: e.Step.Turn, Role: RoleAssistant, Step: e.Step.String(), Parts: partsOf(e.Parts),
		Interrupted: true, Usage: &e.Usage, CostMicros: e.CostMicros,
	})
}

// call changes a call of the newest answer.
func (f *fold) call(id events.CallID, change func(*Call)) {
	if f.answer < 0 {
		return
	}
	m := &f.messages[f.answer]
	i := slices.IndexFunc(m.Parts, func(p Part) bool { return p.Call != nil && p.Call.ID == id })
	if i < 0 {
		return
	}
	c := *m.Parts[i].Call
	change(&c)
	m.Parts = slices.Clone(m.Parts)
	m.Parts[i].Call = &c
	m.Rev = f.head.Rev
}

// question changes what a call of the newest answer asks.
func (f *fold) question(id events.CallID, change func(*Question)) {
	f.call(id, func(c *Call) {
		if c.Question == nil {
			return
		}
		q := *c.Question
		change(&q)
		c.Question = &q
	})
}

// partsOf is parts for people: what only its provider can read is left out.
func partsOf(parts []events.Part) []Part {
	shown := make([]Part, len(parts))
	for i, p := range parts {
		p.Opaque = nil
		switch {
		case p.Type == events.PartProviderCall, p.Type == events.PartProviderResult,
			p.Type == events.PartReasoning && p.MediaType != "": // its Blob stands for Opaque
			p.Blob, p.Bytes, p.MediaType = "", 0, ""
		}
		shown[i] = Part{Part: p}
	}
	return shown
}
