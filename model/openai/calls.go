package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model/internal/attempt"
)

// fragment is a piece of a call.
type fragment struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments text   `json:"arguments"`
	} `json:"function"`
}

// text is a JSON string. Some servers write the arguments as the object that
// should stand in it.
type text string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	*t = text(s)
	return nil
}

// String is the text.
func (t text) String() string { return string(t) }

// calls puts fragments together. The index says to which call one belongs, if
// the provider keeps to the format; an id that is another's says more.
type calls struct {
	list []*call
	last int // where the last fragment went

	// odd says that the fragments came as the library is known to misread them:
	// the index did not tell the calls apart, or one was added to when the next
	// had begun.
	odd bool
}

type call struct {
	index     int
	id, name  string
	arguments strings.Builder
}

// whole reports whether nothing can be added to the arguments.
func (c *call) whole() bool { return events.IsObject(c.arguments.String()) }

// add takes a fragment. It says what is wrong if it cannot be known to which
// call it belongs.
func (c *calls) add(f fragment) string {
	index := 0
	if f.Index != nil {
		index = *f.Index
	} else {
		c.odd = c.odd || len(c.list) > 0
	}
	at, doubt := c.find(f, index)
	if doubt != "" {
		return doubt
	}
	if at < 0 {
		if f.Function.Name == "" && f.Function.Arguments == "" {
			return "" // an empty beginning
		}
		c.list = append(c.list, &call{index: index, id: f.ID, name: f.Function.Name})
		at = len(c.list) - 1
	}
	to := c.list[at]
	to.id, to.name = cmp.Or(to.id, f.ID), cmp.Or(to.name, f.Function.Name)
	to.arguments.WriteString(f.Function.Arguments.String())
	c.odd = c.odd || at < len(c.list)-1
	c.last = at
	return ""
}

// find is where a fragment belongs: -1 is a new call.
func (c *calls) find(f fragment, index int) (at int, doubt string) {
	var same []int // calls of this index
	for i, known := range c.list {
		if known.index != index {
			continue
		}
		if f.ID != "" && known.id == f.ID {
			if c.repeats(known, f) {
				c.odd = true
				return -1, ""
			}
			return i, ""
		}
		same = append(same, i)
	}
	switch {
	case len(same) == 0:
		return -1, ""
	case f.ID != "" && c.list[same[0]].id != "", c.begins(f, same):
		c.odd = true
		return -1, ""
	case len(same) == 1:
		return same[0], ""
	}
	// Several calls share the index and nothing tells which is meant, unless only
	// one can still be added to.
	var unfinished []int
	for _, i := range same {
		if !c.list[i].whole() {
			unfinished = append(unfinished, i)
		}
	}
	if len(unfinished) == 1 {
		return unfinished[0], ""
	}
	if f.Function.Arguments == "" {
		return same[len(same)-1], ""
	}
	return 0, "a piece of a call belongs to none for certain"
}

// repeats reports whether the fragment is a call of its own in spite of an id
// that was there before: some providers give all calls one id.
func (c *calls) repeats(known *call, f fragment) bool {
	return f.Function.Name != "" && known.whole() && f.Function.Arguments != ""
}

// begins reports whether a fragment without an id is the beginning of a call:
// it has a name, and what its index has so far is whole.
func (c *calls) begins(f fragment, same []int) bool {
	if f.Function.Name == "" || f.ID != "" {
		return false
	}
	return !slices.ContainsFunc(same, func(i int) bool { return !c.list[i].whole() })
}

// ordered are the calls in the provider's order.
func (c *calls) ordered() []*call {
	list := slices.Clone(c.list)
	slices.SortStableFunc(list, func(a, b *call) int { return cmp.Compare(a.index, b.index) })
	return list
}

// doubt says why the calls must not be believed, "" if there is no reason.
func (c *calls) doubt(others []attempt.Call) string {
	list := c.ordered()
	for _, call := range list {
		if call.name == "" {
			return "a call has no name"
		}
	}
	if others == nil || c.odd {
		return ""
	}
	if len(list) != len(others) {
		return "its calls cannot be told apart"
	}
	for i, call := range list {
		if call.name != others[i].Name || !attempt.SameArguments(call.arguments.String(), others[i].Arguments) {
			return "its calls can be read in two ways"
		}
	}
	return ""
}

func (c *calls) parts() []events.Part {
	var parts []events.Part
	for i, call := range c.ordered() {
		parts = append(parts, events.Part{
			Type: events.PartCall, Ordinal: i + 1, Name: call.name, Arguments: call.arguments.String(), ProviderID: call.id,
		})
	}
	return parts
}
