package orchestrator

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Numbers of the sweep.
const (
	sweepEvery     = time.Second      // a look at which chats have been still
	sweepsAtOnce   = 16               // chats whose dispatch is being repeated
	oldestEvery    = time.Minute      // a look at the oldest stored command
	oldAfter       = 60 * time.Second // a command stored for so long is handled as if delivered
	sweptPerMinute = 10_000           // such commands, at most
)

// sweepChats repeats the dispatch of chats that owe: of all at once whenever
// the list was read anew, and of those that have been still for a while. If all
// is well every piece of work is there already and nothing happens.
func (o *Orchestrator) sweepChats(ctx, working context.Context) {
	room := newSlots(sweepsAtOnce)
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		var list []events.Key
		select {
		case <-o.heads.anew:
			list = o.heads.all()
		case <-ticker.C:
			select {
			case <-o.heads.anew: // whichever of both was seen first
				list = o.heads.all()
			default:
				list = o.heads.still(time.Now())
			}
		case <-ctx.Done():
			return
		}
		for _, k := range list {
			if !room.wait(ctx) {
				return
			}
			o.boxes.post(k, task{
				run: func() error { return o.sweepChat(working, k) },
				done: func(err error) {
					o.endSweep(working, k, err)
					room.free(1)
				},
			})
		}
	}
}

// sweepChat repeats one chat's dispatch.
func (o *Orchestrator) sweepChat(ctx context.Context, k events.Key) error {
	if o.isStopping() {
		return nil
	}
	e, err := o.fresh(ctx, k)
	if err != nil {
		return err
	}
	o.metrics.sweeps.Add(ctx, 1)
	stored, err := o.dispatchOnce(ctx, e.state)
	if stored > 0 {
		o.metrics.redispatched.Add(ctx, int64(stored))
		o.log.Warn("work was missing and is dispatched again", "chat", k, "rev", e.state.Rev(), "pieces", stored)
	}
	return err
}

func (o *Orchestrator) endSweep(ctx context.Context, k events.Key, err error) {
	switch {
	case err == nil, isStopped(err), o.isVersion(ctx, err):
	case o.isFault(err):
		o.fault(ctx, "sweep", k, err)
	default:
		o.log.Warn("chat not swept", "chat", k, "error", err)
	}
}

// sweepCommands handles what has been stored for too long as if it were
// delivered: a queue may have lost its place.
func (o *Orchestrator) sweepCommands(ctx, working context.Context) {
	for pause(ctx, oldestEvery) {
		from := uint64(1)
		for range sweptPerMinute {
			next, ok := o.sweepOldest(ctx, working, from)
			if !ok {
				break
			}
			from = next
		}
	}
}

// sweepOldest handles the oldest command stored from a sequence on, if it is
// old, and gives the sequence to go on from. One that cannot be settled now
// holds up no other.
func (o *Orchestrator) sweepOldest(ctx, working context.Context, from uint64) (next uint64, ok bool) {
	m, err := o.oldest(ctx, from)
	switch {
	case errors.Is(err, protocol.ErrNotFound), ctx.Err() != nil:
		return 0, false
	case err != nil:
		o.log.Warn("cannot see the oldest command", "error", err)
		return 0, false
	case o.cfg.Clock().Sub(m.Time) < oldAfter:
		return 0, false
	}
	o.metrics.sweptLate.Add(ctx, 1)
	o.log.Warn("a command was stored for long and is handled now", "subject", m.Subject, "sequence", m.Sequence)
	var handled sync.WaitGroup
	handled.Add(1)
	o.takeCommand(working, swept{message: m, commands: o.bus.Commands, count: durableFrom}, time.Now(), handled.Done)
	handled.Wait()
	return m.Sequence + 1, true
}

func (o *Orchestrator) oldest(ctx context.Context, from uint64) (protocol.Stored, error) {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
	defer cancel()
	return o.bus.Commands.Oldest(ctx, from)
}

// swept is a stored command in the form of a delivery: settled by deleting it,
// given back by leaving it where it is.
type swept struct {
	message  protocol.Stored
	commands Commands
	count    uint64 // [durableFrom] of one whose deciding may have ended processes
}

func (s swept) Subject() string          { return s.message.Subject }
func (s swept) Header(key string) string { return s.message.Get(key) }
func (s swept) Body() []byte             { return s.message.Body }
func (s swept) Sequence() uint64         { return s.message.Sequence }
func (s swept) Stored() time.Time        { return s.message.Time }
func (s swept) Count() uint64            { return s.count }

func (s swept) InProgress(context.Context) error           { return nil }
func (s swept) Ack(ctx context.Context) error              { return s.commands.Delete(ctx, s.message.Sequence) }
func (s swept) Later(context.Context, time.Duration) error { return nil }
