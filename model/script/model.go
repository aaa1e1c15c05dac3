package script

import (
	"context"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

const (
	providerName = "script"

	// bytesPerToken turns sizes into the usage that is reported when the script
	// names none: some number that grows with the chat.
	bytesPerToken = 4

	// maxCounted bounds what is remembered of failures that happen a number of
	// times. Beyond it everything is forgotten, so they happen again.
	maxCounted = 10_000
)

// Model answers from a script. It is safe for concurrent use.
type Model struct {
	script file

	mu     sync.Mutex
	failed map[failedAt]int // how often
}

// failedAt names a piece that failed, for one request.
type failedAt struct {
	rule, piece int
	request     events.Digest
}

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		v := viewOf(r)
		number := slices.IndexFunc(m.script.Rules, func(r rule) bool { return r.When.holds(v) })
		if number < 0 {
			yield(model.Delta{}, &model.Error{
				Class:   events.ClassInvalidRequest,
				Message: fmt.Sprintf("no rule of the script answers step %d of this input", v.step),
			})
			return
		}
		chosen := m.script.Rules[number]
		p := playing{yield: yield, view: v, pace: m.script.Pace, model: r.Model}
		if chosen.Pace != nil {
			p.pace = *chosen.Pace
		}
		request := r.Canonical()
		digest := events.DigestOf(request)
		for i, piece := range chosen.Answer {
			if piece.Fail != nil && m.usedUp(failedAt{number, i, digest}, piece.Fail.Times) {
				continue
			}
			if !p.play(ctx, piece) {
				return
			}
		}
		yield(model.Delta{Answer: p.answer(chosen, digest, len(request))}, nil)
	}
}

// usedUp counts a failure and says whether it has happened as often as it should.
func (m *Model) usedUp(at failedAt, times int) bool {
	if times == 0 {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed[at] >= times {
		return true
	}
	if m.failed == nil || len(m.failed) >= maxCounted {
		m.failed = map[failedAt]int{}
	}
	m.failed[at]++
	return false
}

// holds says whether everything that the condition names is so.
func (c condition) holds(v view) bool {
	offered := func(t model.Tool) bool { return t.Name == c.Offers }
	switch {
	case c.Input != "" && !strings.Contains(strings.ToLower(v.input), strings.ToLower(c.Input)),
		c.Result != "" && !strings.Contains(strings.ToLower(v.result), strings.ToLower(c.Result)),
		c.Step != 0 && c.Step != v.step,
		c.Model != "" && c.Model != v.model,
		c.Offers != "" && !slices.ContainsFunc(v.offers, offered):
		return false
	}
	return true
}

// playing is one answer on its way.
type playing struct {
	yield func(model.Delta, error) bool
	view  view
	pace  time.Duration
	model string

	parts []events.Part
	calls int
	stop  events.Stop
}

// play does one piece, and says whether the answer goes on.
func (p *playing) play(ctx context.Context, piece piece) bool {
	switch {
	case piece.Text != nil:
		return p.say(ctx, events.PartText, model.DeltaText, p.view.fill(*piece.Text))
	case piece.TextHex != nil:
		return p.say(ctx, events.PartText, model.DeltaText, unhex(*piece.TextHex))
	case piece.Reasoning != nil:
		return p.say(ctx, events.PartReasoning, model.DeltaReasoning, p.view.fill(*piece.Reasoning))
	case piece.ReasoningHex != nil:
		return p.say(ctx, events.PartReasoning, model.DeltaReasoning, unhex(*piece.ReasoningHex))
	case piece.Call != nil:
		return p.call(ctx, *piece.Call)
	case piece.Pause != nil:
		return p.wait(ctx, *piece.Pause)
	case piece.Stop != nil:
		p.stop = *piece.Stop
	case piece.Fail != nil:
		return p.fail(piece.Fail.Class, piece.Fail)
	case piece.Cut != nil && *piece.Cut:
		return p.fail(events.ClassIncomplete, &failure{Message: "the script cuts the answer off here"})
	}
	return true
}

// say yields text word by word. Text after text belongs to the same part, also
// with a pause between.
func (p *playing) say(ctx context.Context, kind events.PartType, delta model.DeltaKind, text string) bool {
	last := len(p.parts) - 1
	if last < 0 || p.parts[last].Type != kind {
		part := events.Part{Type: kind}
		if kind == events.PartReasoning {
			part.Provider, part.Model = providerName, p.model
		}
		p.parts = append(p.parts, part)
		last++
	}
	p.parts[last].Text += text
	for _, word := range strings.SplitAfter(text, " ") {
		if word == "" {
			continue
		}
		if !p.delta(ctx, model.Delta{Kind: delta, Part: last, Text: word}) {
			return false
		}
	}
	return true
}

func (p *playing) call(ctx context.Context, c call) bool {
	arguments := "{}"
	switch {
	case c.Arguments != nil:
		arguments = p.view.fillJSON(*c.Arguments)
	case c.ArgumentsHex != nil:
		arguments = unhex(*c.ArgumentsHex)
	}
	for range max(c.Count, 1) {
		p.calls++
		id := fmt.Sprintf("call-%d-%d", p.view.step, p.calls)
		if c.ID != nil {
			id = *c.ID
		}
		p.parts = append(p.parts, events.Part{
			Type: events.PartCall, Ordinal: p.calls, Name: c.Name, Arguments: arguments, ProviderID: id,
		})
		if !p.delta(ctx, model.Delta{Kind: model.DeltaCall, Part: len(p.parts) - 1, Text: arguments}) {
			return false
		}
	}
	return true
}

// delta yields one piece at the script's pace.
func (p *playing) delta(ctx context.Context, d model.Delta) bool {
	return p.wait(ctx, p.pace) && p.yield(d, nil)
}

// wait pauses, and ends the answer if the caller gives up meanwhile.
func (p *playing) wait(ctx context.Context, d time.Duration) bool {
	if ctx.Err() == nil && d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		p.yield(model.Delta{}, &model.Error{Class: events.ClassCancelled, Message: "the request was cancelled", Err: err})
		return false
	}
	return true
}

func (p *playing) fail(class events.ErrorClass, f *failure) bool {
	message := f.Message
	if message == "" {
		message = "the script fails here"
	}
	p.yield(model.Delta{}, &model.Error{Class: class, Message: message, RetryAfter: f.RetryAfter, Status: f.Status})
	return false
}

// answer is the whole of what was said.
func (p *playing) answer(r rule, request events.Digest, requestBytes int) *model.Answer {
	stop := p.stop
	switch {
	case stop != "":
	case p.calls > 0:
		stop = events.StopCalls
	default:
		stop = events.StopEnd
	}
	used := events.Usage{Input: int64(requestBytes / bytesPerToken), Output: int64(sizeOf(p.parts) / bytesPerToken)}
	if u := r.Usage; u != nil {
		used = events.Usage(*u)
	}
	return &model.Answer{
		Parts: p.parts, Stop: stop, RawStop: string(stop), Usage: used,
		Provider: events.Provider{Name: providerName, ResponseID: "script-" + request.Hex()[:responseIDDigits], Model: p.model},
	}
}

// responseIDDigits is how much of the request's digest names an answer.
const responseIDDigits = 16

func sizeOf(parts []events.Part) int {
	n := 0
	for _, p := range parts {
		n += len(p.Text) + len(p.Arguments)
	}
	return n
}

// unhex gives bytes that YAML cannot hold. The script was checked.
func unhex(s string) string {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(fmt.Sprintf("script: unchecked hexadecimal digits: %v", err))
	}
	return string(b)
}
