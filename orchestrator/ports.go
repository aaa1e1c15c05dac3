package orchestrator

import (
	"context"
	"iter"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Bus is everything an orchestrator needs of the outside, port by port. The
// ports are safe for concurrent use. Each has a conformance suite in
// internal/bustest that the real server and the simulation's bus both pass.
type Bus struct {
	Log       Log
	Commands  Commands
	Work      Work
	Timers    Timers
	Requests  Requests
	Signals   Signals
	Feed      Feed
	Blobs     Blobs
	Tools     Tools
	Agents    Agents // nil: there are none
	Skills    Skills // nil: there are none
	Snapshots Snapshots
	Dead      Dead
}

// Log is the append-only log of all chats.
type Log interface {
	// Append tries once to store a commit behind the fence and gives its
	// sequence. [events.ErrConflict] means the last sequence is not the fence,
	// or that another write was under way; [protocol.ErrStorageFull] that nothing can be
	// stored now. After any other error the commit may be stored or not.
	Append(ctx context.Context, a protocol.Append) (uint64, error)

	// Last is the chat's newest commit as the leader has it, never older than
	// the newest acknowledged one. [protocol.ErrNotFound] if the chat has none.
	Last(ctx context.Context, k events.Key) (protocol.Stored, error)

	// Read yields the chat's commits with after < sequence <= through, in order.
	// A reader that asks up to a sequence it knows gets all of them or an error:
	// an end is never taken for a failure.
	Read(ctx context.Context, k events.Key, after, through uint64) iter.Seq2[protocol.Stored, error]

	// Delete removes one commit of an erased chat and overwrites its bytes. One that
	// is gone is no error.
	Delete(ctx context.Context, k events.Key, sequence uint64) error

	// Heads calls head with the newest commit of every chat, ready once when it
	// has given all of them, and then head with each commit as it is stored. It
	// returns when ctx ends, or with an error when it may have missed one:
	// then call it again.
	Heads(ctx context.Context, head func(protocol.Head), ready func()) error
}

// Commands is the queue of what clients want.
type Commands interface {
	// Fetch waits for at least one command and hands over at most limit. It
	// gives ctx's error when that ends.
	Fetch(ctx context.Context, limit int) ([]protocol.Delivery, error)

	// First is the chat's first stored command with a sequence of at least
	// from, by the leader's word, whoever has it in hand; [protocol.ErrNotFound] if none.
	// With [protocol.Any] as the chat it is that of the whole tenant.
	First(ctx context.Context, k events.Key, from uint64) (protocol.Stored, error)

	// Oldest is the first stored command of all chats from that sequence on.
	Oldest(ctx context.Context, from uint64) (protocol.Stored, error)

	// Delete removes a stored command. One that is gone is no error.
	Delete(ctx context.Context, sequence uint64) error

	// Reply tells whoever listens for a command's outcome. That it arrives is
	// not promised.
	Reply(ctx context.Context, tenant string, r protocol.Reply) error
}

// Work is the queue of what is to be done outside.
type Work interface {
	// Put stores the work unless it is stored already; it reports whether this
	// call stored it. Timers go to [Timers].
	Put(ctx context.Context, w protocol.Work) (bool, error)

	// FetchModel waits for at least one attempt of the pool.
	FetchModel(ctx context.Context, pool string, limit int) ([]protocol.Delivery, error)

	// FetchChat waits for at least one word between chats.
	FetchChat(ctx context.Context, limit int) ([]protocol.Delivery, error)

	// Delete removes all attempts and calls of a chat, also what somebody has in
	// hand, and overwrites their bytes. Word between chats holds nothing of theirs.
	Delete(ctx context.Context, k events.Key) error
}

// Timers wakes chats.
type Timers interface {
	// Set schedules the timer, replacing a schedule of the same chat and name. It
	// fires at its due time or up to half a second late, never early, and may
	// fire more than once.
	Set(ctx context.Context, t protocol.Timer) error

	// FetchDue waits for at least one timer that is due.
	FetchDue(ctx context.Context, limit int) ([]protocol.Delivery, error)
}

// Requests are the questions of tool runners, spread over all orchestrators.
type Requests interface {
	// Serve calls the handlers until ctx ends, then waits for those that run.
	// Requests whose reply subject is no inbox are dropped and counted.
	Serve(ctx context.Context, h protocol.Handlers) error
}

// Signals are messages that may be lost: correctness never rests on them.
type Signals interface {
	// Stop tells everyone that something is not wanted any more.
	Stop(ctx context.Context, k events.Key, s protocol.Stop) error

	// Stops calls on for each of them until ctx ends.
	Stops(ctx context.Context, on func(events.Key, protocol.Stop)) error

	// AskRunner asks a runner process whether it still runs a claim. An error
	// means nobody answered in time.
	AskRunner(ctx context.Context, process string, q protocol.RunnerQuestion) (protocol.RunnerAnswer, error)
}

// Feed carries what is worth watching while it happens.
type Feed interface {
	// Delta publishes without waiting for the server.
	Delta(ctx context.Context, k events.Key, d protocol.Delta) error

	// Deltas are those of an attempt that the feed still has, in order.
	Deltas(ctx context.Context, k events.Key, step events.StepID, attempt int) ([]protocol.Delta, error)
}

// Blobs keeps large content by its digest.
type Blobs interface {
	// Put stores content unless it is there.
	Put(ctx context.Context, k events.Key, d events.Digest, content []byte) error

	// Get gives content that hashes to d, or [protocol.ErrNotFound], or an error that
	// wraps [protocol.ErrDamaged] if other bytes are stored.
	Get(ctx context.Context, k events.Key, d events.Digest) ([]byte, error)

	// Of lists all content of a chat, sorted, whether or not anything refers to it.
	Of(ctx context.Context, k events.Key) ([]events.Digest, error)

	// Delete removes content and overwrites its bytes. What is gone is no error.
	Delete(ctx context.Context, k events.Key, d events.Digest) error
}

// Tools is the registry of offered tools. Only people take entries away: a
// runner that is away is no reason to forget what it can do.
type Tools interface {
	// Offer stores the manifest by content and enters it under its group and name.
	Offer(ctx context.Context, e protocol.ToolEntry) error

	// Keep stores a manifest by content and offers nobody the tool.
	Keep(ctx context.Context, m protocol.Manifest) error

	// Manifest gives a manifest by its digest, also one that is offered no more.
	Manifest(ctx context.Context, d events.Digest) (protocol.Manifest, error)

	// Watch calls on with all entries, sorted by name, first and after each
	// change, until ctx ends or it may have missed one: then call it again.
	Watch(ctx context.Context, on func([]protocol.ToolEntry)) error
}

// Agents are the named settings that operators keep.
type Agents interface {
	// Watch calls on with all of them, by tenant and name, first and after each
	// change, until ctx ends or it may have missed one: then call it again. What on
	// gets is not changed any more.
	Watch(ctx context.Context, on func(map[string]map[string]events.Settings)) error
}

// Snapshots is a cache of folded states. Losing it costs time only.
type Snapshots interface {
	// Put stores the chat's snapshot under the version of its form.
	Put(ctx context.Context, k events.Key, version int, content []byte) error
	// Get gives it back, or [protocol.ErrNotFound].
	Get(ctx context.Context, k events.Key, version int) ([]byte, error)
	// Delete removes the chat's snapshots of every version.
	Delete(ctx context.Context, k events.Key) error
}

// Dead keeps commands that nobody could decide.
type Dead interface {
	// Put stores a copy of the message with the reason.
	Put(ctx context.Context, k events.Key, m protocol.Stored, command, why string) error
	// Note durably counts one try to decide a command, and gives the count with it.
	Note(ctx context.Context, k events.Key, command string) (int, error)
	// Forgive takes one note back: the try did its process no harm.
	Forgive(ctx context.Context, k events.Key, command string) error
	// Delete removes everything that is kept of a chat, and overwrites its bytes.
	Delete(ctx context.Context, k events.Key) error
}

// Clock is the process's view of time. The simulation gives each replica its own.
type Clock func() time.Time

// Skills are instructions for particular tasks that operators keep.
type Skills interface {
	// Watch calls on with all of them, by tenant and sorted by name, first and after
	// each change, until ctx ends or it may have missed one: then call it again. What on
	// gets is not changed any more.
	Watch(ctx context.Context, on func(map[string][]events.Skill)) error

	// Text gives a text of a skill by its digest, also of one that is kept no more.
	// The error is [protocol.ErrNotFound], or wraps [protocol.ErrDamaged] if other bytes
	// are stored.
	Text(ctx context.Context, d events.Digest) ([]byte, error)
}
