package chatgen

import (
	"slices"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// Call is a part that calls a tool.
func Call(name, arguments string) events.Part {
	return events.Part{Type: events.PartCall, Name: name, Arguments: arguments}
}

// Answer gives the open attempt an answer: one that ends the turn, or one that
// waits for the results of its calls if it has any.
func (c *Chat) Answer(parts ...events.Part) chat.Decision {
	stop := events.StopEnd
	for _, p := range parts {
		if p.Type == events.PartCall {
			stop = events.StopCalls
		}
	}
	return c.AnswerWith(model.Answer{Parts: parts, Stop: stop, Usage: events.Usage{Input: 10, Output: 5}})
}

// AnswerWith gives the open attempt that answer.
func (c *Chat) AnswerWith(a model.Answer) chat.Decision {
	step, attempt, _ := c.State.OpenAttempt()
	return c.Handle(chat.AttemptEnded{Step: step, Attempt: attempt, Answer: &a, Schemas: c.schemas})
}

// Fail ends the open attempt with an error of that class.
func (c *Chat) Fail(class events.ErrorClass) chat.Decision {
	step, attempt, _ := c.State.OpenAttempt()
	return c.Handle(chat.AttemptEnded{Step: step, Attempt: attempt, Err: &model.Error{Class: class, Message: string(class)}})
}

// Lose ends the open attempt by the loss of its worker.
func (c *Chat) Lose() chat.Decision {
	step, attempt, _ := c.State.OpenAttempt()
	return c.Handle(chat.AttemptLost{Step: step, Attempt: attempt})
}

// Claim asks for leave to run a call under a new claim, which it returns.
func (c *Chat) Claim(call events.CallID, delivery uint64) (string, chat.Decision) {
	m := c.claim(call, delivery)
	return m.Claim.Claim, c.Handle(m)
}

// ClaimSilent claims a call whose earlier runner does not answer any more.
func (c *Chat) ClaimSilent(call events.CallID, delivery uint64) chat.Decision {
	m := c.claim(call, delivery)
	m.Holder = chat.HolderSilent
	return c.Handle(m)
}

func (c *Chat) claim(call events.CallID, delivery uint64) chat.Claim {
	id := c.ID()
	return chat.Claim{Claim: protocol.Claim{
		V: protocol.Version, Call: call, Rev: c.State.Rev(), Claim: id, Delivery: delivery, Runner: "runner-" + id,
	}}
}

// Result reports what a call came to.
func (c *Chat) Result(call events.CallID, status events.ToolStatus, text string) chat.Decision {
	return c.Handle(result(call, status, text))
}

func result(call events.CallID, status events.ToolStatus, text string) chat.Result {
	return chat.Result{Result: protocol.Result{
		V: protocol.Version, Call: call, Runner: "runner", Status: status, Parts: []events.Part{events.Text(text)},
	}}
}

// PictureTokens is what each of [Chat.Pictures] takes of a window.
const PictureTokens = 1_000

// Pictures reports that a call was successful and gave that many images: a small
// log with much for a model to read.
func (c *Chat) Pictures(call events.CallID, n int) chat.Decision {
	return c.Handle(c.pictures(call, n))
}

func (c *Chat) pictures(call events.CallID, n int) chat.Result {
	content := []byte{0x89, 'P', 'N', 'G'}
	picture := events.Part{Type: events.PartImage, MediaType: "image/png", Bytes: int64(len(content)), Blob: events.DigestOf(content)}
	c.Blobs[picture.Blob] = content
	m := result(call, events.ToolOK, "")
	m.Parts = slices.Repeat([]events.Part{picture}, n)
	return m
}

// Fire lets the first timer that is owed come due.
func (c *Chat) Fire() chat.Decision {
	for _, w := range chat.Owed(c.State) {
		if t, ok := w.(protocol.Timer); ok {
			return c.Handle(c.due(t))
		}
	}
	return chat.Decision{}
}

// due is the message of a timer, when it is due.
func (c *Chat) due(t protocol.Timer) chat.TimerDue {
	name, err := protocol.ParseTimerName(t.Name)
	if err != nil {
		panic("chatgen: " + err.Error())
	}
	c.now = max(c.now, t.Due)
	return chat.TimerDue{Name: name}
}

// Interrupt stops the turn that runs.
func (c *Chat) Interrupt() { c.Command(protocol.Interrupt{V: protocol.Version}) }

// Erase asks for the end of the chat. Its timers bring it about: see [Chat.Fire].
func (c *Chat) Erase() { c.Command(protocol.Erase{V: protocol.Version}) }

// Rest brings the chat to rest: the model answers whatever it is asked, and
// everything else is left to its timers.
func (c *Chat) Rest() {
	for len(chat.Owed(c.State)) > 0 {
		if _, _, open := c.State.OpenAttempt(); open {
			c.Answer(events.Text("That is all."))
			continue
		}
		c.Fire()
	}
	if _, open := c.State.Running(); open { // it waits for its budget
		c.Interrupt()
		c.Rest()
	}
}

// costOf is the cost of what says so, which is not always known.
func costOf(said string) *int64 {
	if len(said)%2 == 0 {
		return nil
	}
	return new(int64(len(said)))
}
