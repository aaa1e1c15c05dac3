package stage

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// Look is the one tool of a [Chat].
const Look = "look"

var look = protocol.Manifest{
	Name: Look, Group: "stage", Description: "looks", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
	ReadOnly: true, Idempotent: true, Policy: events.PolicyAllow,
}

// Chat is a chat whose log is a list of commits in memory. After each of them
// its state is folded anew from their bytes, as after a crash.
type Chat struct {
	model string
	log   [][]byte
	state chat.State
	seq   uint64
}

// NewChat is a chat with a model, in which the user has said something.
func NewChat(t testing.TB, name, said string) *Chat {
	t.Helper()
	c := &Chat{model: name}
	c.command(t, protocol.Create{V: protocol.Version})
	c.Say(t, said)
	return c
}

// Say is something that the user says.
func (c *Chat) Say(t testing.TB, said string) {
	t.Helper()
	c.command(t, protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(said)}})
}

// Prompt is what the model gets to read.
func (c *Chat) Prompt() model.Request {
	r := chat.Prompt(c.state)
	for i := range r.Tools {
		r.Tools[i].Description, r.Tools[i].Schema = look.Description, look.Schema
	}
	return r
}

// Answer ends the open attempt, and gives each call that follows a result.
func (c *Chat) Answer(t testing.TB, a *model.Answer, result string) {
	t.Helper()
	step, attempt, open := c.state.OpenAttempt()
	if !open {
		t.Fatal("no attempt is open")
	}
	schema, err := chat.CompileSchema(look.Schema)
	if err != nil {
		t.Fatal(err)
	}
	list := c.handle(t, chat.AttemptEnded{
		Step: step, Attempt: attempt, Answer: a,
		Schemas: map[events.Digest]*chat.Schema{look.Tool().Manifest: schema},
	})
	for _, e := range list {
		if asked, ok := e.(events.ToolRequested); ok {
			c.handle(t, chat.Result{Result: protocol.Result{
				V: protocol.Version, Call: asked.Call, Status: events.ToolOK, Parts: []events.Part{events.Text(result)},
			}})
		}
	}
}

func (c *Chat) command(t testing.TB, body protocol.Body) {
	t.Helper()
	c.seq++
	c.handle(t, chat.Command{ID: fmt.Sprintf("command-%d", c.seq), Sequence: c.seq, Body: body})
}

// handle lets the chat decide, and folds its whole log again.
func (c *Chat) handle(t testing.TB, m chat.Message) []events.Event {
	t.Helper()
	at := events.At(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC))
	live := chat.Live{Defaults: events.Settings{Model: c.model, System: "be brief"}, Tools: []events.Tool{look.Tool()}}
	decision := chat.Handle(c.state, m, at, live)
	if len(decision.Events) == 0 {
		t.Fatalf("nothing follows from %T", m)
	}
	bytes, err := events.Encode(events.Commit{
		ID: fmt.Sprintf("commit-%d", len(c.log)+1), Key: events.Key{Tenant: "t", Chat: "c"},
		Rev: c.state.Rev() + 1, Prev: c.state.Prev(), At: at, Cause: chat.CauseOf(m), Events: decision.Events,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.log = append(c.log, bytes)
	c.state = chat.State{}
	for _, bytes := range c.log {
		commit, err := events.Decode(bytes)
		if err != nil {
			t.Fatal(err)
		}
		c.state = c.state.Apply(commit, events.Hash(bytes))
	}
	return decision.Events
}
