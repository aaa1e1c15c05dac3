package replay

import (
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// clientResults are what a client may have sent. What was wrong with the content
// only the log can tell.
func (h *History) clientResults(c events.Commit, of func(...protocol.Body) []guess) ([]guess, bool) {
	const v = protocol.Version
	for _, e := range c.Events {
		if e, ok := e.(events.ToolCompleted); ok {
			parts, ok := h.whole(c.Key, e)
			return of(protocol.ClientResult{V: v, Call: e.Call, Parts: parts, IsError: e.Status == events.ToolError}), ok
		}
		if e, ok := e.(events.CommandRejected); ok {
			if call, named := firstCall(e.Message); named && e.Code != events.CodeBadCommand {
				return of(protocol.ClientResult{V: v, Call: call}), true
			}
		}
	}
	return nil, false
}

// whole is what was sent of a result, of which the log may have less. False means that
// it cannot be had.
func (h *History) whole(k events.Key, e events.ToolCompleted) ([]events.Part, bool) {
	if e.Blob == "" {
		return e.Parts, true
	}
	if h.options.Blob == nil {
		return nil, false
	}
	content, err := h.options.Blob(k, e.Blob)
	return []events.Part{events.Text(string(content))}, err == nil
}
