package watch

import (
	"encoding/json"
	"errors"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// Kind says what an event is.
type Kind string

// The kinds of event.
const (
	KindSnapshot Kind = "snapshot" // a page of the transcript; more follow while it has a next
	KindCommit   Kind = "commit"
	KindDelta    Kind = "delta"
	KindProgress Kind = "progress"
	KindReset    Kind = "reset" // forget everything; a snapshot follows
)

// Event is one thing that a watcher is given. What it points to is shared with
// other watchers and must not be changed.
type Event struct {
	Kind Kind

	// Rev is the cursor from this event on: that of a commit, and of the last page of
	// a snapshot. Any other event has 0 and moves no cursor.
	Rev uint64

	// Data is the event as JSON: of a commit the bytes that are stored, of a delta and
	// progress those that were sent.
	Data json.RawMessage

	Snapshot *transcript.Page
	Commit   *events.Commit // nil if a newer release wrote it: then there is only Data
	Delta    *protocol.Delta
	Progress *protocol.Progress
	Reset    *Reset
}

// Why says why a watcher begins anew.
type Why string

// The reasons to begin anew.
const (
	WhyUnknown  Why = "unknown"  // the cursor is none of this chat's
	WhyAhead    Why = "ahead"    // the cursor is beyond the chat's newest commit
	WhyReplaced Why = "replaced" // the log was replaced by another one, as after a restore from a backup
)

// Reset says that what a watcher was given before does not count any more.
type Reset struct {
	Why    Why    `json:"why"`
	Detail string `json:"detail"` // for people
}

// What ends a watcher. A chat that is erased ends it with a [*protocol.RefusedError].
var (
	// ErrLagged means that the watcher has taken events too slowly. It comes back
	// with its cursor.
	ErrLagged = errors.New("fell too far behind; come back with the newest rev that was seen")

	// ErrStopped means that the hub has ended or has not begun. Another process may
	// be asked.
	ErrStopped = errors.New("nothing can be watched here any more; connect again")

	// ErrClosed means that the watcher was closed.
	ErrClosed = errors.New("the watcher is closed")

	// ErrUnanswered means that the log could not be read for a while. The watcher comes
	// back with its cursor.
	ErrUnanswered = errors.New("nobody has said for a while what was missed; come back with the newest rev that was seen")

	// ErrFull means that there are as many watchers as this process takes.
	ErrFull = errors.New("too many watchers here; try again later")
)
