package projections

import (
	"context"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections/question"
)

// Sizes of what a page shows.
const (
	maxPartBytes    = 128 << 10 // shown of one part whose content lies apart
	maxWaitingBytes = 1 << 10   // shown of an input that waits
	minPartBytes    = 64        // a part is never cut shorter
	maxPageTurns    = 500       // of a page; there are more only if as many had no message
)

// page is the messages behind a number on the branch with that turn, 0 being the
// selected one, with what belongs to them; false if there is no such turn.
func (f *fold) page(after, limit, branch int) (Transcript, bool) {
	path, known := f.path(branch)
	if !known {
		return Transcript{}, false
	}
	t := Transcript{Head: f.shownHead(), Messages: []Message{}, Turns: f.turnsOn(path)}
	to, last := after, true
	for _, m := range f.messages[min(after, len(f.messages)):] {
		if !path.has(m.Turn) {
			continue
		}
		if len(t.Messages) == limit {
			last = false
			break
		}
		t.Messages, to = append(t.Messages, m), m.N
	}
	if last {
		to = len(f.messages) // what was said last may be on another branch
	}
	for _, w := range f.waiting {
		t.Waiting = append(t.Waiting, w.shown())
	}
	t.Marks = f.marksOn(path)
	end(&t, after, to, last)
	return t, true
}

// end says that the page ends behind message to, and leaves only the turns that
// it touches.
func end(t *Transcript, from, to int, last bool) {
	t.Next = 0
	if !last {
		t.Next = to
	}
	t.Marks = marksWithin(t.Marks, from, to)
	kept := t.Turns[:0:0]
	for _, turn := range t.Turns {
		without := turn.Last < turn.First
		touches := turn.First <= to && turn.Last > from
		if without { // it lies between two messages, or behind the last
			touches = turn.First > from && (turn.First <= to || last)
		}
		if touches {
			kept = append(kept, turn)
		}
	}
	t.Turns = append([]Turn{}, kept[max(0, len(kept)-maxPageTurns):]...)
}

func (w waitingInput) shown() Waiting {
	var all strings.Builder
	apart := false
	for _, p := range w.accepted.Parts {
		all.WriteString(p.Text)
		apart = apart || p.Blob != ""
	}
	text := all.String()
	cut := events.CutText(text, maxWaitingBytes)
	return Waiting{
		Input: w.accepted.Input, Rev: w.rev, At: w.at, Mode: w.accepted.Mode, By: w.accepted.By,
		Text: cut, Truncated: apart || len(cut) < len(text),
	}
}

// fit puts content that lies apart into the page, and ends the page where it
// would grow too large for one message of the bus.
func (p *Projections) fit(ctx context.Context, k events.Key, t Transcript, after int) (Transcript, error) {
	if len(t.Messages) == 0 {
		return t, nil
	}
	around := t
	around.Messages = nil
	b, err := question.Encode(around)
	if err != nil {
		return t, err
	}
	room := question.MaxAnswerBytes - len(b)
	for i, m := range t.Messages {
		if m, err = p.attach(ctx, k, m); err != nil {
			return t, err
		}
		size, err := encodedBytes(m)
		if err != nil {
			return t, err
		}
		if size > room && i > 0 {
			t.Messages = t.Messages[:i]
			end(&t, after, t.Messages[i-1].N, false)
			return t, nil
		}
		if size > room {
			if m, size, err = shorten(m, room); err != nil {
				return t, err
			}
		}
		t.Messages[i] = m
		room -= size + 1
	}
	return t, nil
}

func encodedBytes(m Message) (int, error) {
	b, err := question.Encode(m)
	return len(b), err
}

// attach puts the beginning of content that lies apart into its place. What
// cannot be had stays a reference: a transcript is not refused for a part of it.
func (p *Projections) attach(ctx context.Context, k events.Key, m Message) (Message, error) {
	var failed error
	m.Parts = changeParts(m.Parts, func(part Part) Part {
		if p.blobs == nil || part.Blob == "" || !isText(part.Type) || failed != nil {
			return part
		}
		content, err := p.blobs.Get(ctx, k, part.Blob)
		if err != nil {
			failed = ctx.Err()
			return part
		}
		shown := events.CutText(string(content), maxPartBytes)
		whole := part.Part.Attach([]byte(shown))
		if len(shown) < len(content) {
			part.Truncated = true
			whole.Blob, whole.Bytes = part.Blob, part.Bytes
		}
		part.Part = whole
		return part
	})
	return m, failed
}

func isText(t events.PartType) bool {
	return t == events.PartText || t == events.PartReasoning || t == events.PartCall || t == events.PartData
}

// shorten cuts the parts of a message until it fits.
func shorten(m Message, room int) (Message, int, error) {
	for limit := maxPartBytes; ; limit /= 2 {
		m.Parts = changeParts(m.Parts, func(part Part) Part { return cutPart(part, limit) })
		size, err := encodedBytes(m)
		if err != nil || size <= room || limit <= minPartBytes {
			return m, size, err
		}
	}
}

func cutPart(p Part, limit int) Part {
	whole := max(len(p.Text), len(p.Arguments), len(p.JSON))
	if whole <= limit {
		return p
	}
	if p.Bytes == 0 {
		p.Bytes = int64(whole)
	}
	p.Text, p.Arguments, p.JSON = events.CutText(p.Text, limit), events.CutText(p.Arguments, limit), events.CutText(p.JSON, limit)
	p.Truncated = true
	return p
}

// changeParts is parts, and those of the results of calls among them, each
// changed; the originals stay as they are.
func changeParts(parts []Part, change func(Part) Part) []Part {
	changed := make([]Part, len(parts))
	for i, p := range parts {
		changed[i] = change(p)
		if p.Call != nil {
			c := *p.Call
			c.Result = changeParts(c.Result, change)
			if len(c.Edited) > 0 {
				c.Edited = changeParts(c.Edited, change)
			}
			changed[i].Call = &c
		}
	}
	return changed
}
