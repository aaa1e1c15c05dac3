package watch_test

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
	"github.com/everturn/everturn/gateway/watch"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
)

var ann = events.Key{Tenant: "acme", Chat: "ann"}

// noon is when the chats of these tests begin; each commit comes a second later.
var noon = events.At(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC))

// world is a log, a feed and the real answers to queries about the log.
type world struct {
	*testing.T
	answers *projections.Projections

	mu        sync.Mutex
	log       map[events.Key][]protocol.Stored
	deltas    map[events.Key][]protocol.Delta // that the feed still has
	listeners []*listener
	asked     map[string]int // queries, by name; "deltas" are reads of the feed
	down      bool           // nobody answers
}

type listener struct {
	gap func()
	on  func(events.Key, protocol.FeedKind, []byte)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, log: map[events.Key][]protocol.Stored{}, deltas: map[events.Key][]protocol.Delta{}, asked: map[string]int{}}
	w.restartProjections()
	return w
}

// restartProjections makes them forget what they have read.
func (w *world) restartProjections() {
	w.Helper()
	answers, err := projections.New(projections.Config{Log: w})
	if err != nil {
		w.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = answers
}

// hub runs one until the test ends, and returns when it hears the feed.
func (w *world) hub(cfg watch.Config) *watch.Hub {
	w.Helper()
	cfg.Feed, cfg.Chats = w, w
	h, err := watch.New(cfg)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	w.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("the hub ended with %v", err)
		}
		if n := h.Watchers(); n != 0 {
			w.Errorf("%d watchers are left", n)
		}
	})
	return h
}

// Last implements [projections.Log].
func (w *world) Last(_ context.Context, k events.Key) (protocol.Stored, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.log[k]
	if len(list) == 0 {
		return protocol.Stored{}, protocol.ErrNotFound
	}
	return list[len(list)-1], nil
}

// Read implements [projections.Log].
func (w *world) Read(_ context.Context, k events.Key, after, through uint64) iter.Seq2[protocol.Stored, error] {
	w.mu.Lock()
	list := slices.Clone(w.log[k])
	w.mu.Unlock()
	return func(yield func(protocol.Stored, error) bool) {
		for _, m := range list {
			if m.Sequence > after && m.Sequence <= through && !yield(m, nil) {
				return
			}
		}
	}
}

// Query implements [watch.Chats].
func (w *world) Query(ctx context.Context, tenant, name string, question, answer any) error {
	w.mu.Lock()
	w.asked[name]++
	down, answers := w.down, w.answers
	w.mu.Unlock()
	if down {
		return errors.New("nobody answers")
	}
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	said, err := answers.Queries()[name](ctx, tenant, body)
	if err != nil {
		return err
	}
	return json.Unmarshal(said, answer)
}

// Follow implements [watch.Feed].
func (w *world) Follow(ctx context.Context, gap func(), on func(events.Key, protocol.FeedKind, []byte)) error {
	l := &listener{gap, on}
	w.mu.Lock()
	w.listeners = append(w.listeners, l)
	w.mu.Unlock()
	gap()
	<-ctx.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listeners = slices.DeleteFunc(w.listeners, func(other *listener) bool { return other == l })
	return ctx.Err()
}

// Deltas implements [watch.Feed].
func (w *world) Deltas(_ context.Context, k events.Key, step events.StepID, attempt int) ([]protocol.Delta, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked["deltas"]++
	if w.down {
		return nil, errors.New("nobody answers")
	}
	var list []protocol.Delta
	for _, d := range w.deltas[k] {
		if d.Step == step && d.Attempt == attempt {
			list = append(list, d)
		}
	}
	return list, nil
}

// store appends a commit to the log; the feed does not say so.
func (w *world) store(k events.Key, list ...events.Event) []byte {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	rev, prev := uint64(len(w.log[k])+1), ""
	if rev > 1 {
		prev = events.Hash(w.log[k][rev-2].Body)
	}
	body, err := events.Encode(events.Commit{
		ID: fmt.Sprintf("commit-%d", rev), Key: k, Rev: rev, Prev: prev, At: noon.Add(time.Duration(rev) * time.Second),
		Cause: events.Cause{Kind: events.CausedByCommand, ID: fmt.Sprintf("command-%d", rev)}, Events: list,
	})
	if err != nil {
		w.Fatal(err)
	}
	w.log[k] = append(w.log[k], protocol.Stored{Sequence: 10 * rev, Body: body})
	return body
}

// say appends a commit, and the feed says so.
func (w *world) say(k events.Key, list ...events.Event) {
	w.Helper()
	w.tell(k, protocol.FeedCommit, w.store(k, list...))
}

// tell is what the feed says.
func (w *world) tell(k events.Key, kind protocol.FeedKind, body []byte) {
	w.mu.Lock()
	all := slices.Clone(w.listeners)
	w.mu.Unlock()
	for _, l := range all {
		l.on(k, kind, body)
	}
}

// gap is what happens when the feed was not heard for a while.
func (w *world) gap() {
	w.mu.Lock()
	all := slices.Clone(w.listeners)
	w.mu.Unlock()
	for _, l := range all {
		l.gap()
	}
}

// keep stores a delta, as if it had been sent before somebody listened.
func (w *world) keep(k events.Key, turn, step, attempt, i int) []byte {
	w.Helper()
	d := protocol.Delta{
		Turn: turn, Step: events.StepID{Turn: turn, Step: step}, Attempt: attempt, I: i, Kind: "text", Text: fmt.Sprintf("%d.%d#%d:%d ", turn, step, attempt, i),
	}
	w.mu.Lock()
	w.deltas[k] = append(w.deltas[k], d)
	w.mu.Unlock()
	body, err := json.Marshal(d)
	if err != nil {
		w.Fatal(err)
	}
	return body
}

// speak sends a delta.
func (w *world) speak(k events.Key, turn, step, attempt, i int) {
	w.Helper()
	w.tell(k, protocol.FeedDelta, w.keep(k, turn, step, attempt, i))
}

func (w *world) silence(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = on
}

// questions is how often something was asked.
func (w *world) questions(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[name]
}

// seat is a watcher of the test.
type seat struct {
	*world
	w *watch.Watcher
}

func (w *world) watch(h *watch.Hub, k events.Key, cursor string) seat {
	w.Helper()
	watcher, err := h.Open(w.Context(), k, cursor)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(watcher.Close)
	return seat{w, watcher}
}

// next is the next thing in short: "snapshot 3", "commit 4", "2.1#1:0", "reset ahead".
func (s seat) next() string {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	e, err := s.w.Next(ctx)
	if err != nil {
		return err.Error()
	}
	return short(e)
}

func short(e watch.Event) string {
	switch e.Kind {
	case watch.KindDelta:
		return fmt.Sprintf("%s#%d:%d", e.Delta.Step, e.Delta.Attempt, e.Delta.I)
	case watch.KindReset:
		return "reset " + string(e.Reset.Why)
	case watch.KindProgress:
		return "progress " + e.Progress.Text
	case watch.KindSnapshot, watch.KindCommit:
	}
	return fmt.Sprintf("%s %d", e.Kind, e.Rev)
}

// sees checks what comes next.
func (s seat) sees(want ...string) {
	s.Helper()
	for _, want := range want {
		if got := s.next(); got != want {
			s.Fatalf("got %q, want %q", got, want)
		}
	}
}

// seesNothing checks that nothing comes for a while.
func (s seat) seesNothing() {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Second)
	defer cancel()
	if e, err := s.w.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		s.Fatalf("got %q, %v, want nothing", short(e), err)
	}
}

// The events of these stories.

func said(input string) events.Event {
	return events.InputAccepted{Input: input, Parts: []events.Part{events.Text("hello")}, Mode: events.ModeQueue, By: "user:ann"}
}

func started(turn int, inputs ...string) events.Event {
	return events.TurnStarted{Turn: turn, Parent: turn - 1, Cause: events.CauseInput, Inputs: inputs, Rules: 1, PromptRules: 1, At: noon}
}

func asked(turn, step, attempt int) events.Event {
	return events.StepRequested{Step: events.StepID{Turn: turn, Step: step}, Purpose: events.PurposeAnswer, Attempt: attempt, Model: "small"}
}

func failed(turn, step, attempt int) events.Event {
	return events.StepFailed{Step: events.StepID{Turn: turn, Step: step}, Attempt: attempt, Class: events.ClassOverloaded}
}

func answered(turn, step, attempt int) events.Event {
	return events.StepCompleted{
		Step: events.StepID{Turn: turn, Step: step}, Attempt: attempt, Parts: []events.Part{events.Text("so it is")}, Stop: events.StopEnd,
	}
}

func ended(turn int) events.Event {
	return events.TurnCompleted{Turn: turn, Finish: events.FinishComplete}
}

// running is a chat with an open turn, whose model is being asked: three commits.
func (w *world) running(k events.Key) {
	w.Helper()
	w.say(k, events.ChatCreated{})
	w.say(k, said("a"), started(1, "a"))
	w.say(k, asked(1, 1, 1))
}
