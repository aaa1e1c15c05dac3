package orchestrator

import (
	"context"
	"errors"
	"fmt"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// judging gives the schema for the arguments that a person made of a call's. One
// that is gone or cannot be used is not among them: the chat says no then. An error
// means that it is away now.
func (o *Orchestrator) judging(ctx context.Context, s chat.State, c chat.Command, p patience) (map[events.Digest]*chat.Schema, error) {
	b, ok := c.Body.(protocol.Approve)
	if !ok || len(b.Args) == 0 {
		return nil, nil //nolint:nilnil // nothing is to be judged
	}
	tool, called := s.ToolOf(b.Call)
	if !called || tool.Client {
		return nil, nil //nolint:nilnil // the chat says what is wrong, and has what its client said of a tool
	}
	if !p.until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, p.until)
		defer cancel()
	}
	m, err := o.manifest(ctx, tool.Manifest)
	if err != nil && !errors.Is(err, protocol.ErrNotFound) && !errors.Is(err, protocol.ErrDamaged) {
		return nil, fmt.Errorf("the manifest of tool %s: %w", tool.Name, err)
	}
	if err != nil {
		o.log.Error("schema not usable", "tool", tool.Name, "manifest", tool.Manifest, "error", err)
		return map[events.Digest]*chat.Schema{}, nil
	}
	schema, err := m.schema()
	if err != nil {
		o.log.Error("schema not usable", "tool", tool.Name, "manifest", tool.Manifest, "error", err)
		return map[events.Digest]*chat.Schema{}, nil
	}
	return map[events.Digest]*chat.Schema{tool.Manifest: schema}, nil
}
