package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everturn/everturn/events"
)

// Difference is the first place of a log at which the rules of today come to
// something else.
type Difference struct {
	Chat     events.Key
	Rev      uint64
	Sequence uint64 // in the stream

	// Event counts from 1 within the commit; 0 is the commit around its events.
	// Type is the event's in the log, or the missing one's.
	Event int
	Type  events.Type

	// Field is where in the event's JSON, such as "parts[0].text"; empty means the
	// whole event. The two sides are JSON, or words if there is none.
	Field   string
	Logged  string
	Decided string
}

const nothing = "nothing"

// String is the difference on one line.
func (d Difference) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s rev %d sequence %d", d.Chat, d.Rev, d.Sequence)
	if d.Event > 0 {
		fmt.Fprintf(&b, ", event %d %s", d.Event, d.Type)
	}
	if d.Field != "" {
		fmt.Fprintf(&b, ", %s", d.Field)
	}
	fmt.Fprintf(&b, ": the log has %s, today it would be %s", d.Logged, d.Decided)
	return b.String()
}

// differ compares the event at index n of a commit. Nil is no event.
func differ(n int, logged, decided events.Event) *Difference {
	d := &Difference{Event: n + 1, Logged: nothing, Decided: nothing}
	switch {
	case logged == nil:
		d.Type, d.Decided = decided.EventType(), whole(decided)
		return d
	case decided == nil:
		d.Type, d.Logged = logged.EventType(), whole(logged)
		return d
	case logged.EventType() != decided.EventType():
		d.Type, d.Logged, d.Decided = logged.EventType(), whole(logged), whole(decided)
		return d
	}
	a, b := inJSON(logged), inJSON(decided)
	if a == b {
		return nil
	}
	d.Type = logged.EventType()
	changes, err := Changes([]byte(a), []byte(b))
	if err != nil || len(changes) == 0 {
		d.Logged, d.Decided = a, b // the same values in other bytes
		return d
	}
	d.Field = changes[0].Path
	if old := changes[0].Old; old != nil {
		d.Logged = string(old)
	}
	if now := changes[0].New; now != nil {
		d.Decided = string(now)
	}
	return d
}

// whole is an event by its name and its data.
func whole(e events.Event) string { return string(e.EventType()) + " " + inJSON(e) }

// inJSON is JSON for people: without the escapes that HTML needs.
func inJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("replay: %T without JSON: %v", v, err)) // plain structs only
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func quoted(s string) string { return inJSON(s) }
