package watch

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

const (
	// askAgain is between two questions of which the first was not answered.
	askAgain = time.Second

	// maxAttempts is how many attempts of a chat are kept: those that are open, and
	// the last ones before for watchers that have not come that far.
	maxAttempts = 8

	// itemBytes is what an item of the list takes besides what it holds.
	itemBytes = 256
)

// chat is what all watchers of a chat share.
//
// What came of it is a list, to which the hub appends. Each watcher has a place of
// its own in the list; what all have behind them is garbage.
type chat struct {
	key events.Key

	mu       sync.Mutex
	changed  chan struct{} // closed, and replaced, when there is something new for watchers
	last     *item
	attempts []*attempt
	watchers map[*Watcher]struct{}

	rev     uint64 // of the newest commit that is known of; 0 if none is
	era     int    // counts how often the log was replaced by another one
	gone    error  // why nobody may see the chat any more; nil if it is there
	open    bool   // a turn is, as of turnRev
	turnRev uint64

	// How the chat stands is asked by one watcher for all.
	asking bool
	stale  bool      // something may have been missed
	askAt  time.Time // not before then
}

// item is a place in the list. One of commit and event is set.
type item struct {
	commit *commit
	event  *Event // progress

	next   *item
	bytes  int64 // up to here, from the list's beginning
	events int64
}

func newChat(k events.Key) *chat {
	return &chat{key: k, changed: make(chan struct{}), last: &item{}, watchers: make(map[*Watcher]struct{})}
}

func (c *chat) join(w *Watcher, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.watchers) == 0 {
		c.askAt = now
	}
	c.watchers[w] = struct{}{}
	w.at, w.era = c.last, c.era
}

// leave gives how many watchers are left.
func (c *chat) leave(w *Watcher) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.watchers, w)
	w.drop()
	return len(c.watchers)
}

// wake tells the watchers to look. The caller holds the lock.
func (c *chat) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// missed notes that something may have been.
func (c *chat) missed(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale, c.askAt = true, now
	for _, a := range c.attempts {
		a.missing, a.reads = true, 0
	}
	c.wake()
}

// hear takes what the feed says of the chat. What cannot be read changes nothing:
// of a commit the next one tells.
func (c *chat) hear(kind protocol.FeedKind, body []byte, now time.Time) error {
	switch kind {
	case protocol.FeedCommit:
		said, err := readCommit(body)
		if err != nil {
			return err
		}
		c.put(func() { c.commit(said) }, now)
	case protocol.FeedDelta:
		var d protocol.Delta
		if err := json.Unmarshal(body, &d); err != nil {
			return err
		}
		e := Event{Kind: KindDelta, Data: body, Delta: &d}
		c.put(func() { c.attempt(d.Step, d.Attempt, d.I != 0).hear(e) }, now)
	case protocol.FeedProgress:
		var p protocol.Progress
		if err := json.Unmarshal(body, &p); err != nil {
			return err
		}
		e := &Event{Kind: KindProgress, Data: body, Progress: &p}
		c.put(func() { c.push(&item{event: e}, len(body)) }, now)
	}
	return nil
}

// put changes what the watchers share and tells them.
func (c *chat) put(change func(), now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stale {
		c.askAt = now // the silence begins anew
	}
	change()
	c.wake()
}

// commit takes a commit of the feed. The attempts that it requests begin here, so
// nothing of them was missed.
func (c *chat) commit(said *commit) {
	c.rev = max(c.rev, said.rev)
	c.turn(said)
	for _, closed := range said.closes {
		if a := c.find(closed.step, closed.n); a != nil {
			a.closed = true
		}
	}
	for _, opened := range said.opens {
		c.attempt(opened.step, opened.n, false)
	}
	c.push(&item{commit: said}, len(said.event.Data))
}

// push appends to the list, and drops those who have not come far enough in it.
func (c *chat) push(i *item, bytes int) {
	i.bytes, i.events = c.last.bytes+itemBytes+int64(bytes), c.last.events+1
	c.last.next, c.last = i, i
	for w := range c.watchers {
		if w.at == nil {
			continue
		}
		events, bytes := i.events-w.at.events, i.bytes-w.at.bytes
		if events > MaxBehindEvents || events > 1 && bytes > MaxBehindBytes {
			w.fallBehind()
		}
	}
}

// attempt finds an attempt, or begins to collect one. Missing says that what came
// of a new one before now is to be had only where it is stored.
func (c *chat) attempt(step events.StepID, n int, missing bool) *attempt {
	if a := c.find(step, n); a != nil {
		return a
	}
	a := &attempt{step: step, n: n, missing: missing}
	c.attempts = append(c.attempts, a)
	if len(c.attempts) > maxAttempts {
		c.attempts = append([]*attempt{}, c.attempts[1:]...)
	}
	return a
}

// find finds an attempt; nil if nobody collects it.
func (c *chat) find(step events.StepID, n int) *attempt {
	for _, a := range c.attempts {
		if a.step == step && a.n == n {
			return a
		}
	}
	return nil
}

// turn notes whether one is open.
func (c *chat) turn(said *commit) {
	if said.turn == turnStays || said.rev < c.turnRev {
		return
	}
	c.open, c.turnRev = said.turn == turnOpens, said.rev
}

// mayAsk reports whether it is time to ask how the chat stands, and if not, when it
// will be; a zero time is not before something else happens.
func (c *chat) mayAsk(silence time.Duration, now time.Time) (bool, time.Time) {
	if c.asking || !c.stale && !c.open {
		return false, time.Time{}
	}
	at := c.askAt
	if !c.stale {
		at = at.Add(silence)
	}
	return !now.Before(at), at
}

// answered takes how the chat stands, or why that could not be found out. Known is
// the newest rev that was known of before the question.
func (c *chat) answered(head transcript.Head, known uint64, err error, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking, c.askAt = false, now
	switch {
	case err == nil:
		c.stale = false
		c.stands(head, known)
	case isNo(err):
		c.stale, c.gone = false, err
	case c.stale:
		c.askAt = now.Add(askAgain)
	}
	c.wake() // also if there is no answer: one of the others may have to ask
}

// stands takes how the chat stood after known was its newest known rev.
func (c *chat) stands(head transcript.Head, known uint64) {
	c.reached(head.Rev, known)
	if head.Rev >= c.turnRev {
		c.open = head.Status == transcript.StatusRunning || head.Status == transcript.StatusInterrupting
		c.turnRev = head.Rev
	}
}

// reached takes the newest rev that the log has, asked for after known was known of.
// A lower one means that it is another log now: revs never go back in one.
func (c *chat) reached(rev, known uint64) {
	if rev >= known {
		c.rev = max(c.rev, rev)
		return
	}
	c.rev, c.turnRev = rev, 0
	c.era++
	c.attempts = nil
}

// known is the newest rev that is known of.
func (c *chat) known() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rev
}
