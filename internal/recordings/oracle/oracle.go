// Package oracle reads a provider's stream, slowly and plainly, to say what an
// adapter should have made of it. It shares nothing with what it judges: it
// imports the standard library only, which its test sees to. It takes a whole
// stream as text, and looks at it as loose maps, so that a mistake in one of the
// two readings is not made by the other.
//
// It is a package, not a Go module of its own: a module inside this one would
// need a replace line in go.mod, and with such a line nobody can install our
// commands by their path any more.
package oracle

import (
	"encoding/json"
	"strings"
)

// Reading is what a stream says.
type Reading struct {
	Whole   bool // it says that the answer is complete
	Failed  bool // it says that something broke
	Text    string
	Thought string
	Calls   []Call
	Usage   Usage
	Stop    string // the provider's own word

	// Reports are the provider's words about usage: the last, and before it the
	// one of the beginning where there is one.
	Reports []string
}

// Call is a call of a tool.
type Call struct {
	ID, Name, Arguments string
}

// Usage counts tokens. Input is without what came from or went to a cache;
// Thought is part of Output.
type Usage struct {
	Input, Output, CacheRead, CacheWrite, Thought int64
}

// Event is one event of a stream, and where in the text it ends.
type Event struct {
	Name, Data string
	End        int
}

// Events are the events of a stream with line feeds for ends of lines.
func Events(stream string) []Event {
	var list []Event
	at := 0
	for _, paragraph := range strings.SplitAfter(stream, "\n\n") {
		at += len(paragraph)
		e := Event{End: at}
		var data []string
		for line := range strings.SplitSeq(paragraph, "\n") {
			if rest, ok := strings.CutPrefix(line, "data:"); ok {
				data = append(data, strings.TrimPrefix(rest, " "))
			}
			if rest, ok := strings.CutPrefix(line, "event:"); ok {
				e.Name = strings.TrimSpace(rest)
			}
		}
		if data != nil {
			e.Data = strings.Join(data, "\n")
			list = append(list, e)
		}
	}
	return list
}

// object reads the data of an event; nil if it is none.
func object(data string) map[string]any {
	var m map[string]any
	d := json.NewDecoder(strings.NewReader(data))
	d.UseNumber()
	if d.Decode(&m) != nil {
		return nil
	}
	return m
}

// verbatim is the text of a value below keys; "" if there is none, or null.
func verbatim(data string, keys ...string) string {
	for _, key := range keys {
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte(data), &m) != nil {
			return ""
		}
		data = string(m[key])
	}
	if data == "null" {
		return ""
	}
	return data
}

// get follows keys into maps.
func get(v any, keys ...string) any {
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

func text(v any, keys ...string) string {
	s, _ := get(v, keys...).(string)
	return s
}

func number(v any, keys ...string) int64 {
	n, _ := get(v, keys...).(json.Number)
	i, _ := n.Int64()
	return i
}

func list(v any, keys ...string) []any {
	l, _ := get(v, keys...).([]any)
	return l
}
