package openai

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// How many chats are looked at in search of the one that a request goes on with.
const (
	maxTwins  = 16 // that began with the same words, the newest first
	maxLeaves = 16 // that a client has left for another answer
)

// inChat takes a request whose client leaves the conversation to the chat.
func (a *asking) inChat(ctx context.Context, chat string, c conversation, key string) (taken, error) {
	if err := a.key(chat).Validate(); err != nil {
		return taken{}, errBad("%v", err)
	}
	last := c.last()
	if len(last.answer) > 0 {
		return a.report(ctx, chat, last)
	}
	head, exists, err := a.head(ctx, chat)
	if err == nil && !exists {
		err = a.create(ctx, chat)
	}
	if err != nil {
		return taken{}, err
	}
	if err := a.reportBefore(ctx, chat, c); err != nil {
		return taken{}, err
	}
	said := wordsOf(last.said)
	if key != "" {
		return a.say(ctx, chat, commandID("key", chat, key), events.ModeQueue, c.system, last.said)
	}
	// The same words may be said twice. They are the same request while the turn that
	// they began is the newest and has not been over for long.
	id := commandID("say", chat, head.Turn-1, said)
	switch reply, known, err := a.outcome(ctx, chat, id); {
	case err != nil:
		return taken{}, err
	case known:
		t, err := a.look(ctx, chat, id)
		if err != nil {
			return taken{}, err
		}
		if !t.found || t.last && (!t.over() || a.isFresh(t)) {
			return a.repeated(ctx, chat, reply, t)
		}
	}
	return a.say(ctx, chat, commandID("say", chat, head.Turn, said), events.ModeQueue, c.system, last.said)
}

// inConversation takes a request whose client has the conversation and sends all of
// it each time. It belongs to the chat in which that was said before.
func (a *asking) inConversation(ctx context.Context, c conversation) (taken, error) {
	last := c.last()
	if len(last.answer) > 0 {
		return a.report(ctx, "", last)
	}
	id := commandID("said", last.identity)
	if len(c.exchanges) == 1 {
		return a.begin(ctx, c, id)
	}
	list, err := a.candidates(ctx, c)
	if err != nil {
		return taken{}, err
	}
	for _, chat := range list {
		if t, ok, err := a.goOn(ctx, chat, c, id); ok || err != nil {
			return t, err
		}
	}
	return a.adopt(ctx, c, id)
}

// candidates are the chats that may have the conversation, the likeliest first.
func (a *asking) candidates(ctx context.Context, c conversation) ([]string, error) {
	list := []string{chatID(c.last().identity, 0)}
	for _, e := range c.exchanges {
		for _, m := range e.results() {
			if chat, _, ok := callOf(m.ToolCallID); ok && a.key(chat).Validate() == nil {
				list = append(list, chat)
			}
		}
	}
	root := c.exchanges[0].identity
	twin, err := a.newestTwin(ctx, root)
	if err != nil {
		return nil, err
	}
	for ; twin >= 0 && len(list) < maxTwins; twin-- {
		list = append(list, chatID(root, twin))
	}
	for i := len(c.exchanges) - 2; i > 0 && len(list) < maxTwins+maxLeaves; i-- {
		list = append(list, chatID(c.exchanges[i].identity, 0))
	}
	return list, nil
}

// goOn takes a request in a chat, if that has the conversation.
func (a *asking) goOn(ctx context.Context, chat string, c conversation, id string) (taken, bool, error) {
	if reply, known, err := a.outcome(ctx, chat, id); known || err != nil {
		if err != nil {
			return taken{}, false, err
		}
		t, err := a.look(ctx, chat, id)
		if err != nil {
			return taken{}, false, err
		}
		has, err := a.repeated(ctx, chat, reply, t)
		return has, true, err
	}
	before := c.before()
	input := commandID("said", before.identity)
	if _, known, err := a.outcome(ctx, chat, input); !known || err != nil {
		return taken{}, false, err
	}
	t, err := a.look(ctx, chat, input)
	if err != nil || !t.found || !strings.HasPrefix(t.text, before.heard()) {
		return taken{}, false, err
	}
	if t.last {
		if err := a.reportBefore(ctx, chat, c); err != nil {
			return taken{}, false, err
		}
		mode := events.ModeReject
		if t.running { // its client went away, and comes back with the next thing to say
			mode = events.ModeQueue
		}
		has, err := a.say(ctx, chat, id, mode, c.system, c.last().said)
		if !refusedWith(err, events.CodeBusy) {
			return has, err == nil, err
		}
	}
	has, err := a.part(ctx, chat, t.turn.Rev, c, id)
	return has, err == nil, err
}

// part goes on in a chat of its own: the one that has the conversation went on with
// something else.
func (a *asking) part(ctx context.Context, from string, rev uint64, c conversation, id string) (taken, error) {
	chat := chatID(c.last().identity, 0)
	fork := protocol.Fork{V: protocol.Version, Chat: from, Rev: rev}
	if _, err := a.command(ctx, chat, commandID("fork", chat, from), fork); err != nil && !refusedWith(err, events.CodeExists) {
		return taken{}, err
	}
	return a.say(ctx, chat, id, events.ModeQueue, c.system, c.last().said)
}

// begin takes the first words of a conversation.
func (a *asking) begin(ctx context.Context, c conversation, id string) (taken, error) {
	root := c.last().identity
	twin, err := a.newestTwin(ctx, root)
	if err != nil {
		return taken{}, err
	}
	if twin < 0 {
		twin = 0
	} else if reply, known, err := a.outcome(ctx, chatID(root, twin), id); err != nil {
		return taken{}, err
	} else if known {
		t, err := a.look(ctx, chatID(root, twin), id)
		if err != nil {
			return taken{}, err
		}
		if !t.over() || a.isFresh(t) {
			return a.repeated(ctx, chatID(root, twin), reply, t)
		}
		twin++ // somebody says the same, later
	}
	chat := chatID(root, twin)
	if err := a.create(ctx, chat); err != nil {
		return taken{}, err
	}
	return a.say(ctx, chat, id, events.ModeQueue, c.system, c.last().said)
}

// newestTwin is the newest of the chats that began with the same words, -1 if there
// is none. They are numbered without gaps, so it is found by halving.
func (a *asking) newestTwin(ctx context.Context, root string) (int, error) {
	var failed error
	exists := func(twin int) bool {
		_, there, err := a.head(ctx, chatID(root, twin))
		if err != nil && !refusedWith(err, events.CodeErased) {
			failed = err
		}
		return there || refusedWith(err, events.CodeErased)
	}
	if !exists(0) {
		return -1, failed
	}
	low, high := 0, 1
	for exists(high) {
		low, high = high, high*2
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; exists(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low, failed
}

// adopt takes a conversation that no chat has: it was held elsewhere, or the client
// has changed it. What was said comes as one text before the input, and says that it
// is one: a log must not tell of turns that there never were.
func (a *asking) adopt(ctx context.Context, c conversation, id string) (taken, error) {
	chat := chatID(c.last().identity, 0)
	if err := a.create(ctx, chat); err != nil {
		return taken{}, err
	}
	var history strings.Builder
	history.WriteString(adoptedHead)
	for _, e := range c.exchanges[:len(c.exchanges)-1] {
		for _, m := range append(e.said, e.answer...) {
			fmt.Fprintf(&history, "\n\n[%s]\n%s", m.Role, m.Content.text())
			for _, call := range m.ToolCalls {
				fmt.Fprintf(&history, "\n[calls %s] %s", call.Function.Name, call.Function.Arguments)
			}
		}
	}
	history.WriteString(adoptedFoot)
	return a.say(ctx, chat, id, events.ModeQueue, c.system, c.last().said, events.Text(history.String()))
}

// What stands around a conversation that was held elsewhere.
const (
	adoptedHead = "This conversation began elsewhere. So far it was:"
	adoptedFoot = "\n\n[end of what was said elsewhere; the newest message follows]\n\n"
)

// report sends the results of the client's tools with which a request ends. Chat is
// the one that the client names, if it does.
func (a *asking) report(ctx context.Context, chat string, last exchange) (taken, error) {
	var results []message
	for _, m := range last.answer {
		if m.Role != roleTool {
			results = nil // they belong to an earlier step
			continue
		}
		results = append(results, m)
	}
	var has taken
	for _, m := range results {
		in, call, ok := callOf(m.ToolCallID)
		if !ok || a.key(in).Validate() != nil || chat != "" && in != chat {
			return has, errBad("tool_call_id: %.80q is no call of this conversation", m.ToolCallID)
		}
		chat = in
		reply, err := a.result(ctx, in, call, m)
		if err != nil {
			return has, err
		}
		reply.Turn = call.Turn
		has = taken{chat: in, reply: reply}
	}
	return has, nil
}

// reportBefore sends the results that come along with something that is said. Most
// of them were sent before, and some are of calls that nobody waits for any more: a
// no to those is final. One that could not be sent must come again.
func (a *asking) reportBefore(ctx context.Context, chat string, c conversation) error {
	before := c.before()
	for _, m := range before.results() {
		in, call, ok := callOf(m.ToolCallID)
		if !ok || in != chat {
			continue
		}
		_, err := a.result(ctx, chat, call, m)
		switch {
		case err == nil:
		case errors.As(err, new(*protocol.RefusedError)) && !refusedWith(err, events.CodeUnavailable):
			a.cfg.Log.DebugContext(ctx, "a result was not taken", "chat", chat, "call", call.String(), "error", err)
		default:
			return err
		}
	}
	return nil
}

// result sends the result of one call.
func (a *asking) result(ctx context.Context, chat string, call events.CallID, m message) (protocol.Reply, error) {
	text := m.Content.text()
	body := protocol.ClientResult{V: protocol.Version, Call: call}
	if text != "" {
		body.Parts = []events.Part{events.Text(text)}
	}
	return a.command(ctx, chat, commandID("result", chat, call.String(), text), body)
}
