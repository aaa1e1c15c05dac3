package orchestrator_test

import (
	"context"
	"errors"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

// thief takes what is queued for models and throws it away.
func (r *rig) thief() {
	r.Helper()
	list, err := r.server.Process("thief").Orchestrator().Work.FetchModel(r.Context(), chat.DefaultPool, 1)
	if err != nil {
		r.Fatal(err)
	}
	if err := list[0].Ack(r.Context()); err != nil {
		r.Fatal(err)
	}
}

func TestTheSweepFindsLostWork(t *testing.T) {
	t.Parallel()

	t.Run("while it runs", func(t *testing.T) {
		t.Parallel()

		inBubble(t, func(r *rig) {
			noModels := func(c *orchestrator.Config, _ *orchestrator.Bus) { c.Pools = map[string]int{} }
			o := r.start(answers(says("fine")), noModels)
			r.do(chatA, create())
			r.do(chatA, send("hi"))
			r.thief()
			r.eventually("the work is there again", func() bool { return o.counted("redispatched") == 1 })
			r.start(answers(says("fine")), nil)
			r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
		})
	})
	t.Run("when it starts", func(t *testing.T) {
		t.Parallel()

		inBubble(t, func(r *rig) {
			noModels := func(c *orchestrator.Config, _ *orchestrator.Bus) { c.Pools = map[string]int{} }
			r.start(answers(says("fine")), noModels)
			r.do(chatA, create())
			r.do(chatA, send("hi"))
			r.thief()
			o := r.start(answers(says("fine")), nil)
			r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
			if n := o.counted("redispatched"); n != 1 {
				r.Errorf("%d pieces of work dispatched again, want 1", n)
			}
		})
	})
}

// starved is a queue that hands over nothing.
type starved struct{ orchestrator.Commands }

func (starved) Fetch(ctx context.Context, _ int) ([]protocol.Delivery, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestTheSweepHandlesCommandsThatAreNotDelivered(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		o := r.start(answers(says("fine")), func(_ *orchestrator.Config, b *orchestrator.Bus) {
			b.Commands = starved{b.Commands}
			poisoned(func() { panic("a bug") })(nil, b)
		})
		_, created := r.command(chatA, create())
		r.raw(chatA, "send", "01ARZ3NDEKTSV4RRFFQ69G5FAV", []byte("{"))
		r.command(chatA, send(poison))
		_, other := r.command(events.Key{Tenant: tenant, Chat: "b"}, create())
		if reply := created(); !reply.OK {
			r.Errorf("create: %+v", reply)
		}
		if reply := other(); !reply.OK {
			r.Errorf("a command behind one that nobody can decide: %+v", reply)
		}
		r.eventually("nothing is stored any more", func() bool {
			_, err := r.server.Process("x").Orchestrator().Commands.Oldest(r.Context(), 0)
			return errors.Is(err, protocol.ErrNotFound)
		})
		if n := o.counted("sweeps.commands"); n < 4 {
			r.Errorf("%d commands were swept, want at least 4", n)
		}
	})
}
