package orchestrator_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

// skipping is a queue whose position went beyond some messages: they are stored,
// and never delivered.
type skipping struct {
	orchestrator.Commands
	count int

	mu      *sync.Mutex
	skipped map[uint64]bool // by sequence
}

func (q skipping) Fetch(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	for {
		got, err := q.Commands.Fetch(ctx, limit)
		if err != nil {
			return nil, err
		}
		if kept := q.keep(got); len(kept) > 0 {
			return kept, nil
		}
	}
}

func (q skipping) keep(got []protocol.Delivery) []protocol.Delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	var kept []protocol.Delivery
	for _, d := range got {
		if len(q.skipped) < q.count {
			q.skipped[d.Sequence()] = true
		}
		if !q.skipped[d.Sequence()] {
			kept = append(kept, d)
		}
	}
	return kept
}

// B57: the position of the queue is beyond five commands that nobody was given.
// The sweep looks at what is stored and not at where the queue stands: none of
// them waits longer than two of its periods, and that it had to is counted.
func TestB57CommandsThatTheQueueSkippedAreDecided(t *testing.T) {
	t.Parallel()
	const (
		skipped = 5
		period  = time.Minute
	)
	inBubble(t, func(r *rig) {
		o := r.start(answers(says("fine")), func(_ *orchestrator.Config, b *orchestrator.Bus) {
			b.Commands = skipping{b.Commands, skipped, &sync.Mutex{}, map[uint64]bool{}}
		})
		began := time.Now()
		var outcomes []func() protocol.Reply
		for n := range skipped + 2 {
			_, outcome := r.command(events.Key{Tenant: tenant, Chat: fmt.Sprintf("c%d", n)}, create())
			outcomes = append(outcomes, outcome)
		}
		for n, outcome := range outcomes {
			if reply := outcome(); !reply.OK {
				r.Errorf("command %d: %+v", n, reply)
			}
		}
		if took := time.Since(began); took > 2*period {
			r.Errorf("the last was decided after %v, want %v at most", took, 2*period)
		}
		if n := o.counted("sweeps.commands"); n != skipped {
			r.Errorf("%d commands are counted as swept, want %d", n, skipped)
		}
	})
}
