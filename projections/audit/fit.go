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
	smaller           = 4 // each step is to that part of the one before
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
		cut, err := question.Encode(c.cut(tree))
		if err != nil || len(cut) <= room {
			return cut, c.words(), err
		}
		switch {
		case c.text > shortestTextBytes:
			c.text /= smaller
		case c.list > longestList:
			c.list = longestList
		case c.list > shortestList:
			c.list /= smaller
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
