package mcp

import (
	"context"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/protocol/transcript"
)

// What is read of a transcript at a time, and where that is begun: a turn is mostly
// among the last messages.
const (
	pageMessages = 100
	tailMessages = 20
)

// Limits of what a turn is told as.
const (
	maxTextBytes      = 64 << 10 // the beginning and the end of what was said
	maxArgumentsBytes = 4 << 10
)

// Status says how a turn stands.
type Status string

// The statuses of a turn.
const (
	StatusQueued      Status = "queued"  // it waits for its turn
	StatusRunning     Status = "running" // and will go on by itself
	StatusWaiting     Status = "waiting" // for a person
	StatusCompleted   Status = "completed"
	StatusFailed      Status = "failed"
	StatusInterrupted Status = "interrupted"
	StatusWithdrawn   Status = "withdrawn" // what was said was taken back before its turn
)

// Turn is how a turn stands.
type Turn struct {
	Chat   string `json:"chat" jsonschema:"The chat, for what is said next."`
	Turn   int    `json:"turn,omitempty"`
	Status Status `json:"status" jsonschema:"queued, running, waiting, completed, failed, interrupted or withdrawn. Call wait for a turn that is queued or running."`
	Text   string `json:"text,omitempty" jsonschema:"What the assistant has said in this turn so far."`
	Cut    bool   `json:"cut,omitempty" jsonschema:"text is not the whole; read_transcript has it."`
	Waits  []Wait `json:"waits,omitempty" jsonschema:"What it waits for. A person has to decide."`
	Reason string `json:"reason,omitempty" jsonschema:"Why it failed, or was interrupted."`
}

// rests reports whether a turn will not go on by itself.
func (t Turn) rests() bool { return t.Status != StatusQueued && t.Status != StatusRunning }

// Wait is one thing that a turn waits for.
type Wait struct {
	Kind      string     `json:"kind" jsonschema:"approval: call approve or deny; question: call answer; client: a program has to run the call; budget: a person has to extend it."`
	Chat      string     `json:"chat" jsonschema:"Where it is decided; it may be another chat that works for this one."`
	Call      string     `json:"call,omitempty"`
	Tool      string     `json:"tool,omitempty"`
	Arguments string     `json:"arguments,omitempty"`
	Questions []Question `json:"questions,omitempty"`
	Due       string     `json:"due,omitempty" jsonschema:"When nobody waits any more."`
}

// Question is one that a person is asked.
type Question struct {
	ID      string   `json:"id"`
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty" jsonschema:"Their labels; an answer may be other words."`
}

// target is the turn that is looked at: the one with the number, or that an input is
// taken by, or the newest.
type target struct {
	turn  int
	input string
}

// look says how a turn stands, as of rev at least.
func (c caller) look(ctx context.Context, k events.Key, t target, rev uint64) (Turn, error) {
	var head transcript.Head
	if err := c.cfg.Chats.Query(ctx, k.Tenant, transcript.QueryHead, transcript.HeadRequest{Chat: k.Chat, MinRev: rev}, &head); err != nil {
		return Turn{}, err
	}
	if t == (target{}) {
		t.turn = head.Turn
	}
	if t.turn < 0 || t.turn > head.Turn { // else the whole chat would be read for it, again and again
		return Turn{}, problem.New(events.CodeUnknownTurn, "turn: there is none of this number")
	}
	s := seen{target: t, told: Turn{Chat: k.Chat, Turn: t.turn, Status: StatusQueued}}
	after := max(0, head.MessageCount-tailMessages)
	whole, err := c.readTurn(ctx, k, &s, after, head.Rev)
	if err == nil && !whole && after > 0 {
		begins := max(0, s.now.First-1) // where it is not known, at the beginning of the chat
		s = seen{target: t, told: Turn{Chat: k.Chat, Turn: t.turn, Status: StatusQueued}}
		_, err = c.readTurn(ctx, k, &s, begins, head.Rev)
	}
	return s.turn(), err
}

// readTurn reads what comes behind a message, and reports whether all of the turn does.
func (c caller) readTurn(ctx context.Context, k events.Key, s *seen, after int, rev uint64) (bool, error) {
	whole := false
	for from, next := after, true; next; {
		var page transcript.Page
		q := transcript.Request{Chat: k.Chat, After: from, Limit: pageMessages, MinRev: rev}
		if err := c.cfg.Chats.Query(ctx, k.Tenant, transcript.QueryPage, q, &page); err != nil {
			return false, err
		}
		for _, m := range page.Messages {
			s.message(m)
		}
		for _, turn := range page.Turns {
			if turn.Turn == s.told.Turn {
				s.now, whole = turn, turn.First > after
			}
		}
		s.head, s.waiting = page.Head, page.Waiting
		from, next = page.Next, page.Next != 0
	}
	return whole, nil
}

// seen is what a transcript has of a turn.
type seen struct {
	target
	told    Turn
	now     transcript.Turn
	head    transcript.Head
	waiting []transcript.Waiting
	text    strings.Builder
}

// message takes one message.
func (s *seen) message(m transcript.Message) {
	if s.told.Turn == 0 && s.input != "" && m.Input == s.input {
		s.told.Turn = m.Turn
	}
	if m.Turn != s.told.Turn || m.Role != transcript.RoleAssistant {
		return
	}
	for _, p := range m.Parts {
		switch {
		case p.Type == events.PartText:
			if s.text.Len() > 0 {
				s.text.WriteString("\n\n")
			}
			s.text.WriteString(p.Text)
			s.told.Cut = s.told.Cut || p.Truncated
		case p.Type == events.PartCall && p.Call != nil:
			s.call(p)
		}
	}
}

// call notes a call that waits for somebody.
func (s *seen) call(p transcript.Part) {
	w := Wait{Chat: s.told.Chat, Call: p.Call.ID.String(), Tool: p.Name, Arguments: events.CutText(p.Arguments, maxArgumentsBytes)}
	switch p.Call.Status {
	case transcript.CallApproval:
		w.Kind = "approval"
		if p.Call.Approval != nil {
			w.Due = p.Call.Approval.Due.String()
		}
	case transcript.CallAsking:
		w.Kind, w.Arguments = "question", ""
		w.ask(p.Call.Question)
	case transcript.CallClient:
		w.Kind, w.Due = "client", p.Call.Due.String()
	default:
		return
	}
	s.told.Waits = append(s.told.Waits, w)
}

func (w *Wait) ask(q *transcript.Question) {
	if q == nil {
		return
	}
	w.Due = q.Due.String()
	for _, one := range q.Questions {
		asked := Question{ID: one.ID, Text: one.Text}
		for _, o := range one.Options {
			asked.Options = append(asked.Options, o.Label)
		}
		w.Questions = append(w.Questions, asked)
	}
}

// turn is how it stands, all in all.
func (s *seen) turn() Turn {
	t := s.told
	t.Text = events.CutMiddle(s.text.String(), maxTextBytes, func(int) string { return "\n…\n" })
	t.Cut = t.Cut || s.text.Len() > maxTextBytes
	switch s.now.Status {
	case transcript.TurnRunning:
		s.elsewhere(&t)
		t.Status = StatusRunning
		if len(t.Waits) > 0 {
			t.Status = StatusWaiting
		}
		return t
	case transcript.TurnCompleted:
		t.Status = StatusCompleted
	case transcript.TurnFailed:
		t.Status, t.Reason = StatusFailed, string(s.now.Class)+": "+s.now.Message
	case transcript.TurnInterrupted:
		t.Status, t.Reason = StatusInterrupted, s.now.Reason
	default:
		t.Status = s.queued()
	}
	t.Waits = nil // of a turn that has ended nothing does
	return t
}

// elsewhere notes what waits that is no call of this chat's.
func (s *seen) elsewhere(t *Turn) {
	if r := s.head.Reached; r != nil && r.Turn == t.Turn {
		t.Waits = append(t.Waits, Wait{Kind: "budget", Chat: t.Chat})
	}
	for _, child := range s.head.Children {
		for _, a := range child.Awaits {
			w := Wait{Kind: "approval", Chat: a.Chat, Call: a.Call.String(), Tool: a.Tool, Arguments: events.CutText(a.Arguments, maxArgumentsBytes)}
			if a.Status == transcript.CallAsking {
				w.Kind, w.Arguments = "question", ""
				w.ask(a.Question)
			}
			t.Waits = append(t.Waits, w)
		}
	}
}

// queued is how an input stands that no turn has taken.
func (s *seen) queued() Status {
	if s.input == "" && s.told.Turn == 0 {
		return StatusCompleted // a chat in which nothing was said: there is nothing to wait for
	}
	for _, w := range s.waiting {
		if w.Input == s.input {
			return StatusQueued
		}
	}
	if s.told.Turn == 0 {
		return StatusWithdrawn
	}
	return StatusQueued
}
