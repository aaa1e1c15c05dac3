package orchestrator

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// entry is a chat as it stood after one of its commits. It may be old: the
// fence of an append tells, and so does a look at the chat's last commit.
type entry struct {
	state    chat.State
	sequence uint64   // of the last commit folded, in its LOG stream; 0 if there is none
	bytes    int64    // of the commits folded
	written  *written // if this process has written the last of them
}

// written is what only the writer of a commit knows of it.
type written struct {
	at     time.Time
	handed atomic.Int64 // how often work that the commit wants was handed out
}

// isNews reports whether w is the work that the last commit wants, which this process
// has written just now and handed out no more than once.
func (e entry) isNews(w protocol.ModelWork) bool {
	return e.written != nil && w.Rev == e.state.Rev() && e.written.handed.Load() <= 1 && time.Since(e.written.at) < newsTakes
}

// cache keeps the states of the chats used last, bounded by the bytes of the
// commits they were folded from, and why chats were stopped.
type cache struct {
	limit int64

	mu      sync.Mutex
	bytes   int64
	chats   map[events.Key]*list.Element // of *cached
	recent  *list.List                   // the one used last in front
	stopped map[events.Key]string
}

type cached struct {
	key events.Key
	entry
}

func newCache(limit int64) *cache {
	return &cache{
		limit: limit, chats: make(map[events.Key]*list.Element), recent: list.New(),
		stopped: make(map[events.Key]string),
	}
}

// get gives the newest state known, if one is kept.
func (c *cache) get(k events.Key) (entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.chats[k]
	if !ok {
		return entry{}, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*cached).entry, true
}

// put keeps e unless a newer state is kept.
func (c *cache) put(k events.Key, e entry) {
	if e.sequence == 0 {
		return // a chat that is not there costs nothing to look for
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, stopped := c.stopped[k]; stopped {
		return
	}
	if at, ok := c.chats[k]; ok {
		held := at.Value.(*cached)
		c.recent.MoveToFront(at)
		if held.sequence < e.sequence {
			c.bytes += e.bytes - held.bytes
			held.entry = e
		}
	} else {
		c.chats[k] = c.recent.PushFront(&cached{key: k, entry: e})
		c.bytes += e.bytes
	}
	for c.bytes > c.limit && c.recent.Len() > 1 {
		c.drop(c.recent.Back())
	}
}

// handOut notes that work which that commit wants is being handed out.
func (c *cache) handOut(k events.Key, rev uint64) {
	if e, ok := c.get(k); ok && e.written != nil && e.state.Rev() == rev {
		e.written.handed.Add(1)
	}
}

// stop makes the chat one that takes no commands, until this process ends.
func (c *cache) stop(k events.Key, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped[k] = why
	if e, ok := c.chats[k]; ok {
		c.drop(e)
	}
}

// why says why the chat was stopped.
func (c *cache) why(k events.Key) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	why, stopped := c.stopped[k]
	return why, stopped
}

func (c *cache) drop(e *list.Element) {
	held := c.recent.Remove(e).(*cached)
	delete(c.chats, held.key)
	c.bytes -= held.bytes
}
