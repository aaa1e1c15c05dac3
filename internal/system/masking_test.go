package system

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	evolve "github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

const (
	readingPages  = 12
	readingWindow = 120_000 // tokens: all pages take four fifths of it, and what is kept of them less than half
	leftOutNote   = "was left out to save room"
)

// reader is a model that reads page after page, and dwells on the first request
// that does not show one of them any more, until whoever asked it is gone.
type reader struct {
	dwells chan model.Request // takes one
	dwelt  atomic.Bool
}

// Stream implements [model.Model].
func (m *reader) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	if strings.Contains(resultsOf(r), leftOutNote) && m.dwelt.CompareAndSwap(false, true) {
		m.dwells <- r
		return func(yield func(model.Delta, error) bool) {
			<-ctx.Done()
			yield(model.Delta{}, ctx.Err())
		}
	}
	pages := 0
	for _, message := range r.Messages {
		pages += len(message.Results)
	}
	answer := model.Answer{Parts: []events.Part{events.Text("I have read it all.")}, Stop: events.StopEnd}
	if pages < readingPages {
		arguments := fmt.Sprintf(`{"text": %q}`, pageName(pages+1))
		answer = model.Answer{Parts: []events.Part{{Type: events.PartCall, Name: "page", Arguments: arguments}}, Stop: events.StopCalls}
	}
	answer.Usage = events.Usage{Input: int64(len(resultsOf(r)) / 4), Output: 10}
	return func(yield func(model.Delta, error) bool) { yield(model.Delta{Answer: &answer}, nil) }
}

func pageName(n int) string { return fmt.Sprintf("PAGE %d. ", n) }

func resultsOf(r model.Request) string {
	var text strings.Builder
	for _, m := range r.Messages {
		for _, result := range m.Results {
			text.WriteString(textOf(result.Parts))
		}
	}
	return text.String()
}

// What tools gave long ago makes room before anything that was said does. A process
// that finds the chat shows the model the same, and people are shown all of it.
func TestS10_5_OldOutputsMakeRoomBeforeASummary(t *testing.T) {
	t.Parallel()
	s := newSystem(t, options{ackWait: shortAckWait})
	s.startProjections()
	windows := func(cfg *orchestrator.Config, _ *orchestrator.Bus) {
		cfg.Windows = map[string]evolve.Window{"reader": {Tokens: readingWindow}}
	}
	first := s.startOrchestrator(windows)
	s.startRunner(nil)
	c := &chat{T: t, s: s, c: client.New(s.nc, "", "user:test"), log: s.bus.Log}
	c.key = c.c.Key(client.NewID())
	m := &reader{dwells: make(chan model.Request, 1)}
	c.model = s.models.add("reader", m)
	c.do(protocol.Create{V: protocol.Version, Settings: events.Settings{Model: "reader"}})
	c.do(send("say what stands on all pages"))

	var before model.Request
	select {
	case before = <-m.dwells:
	case <-patient(t).Done():
		t.Fatalf("nothing is left out; the log is\n%s", c.read())
	}
	first.halt() // the model is asked again by one that has seen nothing of it
	second := s.startOrchestrator(windows)
	h := c.ended(1)
	leftOut := c.leftOut(h)
	c.showsAgain(before)

	c.snapshot()
	second.halt()
	s.startOrchestrator(windows) // this one has a snapshot
	before = c.model.last()
	h = c.turn("say it once more")
	if now := c.leftOut(h); !slices.Equal(now, leftOut) {
		t.Errorf("the outputs of %v are left out, and then those of %v", leftOut, now)
	}
	c.showsAgain(before)
	c.allPagesAreThere()
	c.stillWorks()
}

// leftOut are the calls whose outputs are left out. Each of them has a note in what
// the model was shown last, all others are shown whole, and nobody wrote a summary.
func (c *chat) leftOut(h history) []events.CallID {
	c.Helper()
	var calls []events.CallID
	for _, e := range all[events.ContextCompacted](h) {
		calls = append(calls, e.Masked...)
	}
	for _, e := range all[events.StepRequested](h) {
		if e.Purpose != events.PurposeAnswer {
			c.Errorf("step %s is there for %s", e.Step, e.Purpose)
		}
	}
	if n := len(all[events.TurnCompleted](h)); len(calls) == 0 || n == 0 {
		c.Fatalf("%d outputs are left out, and %d turns are completed; the log is\n%s", len(calls), n, h)
	}
	shown := resultsOf(c.model.last())
	if n := strings.Count(shown, leftOutNote); n != len(calls) {
		c.Errorf("%d outputs are left out, and the model reads %d notes", len(calls), n)
	}
	for n := range readingPages {
		id := events.CallID{Turn: 1, Step: n + 1, Ordinal: 1}
		if is := strings.Contains(shown, page(pageName(n+1))); is == slices.Contains(calls, id) {
			c.Errorf("page %d is shown: %t", n+1, is)
		}
	}
	return calls
}

// showsAgain wants the model to have been shown the same once more, in the next
// request or at the beginning of the last one.
func (c *chat) showsAgain(before model.Request) {
	c.Helper()
	last := c.model.last()
	if len(last.Messages) < len(before.Messages) {
		c.Fatalf("the model was shown %d messages, and then %d", len(before.Messages), len(last.Messages))
	}
	last.Messages = last.Messages[:len(before.Messages)]
	if string(last.Canonical()) != string(before.Canonical()) {
		c.Errorf("the model was shown other messages than before")
	}
}

// allPagesAreThere reads what people read.
func (c *chat) allPagesAreThere() {
	c.Helper()
	var text strings.Builder
	t := c.transcript()
	for _, m := range t.Messages {
		for _, p := range m.Parts {
			if p.Call == nil {
				continue
			}
			for _, shown := range p.Call.Result {
				text.WriteString(shown.Text)
			}
		}
	}
	for n := range readingPages {
		if !strings.Contains(text.String(), page(pageName(n+1))) {
			c.Errorf("page %d is not shown to people", n+1)
		}
	}
	if strings.Contains(text.String(), leftOutNote) || len(t.Marks) == 0 || t.Marks[0].Masked == 0 {
		c.Errorf("marks %+v", t.Marks)
	}
}
