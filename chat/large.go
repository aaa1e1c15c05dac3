package chat

import (
	"fmt"

	"github.com/everturn/everturn/events"
)

// Content is what a decision took out of its events because it was too large
// for them. It is stored under its digest before the commit is.
type Content struct {
	Digest events.Digest
	Bytes  []byte
}

// maxEventsBytes is how much of a commit the events of the message itself may
// take: what they bring about needs room too, above all the settings of a turn.
const maxEventsBytes = events.MaxCommitBytes - maxTurnBytes

// maxTurnBytes is more than the start of a turn can take: instructions, each of
// whose bytes may take two in JSON, [MaxTools] tools, the client's own, and skills.
const maxTurnBytes = 192<<10 + events.MaxClientToolsBytes + events.MaxSkillsBytes

// detachLarge takes content above [events.MaxInlineBytes] out of the events,
// and then the largest that is left until they fit into a commit. It happens
// before anything is folded, so that the prompt a decision records the digest of
// is the one every later reader of the log makes. Copies is how often the commit
// holds what is in them.
func detachLarge(list []events.Event, copies int) ([]events.Event, []Content) {
	var taken []Content
	left := 0
	for i, e := range list {
		if e, ok := e.(events.InputAccepted); ok && e.Settings != nil {
			left += events.MaxInlineBytes // settings may be much, too: it is counted what all of it takes
		}
		for j, p := range events.Parts(e) {
			if n := p.ContentBytes(); n > events.MaxInlineBytes {
				list[i], taken = detachPart(list[i], j, taken)
			} else {
				left += n
			}
		}
	}
	if left*copies <= events.MaxInlineBytes {
		return list, taken // it fits without counting, which is the usual case
	}
	for size := encodedBytes(list); size*copies > maxEventsBytes; size = encodedBytes(list) {
		at, part, largest := 0, 0, 0
		for i, e := range list {
			for j, p := range events.Parts(e) {
				if n := p.ContentBytes(); n > largest {
					at, part, largest = i, j, n
				}
			}
		}
		if largest < minDetachBytes {
			break // nothing is won any more; the commit's own limit decides
		}
		list[at], taken = detachPart(list[at], part, taken)
	}
	return list, taken
}

// copies is how often a commit holds what is in its first events: a summary stands
// in the step that wrote it and in what it brings about.
func (s State) copies(list []events.Event) int {
	for _, e := range list {
		if e, ok := e.(events.StepCompleted); ok {
			if st := s.step(e.Step); st != nil && st.Purpose == events.PurposeSummary {
				return 2
			}
		}
	}
	return 1
}

// minDetachBytes is the size below which a digest takes as much room as the content.
const minDetachBytes = 256

// detachPart takes one part's content out of an event, which may be shared.
func detachPart(e events.Event, part int, taken []Content) (events.Event, []Content) {
	parts := append([]events.Part(nil), events.Parts(e)...)
	detached, content := parts[part].Detach()
	parts[part] = detached
	return events.WithParts(e, parts), append(taken, Content{Digest: detached.Blob, Bytes: content})
}

func encodedBytes(list []events.Event) int {
	n := 0
	for _, e := range list {
		b, err := events.EncodeEvent(e)
		if err != nil {
			panic(fmt.Sprintf("chat: event without JSON: %v", err)) // plain structs only
		}
		n += len(b)
	}
	return n
}
