package replay

import (
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// clientResults are what a client may have sent. What was wrong with the content
// only the log can tell.
func clientResults(c events.Commit, of func(...protocol.Body) []guess) ([]guess, bool) {
	const v = protocol.Version
	for _, e := range c.Events {
		if e, ok := e.(events.ToolCompleted); ok {
			return of(protocol.ClientResult{V: v, Call: e.Call, Parts: e.Parts, IsError: e.Status == events.ToolError}), true
		}
		if e, ok := e.(events.CommandRejected); ok {
			if call, named := firstCall(e.Message); named && e.Code != events.CodeBadCommand {
				return of(protocol.ClientResult{V: v, Call: call}), true
			}
		}
	}
	return nil, false
}
