package sim

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// provider is every model of the run. What it says to a request follows from
// the seed, the request and how often it was asked, never from when.
type provider struct {
	seed uint64

	mu      sync.Mutex
	bad     float64 // share of what is asked that fails
	asked   map[events.Digest]int
	journal []events.Digest // what was asked, in order
}

func newProvider(seed uint64, bad float64) *provider {
	return &provider{seed: seed, bad: bad, asked: map[events.Digest]int{}}
}

// behave ends all failing.
func (p *provider) behave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bad = 0
}

func (p *provider) note(d events.Digest, journal bool) (n int, bad float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[d]++
	if journal {
		p.journal = append(p.journal, d)
	}
	return p.asked[d], p.bad
}

// requests are the digests of what was asked, in order.
func (p *provider) requests() []events.Digest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.journal
}

// large reports whether content stands in the request that the log has by digest
// only: then its own digest is not the recorded one.
func large(r model.Request) bool {
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if len(p.Text) > events.MaxInlineBytes || len(p.Arguments) > events.MaxInlineBytes {
				return true
			}
		}
	}
	return false
}

// Names of the models: one says things, one calls tools.
const (
	modelSays  = "says"
	modelCalls = "calls"
)

// find implements the orchestrator's lookup of models.
func (p *provider) find(name string) (model.Model, bool) {
	return p, name == modelSays || name == modelCalls || name == modelReviews || name == modelTitles
}

// maxMessages is the length of a conversation from which on no tool is called.
const maxMessages = 14

// Stream implements [model.Model].
func (p *provider) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		digest := events.DigestOf(r.Canonical())
		n, bad := p.note(digest, !large(r))
		draw := numbered(p.seed, "model "+string(digest), n)
		if !pause(ctx, aside(p.seed, "model "+string(digest), n)) {
			yield(model.Delta{}, &model.Error{Class: events.ClassCancelled, Message: "cancelled", Err: ctx.Err()})
			return
		}
		if chance(draw, bad) {
			p.fail(ctx, draw, yield)
			return
		}
		var answer *model.Answer
		switch r.Model {
		case modelReviews:
			answer = p.verdict(draw, r)
		case modelTitles:
			answer = p.title(draw, r)
		default:
			answer = p.answer(draw, r, bad > 0)
		}
		if !speak(ctx, draw, answer, bad > 0, yield) {
			return
		}
		yield(model.Delta{Answer: answer}, nil)
	}
}

// fail is an attempt that brings no answer.
func (p *provider) fail(ctx context.Context, draw *rand.Rand, yield func(model.Delta, error) bool) {
	switch draw.IntN(6) {
	case 0: // silence, until somebody has had enough
		<-ctx.Done()
		yield(model.Delta{}, &model.Error{Class: events.ClassCancelled, Message: "cancelled"})
		return
	case 1: // cut off in the middle
		if !yield(model.Delta{Kind: model.DeltaText, Text: "I was about to"}, nil) {
			return
		}
		pause(ctx, time.Duration(draw.IntN(3000))*time.Millisecond)
		yield(model.Delta{}, &model.Error{Class: events.ClassIncomplete, Message: "the stream broke off"})
		return
	}
	class := pick(draw,
		events.ClassOverloaded, events.ClassRateLimit, events.ClassTimeout, events.ClassTransport, events.ClassInternal,
		events.ClassOverloaded, events.ClassRateLimit, events.ClassTimeout, events.ClassTransport, events.ClassInternal,
		events.ClassQuota, events.ClassAuth, events.ClassContextTooLarge, events.ClassContentFilter,
		events.ClassInvalidRequest, events.ClassUnknown,
	)
	pause(ctx, time.Duration(draw.IntN(500))*time.Millisecond)
	e := &model.Error{Class: class, Message: "failed: " + string(class)}
	if draw.IntN(3) == 0 {
		e.RetryAfter = time.Duration(draw.IntN(12_000)-1000) * time.Millisecond
	}
	yield(model.Delta{}, e)
}

// maxSpoken is how many parts of an answer are spoken: more would only take longer.
const maxSpoken = 4

// speak yields an answer's deltas, with pauses, and says whether it came to an end.
func speak(ctx context.Context, draw *rand.Rand, a *model.Answer, bad bool, yield func(model.Delta, error) bool) bool {
	longest := 100
	if bad && draw.IntN(10) == 0 {
		longest = 20_000
	}
	for i, part := range a.Parts[:min(len(a.Parts), maxSpoken)] {
		for range 1 + draw.IntN(2) {
			if !pause(ctx, time.Duration(draw.IntN(longest))*time.Millisecond) {
				yield(model.Delta{}, &model.Error{Class: events.ClassCancelled, Message: "cancelled", Err: ctx.Err()})
				return false
			}
			if !yield(model.Delta{Kind: model.DeltaText, Part: i, Text: part.Text + part.Arguments}, nil) {
				return false
			}
		}
	}
	return true
}

// answer is what the model has to say.
func (p *provider) answer(draw *rand.Rand, r model.Request, bad bool) *model.Answer {
	a := &model.Answer{
		Stop: events.StopEnd, RawStop: "stop", Usage: events.Usage{Input: int64(draw.IntN(100)), Output: int64(draw.IntN(100))},
		Provider: events.Provider{Name: "simulated", Model: r.Model},
	}
	most := maxMessages
	if readsMuch(p.seed) {
		most = readingMessages
		a.Usage.Input += tokensOf(r)
	}
	calls := r.Model == modelCalls && len(r.Messages) < most && len(r.Tools) > 0 && chance(draw, 0.75)
	if !calls {
		switch draw.IntN(12) {
		case 0: // nothing at all
		case 1:
			a.Parts = []events.Part{events.Text("That is too long to")}
			a.Stop = events.StopLength
		case 2:
			a.Parts = []events.Part{events.Text("Let me think")}
			a.Stop = events.StopPaused
		case 3:
			a.Stop = events.StopRefused
		default:
			a.Parts = []events.Part{events.Text(fmt.Sprintf("answer %d", draw.IntN(1000)))}
		}
		if draw.IntN(largeOnceIn) == 0 {
			a.Parts = append(a.Parts, events.Text(filler(draw)))
		}
		return a
	}
	if draw.IntN(2) == 0 {
		a.Parts = append(a.Parts, events.Text("One moment."))
	}
	a.Stop = events.StopCalls
	if asks := p.asks(draw, r); len(asks) > 0 {
		a.Parts = append(a.Parts, asks...)
		return a
	}
	if children := p.delegates(draw, r); len(children) > 0 {
		a.Parts = append(a.Parts, children...)
		return a
	}
	n := pick(draw, 1, 1, 2, 3)
	if bad && draw.IntN(40) == 0 {
		n = events.MaxCallsPerStep + 1
	}
	for i := range n {
		a.Parts = append(a.Parts, p.call(draw, i))
	}
	if draw.IntN(20) == 0 {
		a.Stop = events.StopLength
	}
	return a
}

// call is one call, with arguments that may be anything.
func (p *provider) call(draw *rand.Rand, i int) events.Part {
	c := events.Part{Type: events.PartCall, Ordinal: i + 1, ProviderID: fmt.Sprintf("call_%d", draw.IntN(3))}
	switch draw.IntN(12) {
	case 0:
		c.Name, c.Arguments = "no_such_tool", "{}"
		return c
	case 1:
		c.Name, c.Arguments = toolLookup, pick(draw, "", "null", "  ")
		return c
	case 2:
		c.Name, c.Arguments = toolOnce, pick(draw, `{"n":`, `{"n":"no number"}`, "[]", `{"m":1}`)
		return c
	}
	c.Name = pick(draw, toolOnce, toolOnce, toolAgain, toolAgain, toolLookup, toolLast)
	if draw.IntN(15) == 0 {
		c.Name = toolAlone
	}
	c.Arguments = fmt.Sprintf(`{"n":%d}`, draw.IntN(1000))
	if c.Name == toolLookup && draw.IntN(largeOnceIn/2) == 0 {
		c.Arguments = fmt.Sprintf(`{"text":%q}`, filler(draw))
	}
	return c
}

// largeOnceIn is how seldom content is too large to stand in a log.
const largeOnceIn = 60

// filler is text that is too large to stand in a log.
func filler(draw *rand.Rand) string {
	return strings.Repeat(fmt.Sprintf("word %d ", draw.IntN(10)), events.MaxInlineBytes/6+draw.IntN(1000))
}

// aside is a time so short that it changes nothing but this: what then takes whole
// milliseconds does not end in the very instant in which those who wait for it look
// at the clock again. Of two things that happen in one instant neither is the first.
func aside(seed uint64, name string, n int) time.Duration {
	return time.Duration(1 + numbered(seed, "aside "+name, n).Int64N(int64(time.Microsecond)))
}

// pause waits for d, and says whether it passed.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
