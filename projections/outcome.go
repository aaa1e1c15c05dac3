package projections

import (
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// outcome keeps what the commit decided about the command that caused it. The
// first decision stands.
func (f *fold) outcome(c events.Commit) {
	if c.Cause.Kind != events.CausedByCommand {
		return
	}
	if _, known := f.outcomes[c.Cause.ID]; known {
		return
	}
	f.outcomes[c.Cause.ID] = protocol.ReplyOf(c, f.head.Turn)
}
