package anthropic

import (
	"encoding/json"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// Answer implements [attempt.Reader].
func (r *reader) Answer() model.Answer {
	a := model.Answer{
		RawStop:  r.stop,
		Usage:    r.usage.ours(),
		Provider: events.Provider{ResponseID: r.message.ID, Model: r.message.Model},
		RawUsage: r.usage.reports(),
	}
	calls := 0
	for _, b := range r.blocks {
		p := r.part(b)
		if p.Type == events.PartCall {
			calls++
			p.Ordinal = calls
		}
		a.Parts = append(a.Parts, p)
	}
	a.Stop = stop(r.stop, calls)
	return a
}

func (r *reader) part(b *open) events.Part {
	switch b.block.Type {
	case "text":
		return events.Text(b.text.String())
	case "tool_use":
		return events.Part{
			Type: events.PartCall, Name: b.block.Name, Arguments: b.arguments(), ProviderID: b.block.ID,
		}
	case "thinking":
		return r.own(events.PartReasoning, b.text.String(), thought{Signature: b.sign.String()})
	case "redacted_thinking":
		return r.own(events.PartReasoning, "", thought{Redacted: b.block.Data})
	case "server_tool_use", "mcp_tool_use":
		return r.own(events.PartProviderCall, "", b.withInput())
	}
	return r.own(events.PartProviderResult, "", b.start)
}

// own is content that only the model it came from is given back.
func (r *reader) own(kind events.PartType, text string, opaque any) events.Part {
	p := events.Part{Type: kind, Text: text, Provider: r.provider, Model: r.model}
	if opaque == (thought{}) {
		return p
	}
	raw, err := json.Marshal(opaque)
	if err == nil { // else it was no JSON and is of no use to anybody
		p.Opaque = raw
	}
	return p
}

// withInput is a block as it began, with the arguments that came after.
func (b *open) withInput() json.RawMessage {
	var fields map[string]json.RawMessage
	if b.text.Len() == 0 || !json.Valid([]byte(b.text.String())) || json.Unmarshal(b.start, &fields) != nil {
		return b.start
	}
	fields["input"] = json.RawMessage(b.text.String())
	raw, err := json.Marshal(fields)
	if err != nil {
		return b.start
	}
	return raw
}

// stop is the reason to stop, in our words.
func stop(raw string, calls int) events.Stop {
	switch raw {
	case "max_tokens", "model_context_window_exceeded":
		return events.StopLength
	case "refusal":
		return events.StopRefused
	case "pause_turn":
		return events.StopPaused
	}
	if calls > 0 {
		return events.StopCalls
	}
	return events.StopEnd
}

// usage is what the provider has counted so far. Each report replaces what it
// names of the one before. The first, which comes with the beginning, names things
// that no later one does.
type usage struct {
	counted       counted
	first, newest string // word for word
}

// counted is what we understand of a report.
type counted struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	Details    struct {
		Thinking int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// begin takes the report that comes with the beginning of a message.
func (u *usage) begin(raw json.RawMessage) {
	*u = usage{}
	u.first = u.count(raw)
}

// add takes a later report.
func (u *usage) add(raw json.RawMessage) {
	if report := u.count(raw); report != "" {
		u.newest = report
	}
}

// count gives a report word for word, "" if it is none.
func (u *usage) count(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	next := u.counted
	_ = json.Unmarshal(raw, &next) // what cannot be read is left as it was; a count never fails an answer
	u.counted = next
	return string(raw)
}

func (u usage) reports() []string {
	return slices.DeleteFunc([]string{u.first, u.newest}, func(s string) bool { return s == "" })
}

func (u usage) ours() events.Usage {
	c := u.counted
	return events.Usage{
		Input: c.Input, Output: c.Output, CacheRead: c.CacheRead, CacheWrite: c.CacheWrite, Reasoning: c.Details.Thinking,
	}.Bounded()
}
