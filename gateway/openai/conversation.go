package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/everturn/everturn/events"
)

// exchange is what a client said, and all that it was answered.
type exchange struct {
	said     []message // of users
	answer   []message // of the assistant and of tools; none in the last exchange of most requests
	identity string    // of all messages up to here and of whom they are for, the answer not among them
}

// conversation is a request's messages, taken apart.
type conversation struct {
	system    string // what the model is told before everything else
	exchanges []exchange
}

// converse takes the messages of a request apart. It is that person's, or that service's.
func converse(tenant, by string, q request) (conversation, error) {
	var c conversation
	var system []string
	sum := sha256.New()
	note := func(v any) { // a hash takes everything, and these are no values that JSON cannot say
		b, _ := json.Marshal(v)
		sum.Write(append(b, '\n'))
	}
	note([]any{"everturn openai 1", tenant, by, q.Model, q.User, q.Seed})
	for i, m := range q.Messages {
		switch m.Role {
		case roleSystem, roleDeveloper:
			m.Role = roleSystem
			if text := m.Content.text(); text != "" {
				system = append(system, text)
			}
		case roleUser:
			if n := len(c.exchanges); n == 0 || len(c.exchanges[n-1].answer) > 0 {
				c.exchanges = append(c.exchanges, exchange{})
			}
			e := &c.exchanges[len(c.exchanges)-1]
			e.said = append(e.said, m)
		default:
			if len(c.exchanges) == 0 {
				c.exchanges = append(c.exchanges, exchange{})
			}
			e := &c.exchanges[len(c.exchanges)-1]
			if len(e.answer) == 0 {
				e.identity = hex.EncodeToString(sum.Sum(nil))
			}
			e.answer = append(e.answer, m)
			if m.Role == roleTool && m.ToolCallID == "" {
				return c, errBad("messages[%d].tool_call_id: there is none", i)
			}
		}
		note(m)
	}
	c.system = strings.Join(system, "\n\n")
	if len(c.exchanges) == 0 {
		return c, errBad("messages: none is of the role user")
	}
	last := &c.exchanges[len(c.exchanges)-1]
	if len(last.answer) == 0 {
		last.identity = hex.EncodeToString(sum.Sum(nil))
	} else if last.answer[len(last.answer)-1].Role != roleTool {
		return c, errBad("messages: the last must be of the role user or tool; an answer is not gone on with")
	}
	return c, nil
}

// last is the exchange that is to be answered.
func (c conversation) last() exchange { return c.exchanges[len(c.exchanges)-1] }

// before is the exchange before the last; the zero exchange if there is none.
func (c conversation) before() exchange {
	if len(c.exchanges) < 2 {
		return exchange{}
	}
	return c.exchanges[len(c.exchanges)-2]
}

// heard is what the client has of the answer: the words alone.
func (e exchange) heard() string {
	var all strings.Builder
	for _, m := range e.answer {
		if m.Role == roleAssistant {
			all.WriteString(withoutNotices(m.Content.text()))
			all.WriteByte('\n')
		}
	}
	return words(all.String())
}

// words is s without white space: clients trim answers, and put parts together.
func words(s string) string { return strings.Join(strings.Fields(s), "") }

// results are the results of the client's tools in e, the newest last.
func (e exchange) results() []message {
	var list []message
	for _, m := range e.answer {
		if m.Role == roleTool {
			list = append(list, m)
		}
	}
	return list
}

// commandID derives the id of a command from what makes it the one it is, so that it
// is the same command whenever it is sent.
func commandID(of ...any) string {
	b, _ := json.Marshal(of) // texts and numbers only
	sum := sha256.Sum256(append([]byte("everturn openai command\n"), b...))
	var id ulid.ULID
	copy(id[:], sum[:])
	return id.String()
}

// chatID names the chat of a conversation that a client keeps itself. Twin tells
// conversations apart that began with the same words.
func chatID(identity string, twin int) string {
	if twin == 0 {
		return fmt.Sprintf("openai-%s", identity[:chatHashChars])
	}
	return fmt.Sprintf("openai-%s-%d", identity[:chatHashChars], twin+1)
}

// chatHashChars is how much of a hash a chat's name has: 128 bits.
const chatHashChars = 32

const callPrefix = "call_"

// callName is the name under which a client gets a call: with it a result finds its
// chat.
func callName(chat string, call events.CallID) string { return callPrefix + chat + "_" + call.Token() }

// callOf reads the name of a call.
func callOf(name string) (chat string, call events.CallID, ok bool) {
	name, ok = strings.CutPrefix(name, callPrefix)
	at := strings.LastIndexByte(name, '_')
	if !ok || at < 0 {
		return "", call, false
	}
	call, err := events.ParseCallID(name[at+1:], "-")
	return name[:at], call, err == nil
}
