package oracle

import "slices"

// Chat reads a stream of the Chat Completions format.
func Chat(stream string) Reading {
	var r Reading
	type key struct {
		index int64
		id    string
	}
	calls := map[key]*Call{}
	latest := map[int64]key{}
	var order []key
	for _, e := range Events(stream) {
		if e.Data == "[DONE]" {
			r.Whole = true
			break
		}
		m := object(e.Data)
		if failure := get(m, "error"); failure != nil {
			r.Failed = true
			return r
		}
		for _, place := range [][]string{{"x_groq", "usage"}, {"usage"}} { // Groq has a place of its own
			if u := get(m, place...); u != nil && r.count(u) {
				r.Reports = []string{verbatim(e.Data, place...)}
			}
		}
		for _, choice := range list(m, "choices") {
			if number(choice, "index") != 0 {
				continue
			}
			r.speech(get(choice, "delta"))
			for _, piece := range list(choice, "delta", "tool_calls") {
				index := number(piece, "index")
				at, known := latest[index]
				if id := text(piece, "id"); !known || id != "" && id != at.id {
					at = key{index, id}
					latest[index] = at
					calls[at] = &Call{ID: id}
					order = append(order, at)
				}
				calls[at].Name += text(piece, "function", "name")
				calls[at].Arguments += text(piece, "function", "arguments")
			}
			if stop := text(choice, "finish_reason"); stop != "" {
				r.Stop, r.Whole = stop, true
			}
		}
	}
	slices.SortStableFunc(order, func(a, b key) int { return int(a.index - b.index) })
	for _, at := range order {
		r.Calls = append(r.Calls, *calls[at])
	}
	return r
}

// speech takes what was said and thought.
func (r *Reading) speech(delta any) {
	switch content := get(delta, "content").(type) {
	case string:
		r.Text += content
	case []any:
		for _, piece := range content {
			r.Text += text(piece, "text")
			for _, inner := range list(piece, "thinking") {
				r.Thought += text(inner, "text")
			}
		}
	}
	r.Text += text(delta, "refusal")
	if thought := text(delta, "reasoning_content"); thought != "" {
		r.Thought += thought
	} else {
		r.Thought += text(delta, "reasoning")
	}
}

// count takes a report of tokens. It is none if it reports nothing.
func (r *Reading) count(u any) bool {
	prompt, completion := number(u, "prompt_tokens"), number(u, "completion_tokens")
	if prompt+completion == 0 {
		return false
	}
	n := Usage{
		Output:     completion,
		CacheRead:  number(u, "prompt_tokens_details", "cached_tokens"),
		CacheWrite: number(u, "prompt_tokens_details", "cache_write_tokens"),
		Thought:    number(u, "completion_tokens_details", "reasoning_tokens"),
	}
	if n.CacheRead == 0 {
		n.CacheRead = number(u, "prompt_cache_hit_tokens")
	}
	n.Input = prompt - n.CacheRead - n.CacheWrite
	if n.Thought > 0 && prompt+completion+n.Thought == number(u, "total_tokens") {
		n.Output += n.Thought
	}
	r.Usage = n
	return true
}
