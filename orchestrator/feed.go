package orchestrator

import (
	"context"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// feed sends an attempt's deltas to those who watch, a few at a time.
type feed struct {
	o    *Orchestrator
	key  events.Key
	work protocol.ModelWork

	pending model.Delta
	since   time.Time // when the first pending one came; zero if there is none
	sent    int
}

// due is when what is pending must be sent; zero if nothing is.
func (f *feed) due() time.Time {
	if f.since.IsZero() {
		return time.Time{}
	}
	return f.since.Add(feedDelay)
}

// add takes a delta that came at the given time.
func (f *feed) add(ctx context.Context, d model.Delta, at time.Time) {
	if !f.since.IsZero() && (d.Kind != f.pending.Kind || d.Part != f.pending.Part) {
		f.flush(ctx)
	}
	if f.since.IsZero() {
		f.since, f.pending = at, model.Delta{Kind: d.Kind, Part: d.Part}
	}
	f.pending.Text += d.Text
	if len(f.pending.Text) >= maxFeedBytes {
		f.flush(ctx)
	}
}

// flush sends what is pending. It may be lost: the log will have the answer.
func (f *feed) flush(ctx context.Context) {
	if f.since.IsZero() {
		return
	}
	d := protocol.Delta{
		Turn: f.work.Step.Turn, Step: f.work.Step, Attempt: f.work.Attempt, Part: f.pending.Part, I: f.sent,
		Kind: string(f.pending.Kind), Text: f.pending.Text,
	}
	f.sent++
	f.since, f.pending = time.Time{}, model.Delta{}
	if err := f.o.bus.Feed.Delta(ctx, f.key, d); err != nil {
		f.o.log.Debug("delta not sent", "chat", f.key, "error", err)
	}
}

// partial collects what an attempt has said so far, for the case that its turn
// is interrupted: text and reasoning, at most [events.MaxPartialBytes].
type partial struct {
	list  []partialPart
	bytes int
}

type partialPart struct {
	kind model.DeltaKind
	part int
	text []byte
}

func (p *partial) add(d model.Delta) {
	if d.Kind != model.DeltaText && d.Kind != model.DeltaReasoning {
		return // half a call is no part of anything
	}
	text := d.Text[:min(len(d.Text), events.MaxPartialBytes-p.bytes)] // a rune cut in two is repaired before it is kept
	if text == "" {
		return // nothing was said, or there is no room: no part is begun for it
	}
	p.bytes += len(text)
	for i := len(p.list) - 1; i >= 0; i-- {
		if p.list[i].part == d.Part && p.list[i].kind == d.Kind {
			p.list[i].text = append(p.list[i].text, text...)
			return
		}
	}
	p.list = append(p.list, partialPart{kind: d.Kind, part: d.Part, text: []byte(text)})
}

func (p *partial) parts() []events.Part {
	var parts []events.Part
	for _, said := range p.list {
		if len(said.text) == 0 {
			continue
		}
		part := events.Part{Type: events.PartText, Text: string(said.text)}
		if said.kind == model.DeltaReasoning {
			part.Type = events.PartReasoning
		}
		parts = append(parts, part)
	}
	return parts
}

const (
	// lastWordsBy is how long behind the end timer of a turn the feed may still be
	// asked for what its worker has said, so that the turn ends in time without it.
	lastWordsBy = 600 * time.Millisecond

	// lastWordsTime is how long the feed is given at least.
	lastWordsTime = 300 * time.Millisecond
)

// lastWords is fedPartial for the end timer of a turn: the end is promised, and
// soon, the words are not.
func (o *Orchestrator) lastWords(ctx context.Context, t protocol.Timer, step events.StepID, attempt int) []events.Part {
	left := max(time.Until(t.Due.Time().Add(lastWordsBy)), lastWordsTime)
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	return o.fedPartial(ctx, t.Key(), step, attempt)
}

// fedPartial is what the feed still has of an attempt whose worker is gone. An
// empty one is better than a turn that does not end.
func (o *Orchestrator) fedPartial(ctx context.Context, k events.Key, step events.StepID, attempt int) []events.Part {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
	defer cancel()
	deltas, err := o.bus.Feed.Deltas(ctx, k, step, attempt)
	if err != nil {
		o.log.Warn("partial answer not found", "chat", k, "step", step, "error", err)
		return nil
	}
	var p partial
	for _, d := range deltas {
		p.add(model.Delta{Kind: model.DeltaKind(d.Kind), Part: d.Part, Text: d.Text})
	}
	return p.parts()
}
