package orchestrator

import (
	"container/list"
	"slices"
	"sync"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// entry is a chat as it stood after one of its commits. It may be old: the
// fence of an append tells, and so does a look at the chat's last commit.
type entry struct {
	state    chat.State
	sequence uint64 // of the last commit folded, in its LOG stream; 0 if there is none
	bytes    int64  // of the commits folded
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
	written *written // if this process wrote its last commit
}

// written is what a process knows of a commit of its own that nobody has told it.
type written struct {
	at     time.Time
	asks   []attempt // the commit wants them
	handed int       // how often what is owed after it was handed out
}

// attempt names an attempt of a chat.
type attempt struct {
	step   events.StepID
	number int
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
			held.entry, held.written = e, nil
		}
	} else {
		c.chats[k] = c.recent.PushFront(&cached{key: k, entry: e})
		c.bytes += e.bytes
	}
	for c.bytes > c.limit && c.recent.Len() > 1 {
		c.drop(c.recent.Back())
	}
}

// wrote is put of a state whose last commit this process has just written.
func (c *cache) wrote(k events.Key, e entry, list []events.Event) {
	w := &written{at: time.Now()}
	for _, happened := range list {
		if r, ok := happened.(events.StepRequested); ok {
			w.asks = append(w.asks, attempt{step: r.Step, number: r.Attempt})
		}
	}
	c.put(k, e)
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.chats[k]; ok && at.Value.(*cached).sequence == e.sequence {
		at.Value.(*cached).written = w
	}
}

// handOut notes that work owed after that commit is being handed out.
func (c *cache) handOut(k events.Key, rev uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.chats[k]; ok {
		if held := at.Value.(*cached); held.written != nil && held.state.Rev() == rev {
			held.written.handed++
		}
	}
}

// isNews reports whether the newest commit known is one that this process wrote less
// than that long ago, which wants the attempt, and whose work was handed out no more
// than once.
func (c *cache) isNews(k events.Key, a attempt, within time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.chats[k]
	if !ok {
		return false
	}
	w := at.Value.(*cached).written
	return w != nil && w.handed <= 1 && slices.Contains(w.asks, a) && time.Since(w.at) < within
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
