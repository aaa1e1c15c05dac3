package chat

import (
	"strconv"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// Message is something a chat has to decide about. The set is closed.
//
//sumtype:decl
type Message interface {
	cause() events.Cause
}

// Command is what a client wants.
type Command struct {
	ID       string
	By       string
	Sequence uint64 // in COMMANDS
	Body     protocol.Body

	// History is what a [protocol.Fork] or [protocol.Import] is about. Its state
	// is the one to decide from while the chat does not exist.
	History *History

	// Unfit says why content that Body names by digest does not do: it was never
	// uploaded, say, or is no image. What is not in it does. See [Attached].
	Unfit map[events.Digest]string

	// Schemas judge the arguments of a [protocol.Approve] that edits them, by manifest
	// digest. That of the call's tool is enough; see [State.ToolOf].
	Schemas map[events.Digest]*Schema

	// Undeliverable means that deciding it failed too often: it is rejected
	// unread. Verb then says what Body cannot.
	Undeliverable bool
	Verb          protocol.Verb
}

// AttemptEnded is what became of asking a model once. Exactly one of Answer,
// Err and Interrupted is set.
type AttemptEnded struct {
	Step    events.StepID
	Attempt int
	Answer  *model.Answer
	Err     *model.Error

	// Interrupted means the worker stopped asking because its turn was
	// interrupted; Partial is what had arrived.
	Interrupted bool
	Partial     []events.Part

	Timing events.Timing

	// Schemas judge the arguments of the turn's tools, by manifest digest. Those
	// of the tools that were called are enough.
	Schemas map[events.Digest]*Schema
}

// AttemptLost says that the work of an attempt was delivered again: whoever had
// it is gone, or will find that its answer comes too late.
type AttemptLost struct {
	Step    events.StepID
	Attempt int

	// Partial is what the feed still has of it, for a turn that is being
	// interrupted.
	Partial []events.Part
}

// Holder is what is known of the process that holds an earlier claim.
type Holder int

// What the holder says.
const (
	HolderNotAsked Holder = iota
	HolderRunning         // it runs the call
	HolderSilent          // it says no, or nobody answered
)

// Claim is a tool runner's question before an effect.
type Claim struct {
	protocol.Claim
	Group  string // whose account it came from; empty if that is not known
	Holder Holder // see [Decision.Ask]
}

// Result is a tool runner's report after it.
type Result struct {
	protocol.Result
	Group string // whose account it came from; empty if that is not known
}

// Ask is a tool runner's wish, in the middle of a call, that a person be asked.
type Ask struct {
	protocol.Ask
	Group string // whose account it came from; empty if that is not known
}

// TimerDue is a timer that came back. That it came means it is due: no clock is
// asked again.
type TimerDue struct {
	Name protocol.TimerName

	// Partial is what the feed still has of the open attempt, for the end timer
	// of a turn whose worker is gone.
	Partial []events.Part
}

// Restored says that the chat comes from a backup, and that what is open in it may
// go on in the installation that the backup was made of.
type Restored struct{}

func (Restored) cause() events.Cause { return events.Cause{Kind: events.CausedByRestore} }

func (c Command) cause() events.Cause {
	return events.Cause{
		Kind: events.CausedByCommand, ID: c.ID, Verb: string(c.verb()), By: c.By, Sequence: c.Sequence,
	}
}

func (c Command) verb() protocol.Verb {
	if c.Body == nil {
		return c.Verb
	}
	return c.Body.Verb()
}

func (a AttemptEnded) cause() events.Cause { return attemptCause(a.Step, a.Attempt) }

func (a AttemptLost) cause() events.Cause { return attemptCause(a.Step, a.Attempt) }

func attemptCause(step events.StepID, attempt int) events.Cause {
	return events.Cause{Kind: events.CausedByAttempt, ID: step.String() + "-" + strconv.Itoa(attempt)}
}

func (c Claim) cause() events.Cause {
	return events.Cause{Kind: events.CausedByClaim, ID: c.Claim.Claim}
}

func (r Result) cause() events.Cause {
	return events.Cause{Kind: events.CausedByResult, ID: r.Call.String()}
}

func (a Ask) cause() events.Cause {
	return events.Cause{Kind: events.CausedByAsk, ID: a.Call.String()}
}

func (t TimerDue) cause() events.Cause {
	return events.Cause{Kind: events.CausedByTimer, ID: t.Name.String()}
}

// CauseOf is the cause that a commit answering m names.
func CauseOf(m Message) events.Cause {
	if m == nil {
		panic("chat: no message")
	}
	return m.cause()
}
