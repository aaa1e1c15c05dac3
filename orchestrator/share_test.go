package orchestrator_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
)

const (
	poolSlots = 16
	mostOfOne = 12 // of a pool's slots, while others come as well
)

// laden is a model that takes a while, or until it is cancelled, for one tenant's input;
// it counts who is being asked.
type laden struct {
	*script

	mu       sync.Mutex
	now, top map[string]int // by input
}

func takesAWhile(long time.Duration) *laden {
	b := &laden{now: map[string]int{}, top: map[string]int{}}
	b.script = &script{say: func(ctx context.Context, _ int, r model.Request, yield func(model.Delta, error) bool) {
		who := r.Messages[len(r.Messages)-1].Parts[0].Text
		b.count(who, 1)
		defer b.count(who, -1)
		if who == "greedy" {
			select {
			case <-time.After(long):
			case <-ctx.Done():
				yield(model.Delta{}, &model.Error{Class: events.ClassCancelled, Message: "cancelled", Err: ctx.Err()})
				return
			}
		}
		yield(model.Delta{Answer: says("fine")}, nil)
	}}
	return b
}

func (b *laden) count(who string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now[who] += n
	b.top[who] = max(b.top[who], b.now[who])
}

func (b *laden) most(who string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.top[who]
}

func pool(c *orchestrator.Config, _ *orchestrator.Bus) {
	c.Pools = map[string]int{chat.DefaultPool: poolSlots}
}

func of(tenant string, n int) events.Key {
	return events.Key{Tenant: tenant, Chat: fmt.Sprint(n)}
}

// begin begins turns of a tenant in so many chats.
func (r *rig) begin(tenant string, chats int) {
	r.Helper()
	for n := range chats {
		r.do(of(tenant, n), create())
		r.do(of(tenant, n), send(tenant))
	}
}

func (r *rig) allDone(tenant string, chats int) {
	r.Helper()
	r.eventually("all turns of "+tenant+" are over", func() bool {
		for n := range chats {
			if !r.has(of(tenant, n), events.TurnCompleted{}.EventType()) {
				return false
			}
		}
		return true
	})
}

func TestATenantThatIsAloneHasTheWholePool(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		m := takesAWhile(time.Minute)
		r.start(m, pool)
		r.begin("greedy", 3*poolSlots)
		synctest.Wait()
		if got := m.most("greedy"); got != poolSlots {
			t.Errorf("%d models were asked at a time, want %d", got, poolSlots)
		}
	})
}

func TestATenantThatFillsAPoolLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		m := takesAWhile(time.Hour)
		r.start(m, pool)
		r.begin("polite", 1) // it was there lately
		r.allDone("polite", 1)
		r.begin("greedy", 20*poolSlots)
		synctest.Wait()
		if got := m.most("greedy"); got != mostOfOne {
			t.Errorf("%d models were asked at a time, want %d", got, mostOfOne)
		}
		began := time.Now()
		r.do(of("polite", 0), send("polite"))
		r.eventually("the other is answered", func() bool { return len(eventsOf[events.TurnCompleted](r, of("polite", 0))) == 2 })
		if took := time.Since(began); took > 2*lookAgain {
			t.Errorf("the other tenant has waited for %v", took)
		}
	})
}

// What waits for its tenant's share is asked in the end, once, by whoever has room.
func TestWhatIsOverAShareIsAskedOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		const chats, long = 10 * poolSlots, 2 * time.Second
		m := takesAWhile(long)
		one, two := r.start(m, pool), r.start(m, pool)
		r.do(of("polite", 0), create())
		asked := 0
		for ; one.counted("attempts", "ok") == 0 || two.counted("attempts", "ok") == 0; asked++ { // until each process has seen it
			r.do(of("polite", 0), send("polite"))
			r.eventually("the other is answered", func() bool { return len(eventsOf[events.TurnCompleted](r, of("polite", 0))) == asked+1 })
		}
		began := time.Now()
		r.begin("greedy", chats)
		r.allDone("greedy", chats)
		took, atOnce := time.Since(began), 2*mostOfOne
		if most := 2 * time.Duration(chats/atOnce+1) * long; took > most { // an even share takes half of it
			t.Errorf("all turns took %v, want %v at most: slots were free", took, most)
		}
		if got := len(m.requests()) - asked; got != chats {
			t.Errorf("models were asked %d times for %d turns", got, chats)
		}
		for _, p := range []*part{one, two} {
			if lost := p.counted("attempts.lost"); lost != 0 {
				t.Errorf("%d attempts were lost", lost)
			}
			if missing := p.counted("redispatched"); missing != 0 {
				t.Errorf("a sweep found %d pieces of work missing", missing)
			}
		}
		if one.counted("attempts.stood_back") == 0 || two.counted("attempts.stood_back") == 0 {
			t.Error("nobody had its share in one of the processes")
		}
	})
}

func TestWhatWaitsInAProcessThatDiesIsAskedByAnother(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		const chats = 4 * poolSlots
		m := takesAWhile(time.Second)
		one := r.start(m, pool)
		r.begin("polite", 1)
		r.allDone("polite", 1)
		r.begin("greedy", chats)
		one.process.Kill()
		<-one.ended
		r.start(m, pool)
		r.allDone("greedy", chats)
	})
}

// Whoever has never been there waits for the end of an attempt, and not for all that
// another tenant has in the queue.
func TestATenantThatComesForTheFirstTimeWaitsForOneAttempt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		const long = time.Minute
		m := takesAWhile(long)
		r.start(m, pool)
		r.begin("greedy", 20*poolSlots)
		began := time.Now()
		r.begin("polite", 1)
		r.allDone("polite", 1)
		if took := time.Since(began); took > 2*long {
			t.Errorf("the other tenant has waited for %v, while a model takes %v", took, long)
		}
	})
}

// While every slot is taken nobody fetches: what is put into the queue then lies there,
// before what others want next.
func TestAFullPoolDoesNotFillTheQueueWithWhatWaits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		r.start(&script{say: func(ctx context.Context, _ int, _ model.Request, yield func(model.Delta, error) bool) {
			hangs(ctx, yield)
		}}, pool)
		r.begin("polite", 1)
		r.begin("greedy", 20*poolSlots)
		r.begin("shy", poolSlots)
		<-time.After(time.Minute)
		if got := len(r.server.Work()); got > 3*poolSlots {
			t.Errorf("%d attempts are in the queue of a pool with %d slots", got, poolSlots)
		}
	})
}
