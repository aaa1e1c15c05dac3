package protocol

import (
	"time"

	"github.com/everturn/everturn/events"
)

// Append is one try to store a commit.
type Append struct {
	Key   events.Key
	Fence uint64 // sequence of the chat's last commit in its stream; 0 if it has none
	Body  []byte // the commit as [events.Encode] made it
	Types string // for HeaderTypes
	Owes  string // for HeaderOwes
	Trace string // for HeaderTraceparent; may be empty
}

// Head is the newest commit of a chat, without its body.
type Head struct {
	Key      events.Key
	Sequence uint64
	Stored   time.Time
	Owes     string // of HeaderOwes: empty if the chat waits for people only
}
