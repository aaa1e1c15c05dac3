package audit

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections/question"
)

// aroundBytes is left of an answer for what is said besides.
const aroundBytes = 4 << 10

// Steps of making JSON smaller: texts first, each to so many bytes; then lists, each to
// so many elements, the last ones.
const (
	longestTextBytes  = 64 << 10
	shortestTextBytes = 256
	longestList       = 1_024
	shortestList      = 1
	stepDown          = 4 // each step is to that part of the one before
)

// ellipsis stands where a text was cut.
const ellipsis = "…"

// fit is the JSON cut until it has room in an answer, and what was cut, in words.
// Nothing is cut from what fits.
func fit(raw []byte) (json.RawMessage, []string, error) {
	const room = question.MaxAnswerBytes - aroundBytes
	if len(raw) <= room {
		return raw, nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, nil, fmt.Errorf("cut an answer: %w", err)
	}
	c := cutter{text: longestTextBytes, list: len(raw)}
	for {
		if c.size(tree) <= room { // about; what has to be escaped grows
			cut, err := question.Encode(c.cut(tree))
			if err != nil || len(cut) <= room {
				return cut, c.words(), err
			}
		}
		switch {
		case c.text > shortestTextBytes:
			c.text /= stepDown
		case c.list > longestList:
			c.list = longestList
		case c.list > shortestList:
			c.list /= stepDown
		default:
			return json.RawMessage("null"), []string{fmt.Sprintf("all of it: it has %d bytes", len(raw))}, nil
		}
		c.texts, c.lists = 0, 0
	}
}

// cutter cuts what is longer, and counts what it has cut.
type cutter struct {
	text, list   int
	texts, lists int
}

// size is about how many bytes the JSON of a value has when it is cut.
func (c *cutter) size(v any) int {
	const around = len(`"",`)
	switch v := v.(type) {
	case string:
		return min(len(v), c.text) + around
	case json.Number:
		return len(v) + around
	case []any:
		n := around
		for _, element := range v[max(0, len(v)-c.list):] {
			n += c.size(element)
		}
		return n
	case map[string]any:
		n := around
		for name, value := range v {
			n += len(name) + around + c.size(value)
		}
		return n
	default:
		return around
	}
}

// cut is the value with whatever is too long in it cut.
func (c *cutter) cut(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) <= c.text {
			return v
		}
		c.texts++
		return events.CutText(v, c.text-len(ellipsis)) + ellipsis
	case []any:
		if len(v) > c.list {
			c.lists++
			v = v[len(v)-c.list:]
		}
		list := make([]any, len(v))
		for i := range v {
			list[i] = c.cut(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, value := range v {
			object[name] = c.cut(value)
		}
		return object
	default:
		return v
	}
}

// words say what was cut.
func (c *cutter) words() []string {
	var words []string
	if c.texts > 0 {
		words = append(words, fmt.Sprintf("%d texts, to %d bytes each", c.texts, c.text))
	}
	if c.lists > 0 {
		words = append(words, fmt.Sprintf("%d lists, to their last %d elements", c.lists, c.list))
	}
	return words
}
