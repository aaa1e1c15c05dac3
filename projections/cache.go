package projections

import (
	"container/list"
	"context"
	"sync"

	"github.com/everturn/everturn/events"
)

// foldedAs names a fold: of a chat, to a point.
type foldedAs struct {
	key   events.Key
	until Point
}

// entry is a fold in the cache. Whoever holds its turnstile may use the fold.
type entry struct {
	as        foldedAs
	turnstile chan struct{}
	fold      *fold
	bytes     int64         // as counted by the cache
	element   *list.Element // nil once it was dropped
}

// enter waits for the fold; leave gives it to the next.
func (e *entry) enter(ctx context.Context) error {
	select {
	case e.turnstile <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *entry) leave() { <-e.turnstile }

// entryBytes is what an entry takes besides its commits.
const entryBytes = 1 << 10

// cache keeps the folds used last, up to a size.
type cache struct {
	limit int64

	mu      sync.Mutex
	bytes   int64
	entries map[foldedAs]*entry
	order   *list.List // of *entry, used last in front
}

func newCache(limit int64) *cache {
	return &cache{limit: limit, entries: make(map[foldedAs]*entry), order: list.New()}
}

// entry gives the entry of that name, a new one if there is none.
func (c *cache) entry(as foldedAs) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[as]; ok {
		c.order.MoveToFront(e.element)
		return e
	}
	e := &entry{as: as, turnstile: make(chan struct{}, 1), fold: newFold(as.key), bytes: entryBytes}
	e.element = c.order.PushFront(e)
	c.entries[as] = e
	c.bytes += e.bytes
	c.shrink()
	return e
}

// used counts what an entry has grown to, and makes room. A fold of nothing is
// not worth keeping: anybody can ask for chats that do not exist.
func (c *cache) used(e *entry, commitBytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.element == nil {
		return
	}
	if commitBytes == 0 {
		c.drop(e)
		return
	}
	bytes := entryBytes + int64(commitBytes)
	c.bytes += bytes - e.bytes
	e.bytes = bytes
	c.shrink()
}

// shrink drops what was not used for longest. Who uses a dropped entry keeps it
// until done.
func (c *cache) shrink() {
	for c.bytes > c.limit && c.order.Len() > 1 {
		c.drop(c.order.Back().Value.(*entry))
	}
}

func (c *cache) drop(e *entry) {
	c.order.Remove(e.element)
	e.element = nil
	delete(c.entries, e.as)
	c.bytes -= e.bytes
}
