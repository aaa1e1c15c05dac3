package orchestrator

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// stillFor is how long a chat that owes must have been still before its
// dispatch is repeated: the first time, the second, and from then on.
var stillFor = [...]time.Duration{15 * time.Second, 30 * time.Second, 60 * time.Second}

// heads knows of every chat that owes something. It holds nothing of the others.
type heads struct {
	mu    sync.Mutex
	owing map[events.Key]*owing
	anew  chan struct{} // the whole list has been read, again or for the first time
}

// owing is a chat that owes.
type owing struct {
	sequence uint64
	due      time.Time // when its dispatch is repeated if it has not moved until then
	repeated int       // how often that was done since it moved
}

func newHeads() *heads {
	return &heads{owing: make(map[events.Key]*owing), anew: make(chan struct{}, 1)}
}

// followHeads reads the last commit of every chat and then each as it is
// stored, until ctx ends or one may have been missed.
func (o *Orchestrator) followHeads(ctx context.Context) error {
	o.heads.reset()
	return o.bus.Log.Heads(ctx, o.heads.see, o.heads.ready)
}

// reset forgets everything, before it is read again.
func (h *heads) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.owing)
}

// see takes a chat's newest commit.
func (h *heads) see(head protocol.Head) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.owing[head.Key]
	switch {
	case ok && known.sequence >= head.Sequence:
	case head.Owes == "":
		delete(h.owing, head.Key)
	default:
		h.owing[head.Key] = &owing{sequence: head.Sequence, due: time.Now().Add(stillFor[0])}
	}
}

// newest is the sequence of the newest commit seen of a chat that owes; 0 of one
// that owes nothing, or was not seen yet.
func (h *heads) newest(k events.Key) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if known, ok := h.owing[k]; ok {
		return known.sequence
	}
	return 0
}

// ready says that every chat has been seen.
func (h *heads) ready() {
	select {
	case h.anew <- struct{}{}:
	default:
	}
}

// all lists the chats that owe, in order.
func (h *heads) all() []events.Key {
	return h.pick(func(*owing) bool { return true })
}

// still lists those that have been still for long enough, and sets when each of
// them is due again.
func (h *heads) still(now time.Time) []events.Key {
	return h.pick(func(c *owing) bool {
		if now.Before(c.due) {
			return false
		}
		c.repeated = min(c.repeated+1, len(stillFor)-1)
		c.due = now.Add(stillFor[c.repeated])
		return true
	})
}

func (h *heads) pick(wanted func(*owing) bool) []events.Key {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []events.Key
	for k, c := range h.owing {
		if wanted(c) {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, events.Key.Compare)
	return list
}
