package membus

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// work implements [orchestrator.Work].
type work struct{ p *Process }

func (w work) Put(ctx context.Context, item protocol.Work) (bool, error) {
	if t, ok := item.(protocol.Timer); ok {
		return false, fmt.Errorf("put work: timer %s belongs to the timers", t.Name)
	}
	subject := protocol.WorkSubject(item)
	body, err := json.Marshal(item)
	if err != nil {
		return false, fmt.Errorf("put work: %w", err)
	}
	return step(ctx, w.p, Op{Kind: "work.put", Subject: subject, Stage: StageWrite}, func(Fate) (bool, error) {
		s := w.p.server
		s.dispatched(subject)
		if s.work.holds(subject) {
			return false, nil
		}
		s.work.put(subject, nil, body)
		s.change()
		return true, nil
	})
}

func (w work) FetchModel(ctx context.Context, pool string, limit int) ([]protocol.Delivery, error) {
	return w.p.server.work.fetch(ctx, w.p, "work.model", prefixOf(protocol.ModelWorkFilter(pool)), limit)
}

func (w work) FetchChat(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	return w.p.server.work.fetch(ctx, w.p, "work.chat", chatWorkPrefix, limit)
}

func (w work) Delete(ctx context.Context, k events.Key) error {
	_, err := step(ctx, w.p, Op{Kind: "work.delete", Subject: protocol.WorkFilter(k), Stage: StageWrite}, func(Fate) (struct{}, error) {
		w.p.server.work.removeOf(k)
		w.p.server.change()
		return struct{}{}, nil
	})
	return err
}

// schedule is a timer that is set.
type schedule struct {
	subject string // where it is due
	body    []byte
	fires   time.Time
}

// maxLateness is how long after its time a schedule may fire.
const maxLateness = 400 * time.Millisecond

// fire moves what is due to its queue, in the order of time. The lock is held.
func (s *Server) fire() {
	now := time.Now()
	var due []*schedule
	for set, t := range s.schedules {
		if !t.fires.After(now) {
			due = append(due, t)
			delete(s.schedules, set)
		}
	}
	slices.SortFunc(due, func(a, b *schedule) int {
		if c := a.fires.Compare(b.fires); c != 0 {
			return c
		}
		return strings.Compare(a.subject, b.subject)
	})
	for _, t := range due {
		s.timers.put(t.subject, nil, t.body)
	}
}

// timers implements [orchestrator.Timers].
type timers struct{ p *Process }

func (t timers) Set(ctx context.Context, timer protocol.Timer) error {
	set := protocol.TimerSetSubject(timer.Key(), timer.Name)
	body, err := json.Marshal(timer)
	if err != nil {
		return fmt.Errorf("set timer: %w", err)
	}
	_, err = step(ctx, t.p, Op{Kind: "timers.set", Subject: set, Stage: StageWrite}, func(f Fate) (struct{}, error) {
		late := time.Duration(f.Draw % uint64(maxLateness))
		t.p.server.schedules[set] = &schedule{
			subject: protocol.TimerDueSubject(timer.Key(), timer.Name), body: body, fires: timer.Due.Time().Add(late),
		}
		t.p.server.dispatched(set)
		t.p.server.change()
		return struct{}{}, nil
	})
	return err
}

func (t timers) FetchDue(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	return t.p.server.timers.fetch(ctx, t.p, "timers.due", duePrefix, limit)
}
