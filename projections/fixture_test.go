package projections_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
)

var ann = events.Key{Tenant: "acme", Chat: "ann"}

// noon is when the chats of these tests begin; each commit comes a second later.
var noon = events.At(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC))

// book is a log in memory. The zero book is empty.
type book struct {
	mu     sync.Mutex
	stored map[events.Key][]protocol.Stored
	prev   map[events.Key]string
	reads  int   // commits read
	broken error // what every question is answered with
	short  bool  // a read ends early, without an error
}

func (b *book) Last(_ context.Context, k events.Key) (protocol.Stored, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.stored[k]
	switch {
	case b.broken != nil:
		return protocol.Stored{}, b.broken
	case len(list) == 0:
		return protocol.Stored{}, fmt.Errorf("log of %s: %w", k, protocol.ErrNotFound)
	}
	return list[len(list)-1], nil
}

func (b *book) Read(_ context.Context, k events.Key, after, through uint64) iter.Seq2[protocol.Stored, error] {
	b.mu.Lock()
	list := slices.Clone(b.stored[k])
	short := b.short
	b.mu.Unlock()
	return func(yield func(protocol.Stored, error) bool) {
		for i, m := range list {
			if m.Sequence <= after || m.Sequence > through || short && i == len(list)-1 {
				continue
			}
			b.mu.Lock()
			b.reads++
			b.mu.Unlock()
			if !yield(m, nil) {
				return
			}
		}
	}
}

// write appends a commit.
func (b *book) write(k events.Key, cause events.Cause, list ...events.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stored == nil {
		b.stored, b.prev = make(map[events.Key][]protocol.Stored), make(map[events.Key]string)
	}
	rev := uint64(len(b.stored[k]) + 1)
	body, err := events.Encode(events.Commit{
		ID: fmt.Sprintf("commit-%d", rev), Key: k, Rev: rev, Prev: b.prev[k],
		At: noon.Add(time.Duration(rev) * time.Second), Cause: cause, Events: list,
	})
	if err != nil {
		panic(err)
	}
	b.put(k, body)
}

// put appends bytes, whatever they are. The caller holds mu or is alone.
func (b *book) put(k events.Key, body []byte) {
	n := len(b.stored[k])
	b.stored[k] = append(b.stored[k], protocol.Stored{Sequence: uint64(10 * (n + 1)), Body: body})
	b.prev[k] = events.Hash(body)
}

func (b *book) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reads
}

// story is a chat as its events; each list is a commit.
type story [][]events.Event

// written is a book with one chat in it.
func (s story) written() *book {
	b := &book{}
	for i, list := range s {
		b.write(ann, command(fmt.Sprintf("command-%d", i+1)), list...)
	}
	return b
}

func command(id string) events.Cause {
	return events.Cause{Kind: events.CausedByCommand, ID: id, By: "user:ann"}
}

func open(t *testing.T, b *book, blobs projections.Blobs) *projections.Projections {
	t.Helper()
	p, err := projections.New(projections.Config{Log: b, Blobs: blobs})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// transcript is the whole of ann's chat.
func transcript(t *testing.T, b *book) projections.Transcript {
	t.Helper()
	got, err := open(t, b, nil).Transcript(t.Context(), ann.Tenant, projections.TranscriptRequest{Chat: ann.Chat})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func codeOf(err error) events.Code {
	if refused, ok := errors.AsType[*protocol.RefusedError](err); ok {
		return refused.Code
	}
	return ""
}

// The events of these stories.

func created() events.Event { return events.ChatCreated{} }

func said(input, text string) events.Event {
	return events.InputAccepted{Input: input, Parts: []events.Part{events.Text(text)}, Mode: events.ModeQueue, By: "user:ann"}
}

func started(turn int, inputs ...string) events.Event {
	return events.TurnStarted{Turn: turn, Parent: turn - 1, Cause: events.CauseInput, Inputs: inputs, Rules: 1, PromptRules: 1, At: noon}
}

func asked(turn, step, attempt int) events.Event {
	return events.StepRequested{Step: events.StepID{Turn: turn, Step: step}, Purpose: events.PurposeAnswer, Attempt: attempt, Model: "small"}
}

func answered(turn, step int, parts ...events.Part) events.Event {
	stop := events.StopEnd
	for i := range parts {
		if parts[i].Type == events.PartCall {
			stop = events.StopCalls
		}
	}
	return events.StepCompleted{
		Step: events.StepID{Turn: turn, Step: step}, Attempt: 1, Parts: parts, Stop: stop,
		Usage: events.Usage{Input: 10, Output: 5}, Provider: events.Provider{Model: "small-1"},
	}
}

func call(ordinal int, name, arguments string) events.Part {
	return events.Part{Type: events.PartCall, Ordinal: ordinal, Name: name, Arguments: arguments}
}

func handedOut(turn, step, ordinal int) events.Event {
	return events.ToolRequested{Call: events.CallID{Turn: turn, Step: step, Ordinal: ordinal}}
}

func running(turn, step, ordinal int) events.Event {
	return events.ToolStarted{Call: events.CallID{Turn: turn, Step: step, Ordinal: ordinal}, Claim: "claim"}
}

func result(turn, step, ordinal int, status events.ToolStatus, text string) events.Event {
	return events.ToolCompleted{
		Call: events.CallID{Turn: turn, Step: step, Ordinal: ordinal}, Status: status,
		Parts: []events.Part{events.Text(text)}, IsError: status != events.ToolOK,
	}
}

func completed(turn int) events.Event {
	return events.TurnCompleted{Turn: turn, Finish: events.FinishComplete, Totals: events.Totals{Steps: 1, Attempts: 1}}
}

// oneTurn is a question and its answer.
func oneTurn() story {
	return story{
		{created()},
		{said("i1", "what is it?"), started(1, "i1"), asked(1, 1, 1)},
		{answered(1, 1, events.Text("it is late")), completed(1)},
	}
}

func decoded(t *testing.T, answer []byte) projections.Transcript {
	t.Helper()
	var got projections.Transcript
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func decodedPage(t *testing.T, p *projections.Projections) projections.Transcript {
	t.Helper()
	answer, err := ask(t, p, "transcript", `{"chat":"ann"}`)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, answer)
}
