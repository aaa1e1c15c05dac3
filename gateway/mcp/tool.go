package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everturn/everturn/gateway/identity"
)

const instructions = `Chats that outlive every process. send says something and gives the answer. An answer with status "waiting" needs a person: show what it waits for, and pass on what they decide with approve, deny or answer. One with status "running" or "queued" goes on by itself: call wait.`

// server has the tools, on somebody's behalf. When ctx ends nobody waits any more for
// what they say: the library keeps calls going beyond the request that brought them.
func (d *Door) server(ctx context.Context, i identity.Identity) *sdk.Server {
	s := sdk.NewServer(
		&sdk.Implementation{Name: "everturn", Title: "Everturn", Version: d.cfg.Version},
		&sdk.ServerOptions{Instructions: instructions, Logger: d.cfg.Log, SchemaCache: d.schemas, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}},
	)
	c := caller{Door: d, Identity: i}
	add(ctx, s, c, "send", "Say something in a chat, or in a new one, and wait for the answer.", writes, c.send)
	add(ctx, s, c, "wait", "Wait for the end of a turn, or until it waits for a person.", reads, c.wait)
	add(ctx, s, c, "list_chats", "List chats, the one that changed last first.", reads, c.list)
	add(ctx, s, c, "search_chats", "Find where something was said.", reads, c.search)
	add(ctx, s, c, "read_transcript", "Read a chat, a page at a time, from the beginning or after a message.", reads, c.read)
	add(ctx, s, c, "interrupt", "Stop a turn.", writes, c.interrupt)
	add(ctx, s, c, "approve", "Let a call run that waits for approval. Only if a person has said so.", writes, c.approve)
	add(ctx, s, c, "deny", "Deny a call that waits for approval, and tell the model why.", writes, c.deny)
	add(ctx, s, c, "answer", "Answer what the assistant asks a person.", writes, c.answer)
	return s
}

// What tools say of themselves.
var (
	reads  = sdk.ToolAnnotations{ReadOnlyHint: true}
	writes = sdk.ToolAnnotations{DestructiveHint: new(true)}
)

// caller is on whose behalf tools are called.
type caller struct {
	*Door
	identity.Identity
}

// call is one call of a tool, as the protocol has it.
type call = *sdk.CallToolRequest

// add offers a tool, whose calls end when until does.
func add[In, Out any](
	until context.Context, s *sdk.Server, c caller, name, description string, hints sdk.ToolAnnotations, do func(context.Context, call, In) (Out, error),
) {
	hints.OpenWorldHint = new(true)
	sdk.AddTool(s, &sdk.Tool{Name: name, Description: description, Annotations: &hints},
		func(ctx context.Context, r call, in In) (*sdk.CallToolResult, Out, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(until, cancel)()
			out, err := do(ctx, r, in)
			if err != nil {
				err = c.problemOf(ctx, err)
			}
			return nil, out, err
		})
}
