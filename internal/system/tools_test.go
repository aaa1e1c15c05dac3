package system

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// Schemas of the test tools.
const (
	noParameters = `{"type": "object", "properties": {}, "additionalProperties": false}`
	oneText      = `{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": false}`
)

// effectTimeout is that of the tools with an effect: long enough for whoever has
// such a call after a crash to ask what became of it, before its deadline is near.
const effectTimeout = time.Minute

// run is one execution of a test tool.
type run struct {
	tool      string
	call      events.CallID
	key       string // for idempotency
	arguments string
}

// toolbox notes which of its tools ran.
type toolbox struct {
	mu   sync.Mutex
	runs map[events.Key][]run
	held map[events.Key]chan struct{} // closed when a held call was let go
}

// of gives what ran for a chat, in order.
func (b *toolbox) of(k events.Key) []run {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.runs[k])
}

// letGo is closed when the chat's held call has ended.
func (b *toolbox) letGo(k events.Key) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held == nil {
		b.held = map[events.Key]chan struct{}{}
	}
	if b.held[k] == nil {
		b.held[k] = make(chan struct{})
	}
	return b.held[k]
}

func (b *toolbox) note(tool string, c toolrunner.Call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.runs == nil {
		b.runs = map[events.Key][]run{}
	}
	b.runs[c.Chat] = append(b.runs[c.Chat], run{tool: tool, call: c.ID, key: c.Key, arguments: string(c.Arguments)})
}

// page is as much text as a result may have.
func page(begin string) string {
	return begin + strings.Repeat("p", max(0, events.MaxResultBytes-len(begin)))
}

// all are the tools. What each says is not important, how it is described is.
func (b *toolbox) all() []toolrunner.Tool {
	tool := func(m protocol.Manifest, do func(ctx context.Context, c toolrunner.Call) (string, error)) toolrunner.Tool {
		m.Description = "Meant for tests."
		m.Policy = events.PolicyAllow
		return toolrunner.Func(m, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
			b.note(m.Name, c)
			text, err := do(ctx, c)
			return toolrunner.Output{Text: text}, err
		})
	}
	text := func(_ context.Context, c toolrunner.Call) (string, error) {
		var a struct {
			Text string `json:"text"`
		}
		err := json.Unmarshal(c.Arguments, &a)
		return a.Text, err
	}
	return []toolrunner.Tool{
		// Takes nothing.
		tool(protocol.Manifest{Name: "ping", Schema: json.RawMessage(noParameters), ReadOnly: true, Idempotent: true},
			func(context.Context, toolrunner.Call) (string, error) { return "pong", nil }),
		// Repeats its text.
		tool(protocol.Manifest{Name: "echo", Schema: json.RawMessage(oneText), ReadOnly: true, Idempotent: true}, text),
		// Gives as much to read as a result may have, and begins with its text.
		tool(protocol.Manifest{Name: "page", Schema: json.RawMessage(oneText), ReadOnly: true, Idempotent: true},
			func(ctx context.Context, c toolrunner.Call) (string, error) {
				begin, err := text(ctx, c)
				return page(begin), err
			}),
		// Says nothing at all.
		tool(protocol.Manifest{Name: "mute", Schema: json.RawMessage(noParameters), ReadOnly: true, Idempotent: true},
			func(context.Context, toolrunner.Call) (string, error) { return "", nil }),
		// Gives bytes, written as hexadecimal digits, and shows them while it runs.
		tool(protocol.Manifest{Name: "bytes", Schema: json.RawMessage(oneText), ReadOnly: true, Idempotent: true},
			func(ctx context.Context, c toolrunner.Call) (string, error) {
				digits, err := text(ctx, c)
				if err != nil {
					return "", err
				}
				raw, err := hex.DecodeString(digits)
				c.Progress(string(raw))
				return string(raw), err
			}),
		// Runs until it is told to stop.
		tool(protocol.Manifest{Name: "hold", Schema: json.RawMessage(noParameters), ReadOnly: true, Idempotent: true},
			func(ctx context.Context, c toolrunner.Call) (string, error) {
				defer close(b.letGo(c.Chat))
				<-ctx.Done()
				return "", errors.New("stopped")
			}),
		// Keeps the draft of a turn.
		toolrunner.Func(protocol.Manifest{
			Name: "draft", Description: "Meant for tests.", Schema: json.RawMessage(oneText), ReadOnly: true, Idempotent: true, Policy: events.PolicyAllow,
		}, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
			turn, err := text(ctx, c)
			return toolrunner.Output{Text: "kept", Artifacts: []toolrunner.Artifact{
				{Title: "Draft", Type: "text/markdown", Content: []byte(draftOf(turn))},
			}}, err
		}),
		// Must not run twice.
		tool(protocol.Manifest{Name: "effect", Schema: json.RawMessage(oneText), TimeoutMS: effectTimeout.Milliseconds()}, text),
		// Ask a person, and say what they were answered: one may run again, one must not.
		tool(protocol.Manifest{
			Name: "consult", Schema: json.RawMessage(noParameters), Idempotent: true, TimeoutMS: effectTimeout.Milliseconds(),
		}, consult),
		tool(protocol.Manifest{Name: "consult_once", Schema: json.RawMessage(noParameters), TimeoutMS: effectTimeout.Milliseconds()}, consult),
		// May run again under the same key.
		tool(protocol.Manifest{
			Name: "repeatable", Schema: json.RawMessage(oneText), Idempotent: true, TimeoutMS: effectTimeout.Milliseconds(),
		}, text),
	}
}
