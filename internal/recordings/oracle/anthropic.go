package oracle

import (
	"encoding/json"
	"slices"
)

// Anthropic reads a stream of the Messages format.
func Anthropic(stream string) Reading {
	var r Reading
	blocks := map[int64]map[string]any{}
	pieces := map[int64]string{}
	usage := map[string]any{}
	var first, last string // reports
	for _, e := range Events(stream) {
		m := object(e.Data)
		switch text(m, "type") {
		case "error":
			r.Failed = true
			return r
		case "message_start": // also in the middle: then all begins anew
			blocks, pieces, r.Stop = map[int64]map[string]any{}, map[int64]string{}, ""
			usage, _ = get(m, "message", "usage").(map[string]any)
			first, last = verbatim(e.Data, "message", "usage"), ""
		case "content_block_start":
			blocks[number(m, "index")], _ = get(m, "content_block").(map[string]any)
		case "content_block_delta":
			for _, key := range []string{"text", "thinking", "partial_json"} {
				pieces[number(m, "index")] += text(m, "delta", key)
			}
		case "message_delta":
			r.Stop = text(m, "delta", "stop_reason")
			if report := verbatim(e.Data, "usage"); report != "" {
				last = report
			}
			for key, value := range asMap(get(m, "usage")) {
				if usage == nil {
					usage = map[string]any{}
				}
				if value != nil {
					usage[key] = value
				}
			}
		case "message_stop":
			r.Whole = true
		}
		if r.Whole {
			break
		}
	}
	r.Usage = Usage{
		Input: number(usage, "input_tokens"), Output: number(usage, "output_tokens"),
		CacheRead: number(usage, "cache_read_input_tokens"), CacheWrite: number(usage, "cache_creation_input_tokens"),
		Thought: number(usage, "output_tokens_details", "thinking_tokens"),
	}
	for _, report := range []string{first, last} {
		if report != "" {
			r.Reports = append(r.Reports, report)
		}
	}
	r.blocks(blocks, pieces)
	return r
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func (r *Reading) blocks(blocks map[int64]map[string]any, pieces map[int64]string) {
	var order []int64
	for index := range blocks {
		order = append(order, index)
	}
	slices.Sort(order)
	for _, index := range order {
		b := blocks[index]
		switch text(b, "type") {
		case "text":
			r.Text += text(b, "text") + pieces[index]
		case "thinking":
			r.Thought += text(b, "thinking") + pieces[index]
		case "tool_use":
			arguments := pieces[index]
			if arguments == "" {
				raw, _ := json.Marshal(get(b, "input"))
				arguments = string(raw)
			}
			r.Calls = append(r.Calls, Call{ID: text(b, "id"), Name: text(b, "name"), Arguments: arguments})
		}
	}
}
