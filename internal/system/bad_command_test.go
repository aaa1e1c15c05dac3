package system

import (
	"errors"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// answered wants a no without a trace in the log.
func (c *chat) answered(verb string, header nats.Header, body string, code events.Code, words ...string) {
	c.Helper()
	before := len(c.read().commits)
	id, outcome := c.raw(verb, header, []byte(body))
	r := outcome()
	if r.OK || r.Code != code || r.ID != id {
		c.Errorf("reply %+v, want code %s for %s", r, code, id)
	}
	says(c.T, "message", r.Message, words...)
	if after := len(c.read().commits); after != before {
		c.Errorf("%d commits were written, want none", after-before)
	}
}

// badCommands are commands that nobody can decide.
func badCommands() []badInput {
	return []badInput{
		{name: "a command that is no JSON", bring: func(c *chat) {
			c.answered("send", nil, `{"v":1,"parts":`, events.CodeBadCommand, "body:", "unexpected end of JSON")
			c.answered("send", nil, `hello`, events.CodeBadCommand, "body:", "invalid character")
			c.answered("send", nil, ``, events.CodeBadCommand, "body:")
			c.answered("rename", nil, `{"v":1,"title":"a"}{"v":1}`, events.CodeBadCommand, "after top-level value")
		}},
		{name: "a command with an unknown field", bring: func(c *chat) {
			c.answered("rename", nil, `{"v":1,"title":"a","colour":"red"}`, events.CodeBadCommand, `unknown field "colour"`)
		}},
		{name: "a command of another version", bring: func(c *chat) {
			c.answered("rename", nil, `{"v":2,"title":"a"}`, events.CodeBadCommand, `want "v":1`)
			c.answered("rename", nil, `{"title":"a"}`, events.CodeBadCommand, `want "v":1`)
		}},
		{name: "an unknown verb", bring: func(c *chat) {
			c.answered("explode", nil, `{"v":1}`, events.CodeUnknownVerb, `"explode"`)
		}},
		{name: "a bad tenant token", bring: func(c *chat) {
			_, err := client.New(c.s.nc, "Ünfit", "").Command(patient(c.T), c.key.Chat, send("hi"))
			if err == nil {
				c.Fatal("the client took it")
			}
			says(c.T, "error", err.Error(), "tenant", "want 1 to 64 of a-z")
			// Without the client: it is taken, and goes away without an effect.
			c.rawTo("everturn.cmd.UPPER."+c.key.Chat+".send", "default", client.NewID(), nil, []byte(`{"v":1}`))
		}},
		{name: "a bad chat token", bring: func(c *chat) {
			_, err := c.c.Command(patient(c.T), "a chat", send("hi"))
			if err == nil {
				c.Fatal("the client took it")
			}
			says(c.T, "error", err.Error(), "chat", "want 1 to 64 of A-Z")
			// Without the client: whom to answer is known all the same.
			r := c.rawTo("everturn.cmd.default.a$chat.send", "default", client.NewID(), nil, []byte(`{"v":1}`))()
			if r.Code != events.CodeBadCommand {
				c.Errorf("reply %+v", r)
			}
			says(c.T, "message", r.Message, `chat "a$chat"`)
		}},
		{name: "a command that is too large", bring: func(c *chat) {
			const serverLimit = 1 << 20
			for _, bytes := range []int{protocol.MaxCommandBytes, serverLimit} {
				if r := c.refused(send(strings.Repeat("a", bytes))); r.Code != events.CodeTooLarge {
					c.Errorf("%d bytes: reply %+v", bytes, r)
				}
			}
			if r := c.refused(protocol.Rename{V: protocol.Version, Title: strings.Repeat("a", 201)}); r.Code != events.CodeBadCommand {
				c.Errorf("a long title: reply %+v", r)
			}
		}},
		{name: "a command for a chat that does not exist", bring: func(c *chat) {
			_, err := c.c.Command(patient(c.T), client.NewID(), send("hi"))
			if no, ok := errors.AsType[*client.RejectedError](err); !ok || no.Code != events.CodeUnknownChat {
				c.Errorf("error %v", err)
			}
		}},
		{name: "a command with headers that only the server writes", bring: func(c *chat) {
			// The server puts its own behind them when it gives a stored message back.
			forged := nats.Header{
				"Nats-Stream": {"LOG_0"}, "Nats-Subject": {"everturn.cmd.other.victim.send"}, "Nats-Sequence": {"1"},
				"Nats-Last-Sequence": {"0"}, "Nats-Time-Stamp": {"2020-01-01T00:00:00Z"}, "Status": {"404"},
			}
			_, outcome := c.raw("rename", forged, []byte(`{"v":1,"title":"mine"}`))
			if r := outcome(); !r.OK {
				c.Errorf("reply %+v", r)
			}
			if titled := all[events.ChatTitled](c.read()); len(titled) == 0 || titled[len(titled)-1].Title != "mine" {
				c.Errorf("the chat's titles are %+v, want the one of the command", titled)
			}
		}},
		{name: "settings with a value that cannot be", bring: func(c *chat) {
			r := c.refused(protocol.Configure{V: protocol.Version, Settings: events.Settings{Approval: "perhaps"}})
			if r.Code != events.CodeInvalidSettings {
				c.Errorf("reply %+v", r)
			}
		}},
	}
}
