package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/internal/attempt"
	"github.com/everturn/everturn/model/internal/wiretap"
)

// reader makes an answer of the events of a stream.
type reader struct {
	provider, model string

	message message
	blocks  []*open
	usage   usage
	stop    string
	whole   bool
	failure []byte
	broken  string // an event that could not be read
	deltas  []model.Delta
}

func newReader(provider, name string) *reader { return &reader{provider: provider, model: name} }

// open is a block of the answer while it grows.
type open struct {
	index int
	block block
	start json.RawMessage // as it began
	text  strings.Builder // text, thought, or arguments
	sign  strings.Builder
}

// block is what the events say of a block.
type block struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	Input     json.RawMessage `json:"input"`
}

type message struct {
	ID    string          `json:"id"`
	Model string          `json:"model"`
	Usage json.RawMessage `json:"usage"`
}

// frame is an event. Which fields it has follows from Type.
type frame struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message message         `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   struct {
		Type      string  `json:"type"`
		Text      string  `json:"text"`
		Thinking  string  `json:"thinking"`
		Signature string  `json:"signature"`
		JSON      string  `json:"partial_json"`
		Stop      *string `json:"stop_reason"`
	} `json:"delta"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// Event implements [wiretap.Sink].
func (r *reader) Event(name string, data []byte) wiretap.Heard {
	if r.whole || r.failure != nil {
		return wiretap.End // what follows is not part of this answer
	}
	var f frame
	if err := json.Unmarshal(data, &f); err != nil && f.Type == "" {
		if name == "error" {
			return r.fail(data)
		}
		if name != "ping" {
			r.broken = "an event is no JSON"
		}
		return wiretap.Nothing
	}
	switch {
	case name == "error" || f.Type == "error" || len(f.Error) > 0 && !bytes.Equal(f.Error, []byte("null")):
		return r.fail(data)
	case f.Type == "message_start":
		r.begin(f.Message)
	case f.Type == "content_block_start":
		r.start(f)
	case f.Type == "content_block_delta":
		r.grow(f)
	case f.Type == "message_delta":
		r.usage.add(f.Usage)
		if f.Delta.Stop != nil {
			r.stop = *f.Delta.Stop
		}
	case f.Type == "message_stop":
		r.whole = true
		return wiretap.End
	case f.Type == "content_block_stop":
	default: // a keep-alive, or something new
		return wiretap.Nothing
	}
	return wiretap.Content
}

func (r *reader) fail(data []byte) wiretap.Heard {
	r.failure = bytes.Clone(data)
	if len(r.failure) == 0 {
		r.failure = []byte("{}")
	}
	return wiretap.End
}

// begin starts the message; one that begins anew takes nothing over.
func (r *reader) begin(m message) {
	r.message, r.blocks, r.stop, r.broken = m, nil, "", ""
	r.usage.begin(m.Usage)
}

func (r *reader) start(f frame) {
	b := &open{index: f.Index, start: bytes.Clone(f.Block)}
	if json.Unmarshal(f.Block, &b.block) != nil && b.block.Type == "" {
		r.broken = "a block without a type"
		return
	}
	if r.find(f.Index) != nil {
		r.broken = "a block begins twice"
		return
	}
	r.blocks = append(r.blocks, b)
	b.sign.WriteString(b.block.Signature)
	switch b.block.Type {
	case "text":
		r.add(b, model.DeltaText, b.block.Text)
	case "thinking":
		r.add(b, model.DeltaReasoning, b.block.Thinking)
	}
}

func (r *reader) grow(f frame) {
	b := r.find(f.Index)
	if b == nil {
		r.broken = "a piece of a block that has not begun"
		return
	}
	switch f.Delta.Type {
	case "text_delta":
		r.add(b, model.DeltaText, f.Delta.Text)
	case "thinking_delta":
		r.add(b, model.DeltaReasoning, f.Delta.Thinking)
	case "signature_delta":
		b.sign.WriteString(f.Delta.Signature)
	case "input_json_delta":
		r.add(b, model.DeltaCall, f.Delta.JSON)
	}
}

// add grows a block. Only what becomes a part of ours is shown on its way.
func (r *reader) add(b *open, kind model.DeltaKind, text string) {
	if text == "" {
		return
	}
	b.text.WriteString(text)
	if kind == model.DeltaCall && b.block.Type != "tool_use" {
		return
	}
	for i := range r.blocks {
		if r.blocks[i] == b {
			r.deltas = append(r.deltas, model.Delta{Kind: kind, Part: i, Text: text})
		}
	}
}

func (r *reader) find(index int) *open {
	for _, b := range r.blocks {
		if b.index == index {
			return b
		}
	}
	return nil
}

// Take implements [attempt.Reader].
func (r *reader) Take() []model.Delta {
	deltas := r.deltas
	r.deltas = nil
	return deltas
}

// Failure implements [attempt.Reader].
func (r *reader) Failure() []byte { return r.failure }

// Whole implements [attempt.Reader].
func (r *reader) Whole() bool { return r.whole }

// Doubt implements [attempt.Reader].
func (r *reader) Doubt(others []attempt.Call) string {
	if r.broken != "" {
		return r.broken
	}
	var calls []*open
	for _, b := range r.blocks {
		if b.block.Type == "tool_use" {
			calls = append(calls, b)
		}
	}
	if others == nil {
		return ""
	}
	if len(calls) != len(others) {
		return "its calls cannot be told apart"
	}
	for i, b := range calls {
		if b.block.ID != others[i].ID || b.block.Name != others[i].Name || !attempt.SameArguments(b.arguments(), others[i].Arguments) {
			return "its calls can be read in two ways"
		}
	}
	return ""
}

// arguments are what the model wrote. Without a piece of them they stand in the
// block's beginning.
func (b *open) arguments() string {
	if b.text.Len() > 0 || len(b.block.Input) == 0 || string(b.block.Input) == "null" {
		return b.text.String()
	}
	return string(b.block.Input)
}
