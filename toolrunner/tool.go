package toolrunner

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Tool is something a model may call. Implementations are safe for concurrent
// use: calls of many chats run at once.
type Tool interface {
	// Manifest describes the tool. It gives the same answer each time; its
	// group may be empty, which means the runner's.
	Manifest() protocol.Manifest

	// Run executes one call. The arguments are an object that is valid for the
	// manifest's schema.
	//
	// When ctx ends the call has run into its timeout, is not wanted any more or
	// the process stops; [context.Cause] says which. Run should then return
	// within a second or two. One that does not is left behind, and its call
	// ends as "outcome unknown".
	//
	// An error becomes an error result with its text, which the model reads. So
	// it should say what the model can do better, and hold no secret. One that
	// wraps [ErrOutcomeUnknown] says that nobody can tell what has happened.
	Run(ctx context.Context, c Call) (Output, error)
}

// ErrOutcomeUnknown means that a call was begun, and that its tool cannot tell whether
// it had its effect: whom it had asked is gone, for example. Unless the tool only reads,
// the call ends as unknown, and not as an error: who reads that something has failed
// calls again, and that is another call with another key. Tools wrap it.
var ErrOutcomeUnknown = errors.New("outcome unknown")

// Call is one call of a tool.
type Call struct {
	Chat      events.Key
	ID        events.CallID // unique within the chat
	Arguments json.RawMessage

	// Key is the same whenever this call runs again, and no other call has it.
	// A tool that hands it on to a service which knows such keys is idempotent.
	Key string

	// Permissions were granted to this call by whoever approved it, if anybody did.
	Permissions events.Permissions

	// Progress shows text to whoever watches, if anybody does. It never blocks
	// for long and may drop what comes too fast. It is never nil.
	Progress func(text string)

	// Ask asks a person and waits for the answers; see [Asking]. It is never nil.
	Ask Asking
}

// Output is what a call came to.
type Output struct {
	// Text may be any bytes. What the model reads of it is repaired and cut to
	// [events.MaxResultBytes]; the whole is then stored as it is.
	Text string

	// Shown is how many bytes of Text the model reads at most, if that should be
	// fewer. Zero means as many as there may be.
	Shown int

	// Parts are images, files, links and data, at most [MaxParts]. The model gets to
	// see them behind the text, also if the call fails; what they hold is stored before
	// the result is reported.
	Parts []Part

	// Artifacts are kept for people, if the call succeeds: they are stored before the
	// result is reported.
	Artifacts []Artifact

	// IsError says that the tool failed in a way the model should know of.
	// Returning an error does the same.
	IsError bool
}

// Func makes a tool of a function.
func Func(m protocol.Manifest, run func(ctx context.Context, c Call) (Output, error)) Tool {
	return function{manifest: m, run: run}
}

type function struct {
	manifest protocol.Manifest
	run      func(ctx context.Context, c Call) (Output, error)
}

func (f function) Manifest() protocol.Manifest { return f.manifest }

func (f function) Run(ctx context.Context, c Call) (Output, error) { return f.run(ctx, c) }

// Names are the names of tools.
func Names(list []Tool) []string {
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.Manifest().Name
	}
	return names
}
