package bench

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// loading is what an orchestrator did to have a chat's state: it asked for the
// snapshot at start, and had read the last commit it needed, and folded those
// before, at end. The mailbox, the decision and the answer do not count.
type loading struct {
	start, end time.Time
	lasts      int // how often the chat's last commit was read
	reads      int // commits
}

// load has a new orchestrator load the chat. It asks for the licence to run a
// call that has ended long ago: for the answer, no, the orchestrator needs the
// state, and it writes nothing.
func (r *rig) load(ctx context.Context, k events.Key) (loading, error) {
	w := &stopwatch{key: k, ready: make(chan struct{})}
	loader, err := r.startLoader(ctx, w)
	if err != nil {
		return loading{}, err
	}
	err = r.claimEnded(ctx, k, loader)
	loader.stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.loading, err
}

// startLoader starts an orchestrator that is watched, and takes nothing up by
// itself.
func (r *rig) startLoader(ctx context.Context, w *stopwatch) (running, error) {
	ctx, cancel := context.WithCancel(ctx)
	l := running{cancel: cancel, ended: make(chan struct{})}
	r.part("loader", func(nc *nats.Conn) error {
		defer close(l.ended)
		bus, err := streams.Open(ctx, nc, streams.Options{})
		if err != nil {
			return err
		}
		defer bus.Close()
		o, err := orchestrator.New(orchestrator.Config{Defaults: events.Settings{Model: modelName}}, orchestrator.Bus{
			Log: timedLog{bus.Log, w}, Commands: bus.Commands, Work: bus.Work, Timers: silentTimers{bus.Timers}, Requests: bus.Requests,
			Signals: bus.Signals, Feed: bus.Feed, Blobs: bus.Blobs, Tools: bus.Tools, Snapshots: timedSnapshots{bus.Snapshots, w}, Dead: bus.Dead,
		}, models)
		if err != nil {
			return err
		}
		return o.Run(ctx)
	})
	select {
	case <-w.ready:
		return l, nil
	case <-l.ended:
		cancel()
		return l, errors.New("bench: the loader does not start") // why is what close gives
	}
}

// claimPause is between two tries of a claim that nobody answers.
const claimPause = time.Millisecond

// claimEnded asks until the loader answers: it serves requests some time after it
// has begun.
func (r *rig) claimEnded(ctx context.Context, k events.Key, loader running) error {
	runner, err := streams.OpenRunner(r.nc, streams.Options{})
	if err != nil {
		return err
	}
	defer runner.Close()
	c := protocol.Claim{
		V: protocol.Version, Call: events.CallID{Turn: 1, Step: 1, Ordinal: 1}, Rev: 1, Claim: client.NewID(), Delivery: 1, Runner: Group,
	}
	for {
		answer, err := runner.Claim(ctx, k, c)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			select {
			case <-time.After(claimPause):
			case <-loader.ended:
				return errors.New("bench: the loader has ended") // why is what close gives
			}
		case answer.Answer != protocol.ClaimOver:
			return fmt.Errorf("bench: the claim of an ended call is answered by %s", answer.Answer)
		default:
			return nil
		}
	}
}

// stopwatch times what is done for one chat.
type stopwatch struct {
	key   events.Key
	ready chan struct{} // closed when the orchestrator has seen all chats

	once sync.Once
	mu   sync.Mutex
	loading
}

func (w *stopwatch) note(k events.Key, note func(now time.Time)) {
	if now := time.Now(); k == w.key {
		w.mu.Lock()
		defer w.mu.Unlock()
		note(now)
	}
}

type timedSnapshots struct {
	orchestrator.Snapshots
	w *stopwatch
}

// Get implements [orchestrator.Snapshots].
func (s timedSnapshots) Get(ctx context.Context, k events.Key, version int) ([]byte, error) {
	s.w.note(k, func(now time.Time) { s.w.start = now })
	return s.Snapshots.Get(ctx, k, version)
}

type timedLog struct {
	orchestrator.Log
	w *stopwatch
}

// Last implements [orchestrator.Log].
func (l timedLog) Last(ctx context.Context, k events.Key) (protocol.Stored, error) {
	m, err := l.Log.Last(ctx, k)
	l.w.note(k, func(now time.Time) { l.w.lasts, l.w.end = l.w.lasts+1, now })
	return m, err
}

// Read implements [orchestrator.Log].
func (l timedLog) Read(ctx context.Context, k events.Key, after, through uint64) iter.Seq2[protocol.Stored, error] {
	return func(yield func(protocol.Stored, error) bool) {
		reads := 0
		for m, err := range l.Log.Read(ctx, k, after, through) {
			reads++
			if !yield(m, err) {
				break
			}
		}
		l.w.note(k, func(now time.Time) { l.w.reads, l.w.end = l.w.reads+reads, now })
	}
}

// Heads implements [orchestrator.Log].
func (l timedLog) Heads(ctx context.Context, head func(protocol.Head), ready func()) error {
	return l.Log.Heads(ctx, head, func() {
		ready()
		l.w.once.Do(func() { close(l.w.ready) })
	})
}

// silentTimers never fire: a deadline would have the chat loaded, too.
type silentTimers struct{ orchestrator.Timers }

// FetchDue implements [orchestrator.Timers].
func (silentTimers) FetchDue(ctx context.Context, _ int) ([]protocol.Delivery, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
