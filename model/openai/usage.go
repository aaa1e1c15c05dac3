package openai

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/everturn/everturn/events"
)

// usage is the last count that the provider sent, as we understand it and word
// for word.
type usage struct {
	last count
	raw  string
}

// count is what providers report. Those that differ from OpenAI do it in the
// names of what came from a cache.
type count struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
	Details    struct {
		Cached  int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	Produced struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHit int64 `json:"prompt_cache_hit_tokens"`
	Cached   int64 `json:"cached_tokens"`
}

// set takes a count, and says whether it was one. One of nothing does not undo
// one of something.
func (u *usage) set(raw json.RawMessage) bool {
	if !is(raw) {
		return false
	}
	var c count
	_ = json.Unmarshal(raw, &c) // what cannot be read counts nothing; it never fails an answer
	if c.Prompt == 0 && c.Completion == 0 {
		return false
	}
	u.last, u.raw = c, string(raw)
	return true
}

func (u usage) reports() []string {
	if u.raw == "" {
		return nil
	}
	return []string{u.raw}
}

func (u usage) ours() events.Usage {
	c := u.last.bounded()
	ours := events.Usage{
		Output:     c.Completion,
		CacheRead:  cmp.Or(c.Details.Cached, c.CacheHit, c.Cached),
		CacheWrite: c.Details.Written,
		Reasoning:  c.Produced.Reasoning,
	}
	ours.Input = max(0, c.Prompt-ours.CacheRead-ours.CacheWrite)
	if ours.Reasoning > 0 && c.Total == c.Prompt+c.Completion+ours.Reasoning {
		ours.Output += ours.Reasoning // some count what was thought apart
	}
	return ours.Bounded()
}

// bounded is c with nothing in it that cannot be true, so that it can be reckoned with.
func (c count) bounded() count {
	for _, n := range []*int64{
		&c.Prompt, &c.Completion, &c.Details.Cached, &c.Details.Written, &c.Produced.Reasoning, &c.CacheHit, &c.Cached,
	} {
		*n = events.Tokens(*n)
	}
	return c
}

// details collects what came along with the model's thoughts, in its order.
type details struct {
	list []json.RawMessage
}

// grown are the keys of a detail whose text comes in pieces.
var grown = []string{"text", "summary", "data"}

// add takes pieces. One that goes on where the last stopped is joined to it, so
// that what is given back is what a request without a stream would have got.
func (d *details) add(pieces []json.RawMessage) {
	for _, piece := range pieces {
		if last := len(d.list) - 1; last >= 0 {
			if joined, ok := join(d.list[last], piece); ok {
				d.list[last] = joined
				continue
			}
		}
		d.list = append(d.list, slices.Clone(piece))
	}
}

func join(a, b json.RawMessage) (json.RawMessage, bool) {
	var x, y map[string]json.RawMessage
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil || x["index"] == nil ||
		string(x["index"]) != string(y["index"]) || string(x["type"]) != string(y["type"]) {
		return nil, false
	}
	for key, value := range y {
		var before, after string
		if slices.Contains(grown, key) && json.Unmarshal(x[key], &before) == nil && json.Unmarshal(value, &after) == nil {
			value, _ = json.Marshal(before + after) // a string always has a JSON form
		}
		if is(value) {
			x[key] = value
		}
	}
	joined, err := json.Marshal(x)
	return joined, err == nil
}
