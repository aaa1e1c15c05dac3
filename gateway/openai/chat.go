package openai

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// What is asked of a transcript at a time, and where it is begun: an exchange is
// mostly among the last messages.
const (
	pageMessages = 100
	tailMessages = 20
)

func (a *asking) key(chat string) events.Key { return events.Key{Tenant: a.tenant, Chat: chat} }

// refusedWith reports whether err is a no with one of the codes.
func refusedWith(err error, codes ...events.Code) bool {
	no, ok := errors.AsType[*protocol.RefusedError](err)
	for _, code := range codes {
		if ok && no.Code == code {
			return true
		}
	}
	return false
}

// head is how a chat stands, false if there is none of that name.
func (a *asking) head(ctx context.Context, chat string) (transcript.Head, bool, error) {
	var head transcript.Head
	err := a.cfg.Chats.Query(ctx, a.tenant, transcript.QueryHead, transcript.HeadRequest{Chat: chat}, &head)
	if refusedWith(err, events.CodeUnknownChat) {
		return head, false, nil
	}
	return head, err == nil, err
}

// outcome is what was decided about a command, false if nothing was yet, or the chat
// is not there.
func (a *asking) outcome(ctx context.Context, chat, id string) (protocol.Reply, bool, error) {
	r, err := a.decided(ctx, chat, id)
	if refusedWith(err, events.CodeUnavailable) {
		// So it is said of what nobody decided, and of a log that cannot be read now. To
		// take this for that would have the conversation begin once more elsewhere.
		if _, _, err := a.head(ctx, chat); err != nil && !refusedWith(err, events.CodeErased) {
			return r, false, err
		}
		r, err = a.decided(ctx, chat, id)
	}
	if refusedWith(err, events.CodeUnknownChat, events.CodeUnavailable, events.CodeErased) {
		return r, false, nil
	}
	return r, err == nil && r.OK, err
}

// decided asks once what was decided about a command.
func (a *asking) decided(ctx context.Context, chat, id string) (r protocol.Reply, err error) {
	err = a.cfg.Chats.Query(ctx, a.tenant, transcript.QueryCommand, transcript.CommandRequest{Chat: chat, ID: id}, &r)
	return r, err
}

// command sends a command. A no on record is a [*protocol.RefusedError], too.
func (a *asking) command(ctx context.Context, chat, id string, body protocol.Body) (protocol.Reply, error) {
	r, err := a.cfg.Chats.Command(ctx, a.key(chat), a.by, id, body)
	if err == nil && !r.OK {
		err = &protocol.RefusedError{Code: r.Code, Detail: r.Message}
	}
	return r, err
}

// create makes a chat; one that is there stays as it is.
func (a *asking) create(ctx context.Context, chat string) error {
	create := protocol.Create{V: protocol.Version}
	create.Settings.Agent = a.agent()
	_, err := a.command(ctx, chat, commandID("create", a.tenant, chat), create)
	if refusedWith(err, events.CodeExists) {
		return nil
	}
	return err
}

// agent is the one that the request asks, empty if it asks none.
func (a *asking) agent() string {
	if _, ok := a.agents[a.q.Model]; ok {
		return a.q.Model
	}
	return ""
}

// say sends what users said as one input.
func (a *asking) say(ctx context.Context, chat, id string, mode events.SendMode, system string, said []message, before ...events.Part) (taken, error) {
	send := protocol.Send{V: protocol.Version, Mode: mode, Parts: before, Settings: a.settings(system)}
	for _, m := range said {
		parts, err := a.parts(ctx, chat, m.Content)
		if err != nil {
			return taken{}, err
		}
		send.Parts = append(send.Parts, parts...)
	}
	if len(send.Parts) == 0 {
		return taken{}, errBad("messages: the last says nothing")
	}
	r, err := a.command(ctx, chat, id, send)
	return taken{chat: chat, reply: r}, err
}

// settings are those of one input.
func (a *asking) settings(system string) *events.Settings {
	s := events.Settings{System: system, ClientTools: a.q.clientTools()}
	if s.Agent = a.agent(); s.Agent != "" && system != "" && a.agents[s.Agent].System != "" {
		s.System = a.agents[s.Agent].System + "\n\n" + system // a client adds to what an agent is told, and takes nothing from it
	}
	if n := max(a.q.MaxTokens, a.q.MaxCompletionTokens); n > 0 {
		s.Limits = &events.Limits{OutputTokens: n}
	}
	return &s
}

// parts is a content as that of an input. Images are uploaded to the chat.
func (a *asking) parts(ctx context.Context, chat string, c content) ([]events.Part, error) {
	var parts []events.Part
	for _, p := range c {
		if p.Image == nil {
			if p.Text != "" {
				parts = append(parts, events.Text(p.Text))
			}
			continue
		}
		at, err := p.Image.attachment()
		if err != nil {
			return nil, err
		}
		d, err := a.cfg.Chats.Upload(ctx, a.key(chat), at.content)
		if err != nil {
			return nil, err
		}
		parts = append(parts, at.part(len(parts)+1, d))
	}
	return parts, nil
}

// told is what the selected branch of a chat says about an input.
type told struct {
	found   bool // it was taken by a turn
	last    bool // nothing was said after it
	text    string
	turn    transcript.Turn // the last that answers it
	running bool            // a turn of the chat is
	newest  int             // turn of the chat
}

// over reports whether the answer is there, or will not come.
func (t told) over() bool {
	return t.found && (t.turn.Status == transcript.TurnCompleted || t.turn.Status == transcript.TurnInterrupted)
}

// look looks for an input on the selected branch of a chat.
func (a *asking) look(ctx context.Context, chat, input string) (told, error) {
	head, _, err := a.head(ctx, chat)
	if err != nil {
		return told{}, err
	}
	t, err := a.lookBehind(ctx, chat, input, max(0, head.MessageCount-tailMessages))
	if err == nil && !t.found && head.MessageCount > tailMessages {
		t, err = a.lookBehind(ctx, chat, input, 0)
	}
	return t, err
}

// lookBehind is look among the messages behind a number.
func (a *asking) lookBehind(ctx context.Context, chat, input string, after int) (told, error) {
	var t told
	var text strings.Builder
	turns := map[int]transcript.Turn{}
	number := 0
	for next := true; next; {
		var page transcript.Page
		q := transcript.Request{Chat: chat, After: after, Limit: pageMessages}
		if err := a.cfg.Chats.Query(ctx, a.tenant, transcript.QueryPage, q, &page); err != nil {
			return t, err
		}
		for _, turn := range page.Turns {
			turns[turn.Turn] = turn
			if t.found && t.last && turn.Turn > number && turn.Cause == events.CauseRetry && turn.Parent == number {
				number = turn.Turn // it has said nothing yet
			}
		}
		for _, m := range page.Messages {
			switch {
			case m.Role == transcript.RoleUser && m.Input == input:
				t.found, t.last, number = true, true, m.Turn
				text.Reset()
			case m.Role == transcript.RoleUser:
				t.last = false
			case t.found && t.last:
				number = m.Turn
				for _, p := range m.Parts {
					if p.Type == events.PartText {
						text.WriteString(p.Text)
					}
				}
				text.WriteByte('\n')
			}
		}
		t.running = page.Status == transcript.StatusRunning || page.Status == transcript.StatusInterrupting
		t.newest = page.Turn
		after, next = page.Next, page.Next != 0
	}
	t.text, t.turn = words(text.String()), turns[number]
	return t, nil
}

// isFresh reports whether the answer is so new that its client may have missed it.
func (a *asking) isFresh(t told) bool {
	return a.again || a.cfg.Clock().Sub(t.turn.Ended.Time()) < a.cfg.RetryWindow
}

// repeated answers once more what was said by an input that the chat has, or shows the
// answer that it has if the request is the same one, sent again.
func (a *asking) repeated(ctx context.Context, chat string, reply protocol.Reply, t told) (taken, error) {
	has := taken{chat: chat, reply: reply}
	turn := reply.Turn
	if t.found {
		turn = t.turn.Turn
		has.reply.Turn = turn
	}
	if turn == 0 || t.turn.Status == transcript.TurnRunning { // it waits for its turn, or has it
		return has, nil
	}
	var r protocol.Reply
	var err error
	switch {
	case t.turn.Status == transcript.TurnFailed:
		r, err = a.command(ctx, chat, commandID("retry", chat, turn), protocol.Retry{V: protocol.Version, Turn: turn})
	case a.again || t.found && a.isFresh(t):
		return has, nil
	case t.running:
		return has, &protocol.RefusedError{Code: events.CodeLimitReached, Detail: "something else goes on in the chat; try again"}
	default:
		r, err = a.command(ctx, chat, commandID("again", chat, turn, t.newest), protocol.Regenerate{V: protocol.Version, Turn: turn})
	}
	return taken{chat: chat, reply: r}, err
}

// wordsOf is messages as data that a command's id is made of.
func wordsOf(list []message) string {
	b, _ := json.Marshal(list) // it came as JSON
	return string(b)
}
