package orchestrator

import (
	"sync"
	"time"

	"github.com/everturn/everturn/protocol"
)

const (
	// shareOfFree is how many times the slots that are free a tenant may hold while
	// others come as well: three times leaves it three quarters of a pool, if nobody
	// else wants any, and the last quarter to whoever comes next.
	shareOfFree = 3

	// companyFor is how long a tenant is reckoned with that asked for a model. One that
	// comes after a longer time may have to wait for the end of an attempt, once.
	companyFor = 10 * time.Minute

	// offerEvery is how often what waits is offered to whoever has room: another
	// process may have some, and none of the tenant's work.
	offerEvery = 250 * time.Millisecond

	// ackSettles is how long work stays away from the queue that was just taken out of
	// it: before the queue knows that, it holds the same work for there already.
	ackSettles = 100 * time.Millisecond

	// staleAfter is when work that waits is given up if its chat owes nothing any more.
	staleAfter = 5 * time.Second

	// waitsFor is how long after a tenant had its share some of its work may still wait
	// in another process.
	waitsFor = 2 * time.Minute

	// maxWaitingWork bounds what a process keeps in mind for a pool. The log owes what
	// is beyond that: the sweep brings it again.
	maxWaitingWork = 100_000
)

// share divides the slots of a pool among tenants, in one process.
//
// A tenant may take one more slot while it holds fewer than [shareOfFree] times
// those that are free; one that is alone takes all. So whoever fills a pool leaves
// some of it free, the more tenants the less each, and who comes next need not wait
// until a model has finished. Work that is over the share is taken out of the queue,
// in which it would stand before that of others, and waits here: it is put back
// when there is room. Nothing is lost with this list, as the log owes all of it.
type share struct {
	slots int
	wake  chan struct{} // there may be room for what waits

	mu      sync.Mutex
	inHand  int
	held    map[string]int // slots, by tenant; no zeros
	coming  map[string]int // put back since the last look and not seen again
	onWay   int            // the sum of coming
	waiting map[string]*backlog
	known   map[string]bool      // the subjects of what waits
	stood   map[string]time.Time // when work of a tenant stood back last
	latest  company
	before  company // the latest of another tenant
}

// company is a tenant that was there.
type company struct {
	tenant string
	at     time.Time
}

// backlog is what waits of a tenant.
type backlog struct {
	back  []waitingWork // was in the queue, before all that has never been there
	fresh []waitingWork
}

// waitingWork is an attempt whose tenant has its share.
type waitingWork struct {
	work  protocol.ModelWork
	since time.Time
}

// first is the list whose first work may be put back, if any.
func (b *backlog) first(now time.Time) *[]waitingWork {
	switch {
	case len(b.back) > 0 && now.Sub(b.back[0].since) >= ackSettles:
		return &b.back
	case len(b.fresh) > 0:
		return &b.fresh
	}
	return nil
}

func newShares(pools map[string]int) map[string]*share {
	shares := make(map[string]*share, len(pools))
	for pool, slots := range pools {
		if slots > 0 {
			shares[pool] = newShare(slots)
		}
	}
	return shares
}

func newShare(slots int) *share {
	return &share{
		slots: slots, wake: make(chan struct{}, 1), held: make(map[string]int), coming: make(map[string]int),
		waiting: make(map[string]*backlog), known: make(map[string]bool), stood: make(map[string]time.Time),
	}
}

// admit takes a slot for a tenant, whose caller gives it to release, or says that the
// tenant has its share. What is on its way has no claim to a slot that is free now.
func (s *share) admit(tenant string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.see(tenant, now)
	if s.coming[tenant] > 0 {
		s.arrived(tenant)
	}
	if !s.isWithin(tenant, s.held[tenant], s.slots-s.inHand, now) {
		return false
	}
	s.inHand++
	s.held[tenant]++
	return true
}

// release gives a slot back.
func (s *share) release(tenant string) {
	s.mu.Lock()
	s.inHand--
	if s.held[tenant]--; s.held[tenant] <= 0 {
		delete(s.held, tenant)
	}
	waits := len(s.known) > 0
	s.mu.Unlock()
	if waits {
		s.poke()
	}
}

// standBack keeps work that was taken out of the queue because its tenant has its share.
func (s *share) standBack(w protocol.ModelWork, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stood[w.Tenant] = now
	subject := protocol.WorkSubject(w)
	if s.known[subject] || len(s.known) >= maxWaitingWork {
		return
	}
	s.known[subject] = true
	b := s.waiting[w.Tenant]
	if b == nil {
		b = &backlog{}
		s.waiting[w.Tenant] = b
	}
	b.back = append(b.back, waitingWork{w, now})
	s.poke() // there is something to look after
}

// queue keeps new work if older work of its tenant waits; false means that it may go
// into the queue at once. In any case its tenant keeps the others company: its work may
// stand in the queue behind all of theirs.
func (s *share) queue(w protocol.ModelWork, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.see(w.Tenant, now)
	b := s.waiting[w.Tenant]
	if b == nil || len(s.known) >= maxWaitingWork {
		return false
	}
	if subject := protocol.WorkSubject(w); !s.known[subject] {
		s.known[subject] = true
		b.fresh = append(b.fresh, waitingWork{w, now})
		s.poke()
	}
	return true
}

// next is the first work that waits of the tenant that holds the fewest slots, of
// those for which there is room here; of all if anyhow. It waits no more.
func (s *share) next(now time.Time, anyhow bool) (waitingWork, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	least, from := "", (*[]waitingWork)(nil)
	for tenant, b := range s.waiting {
		list := b.first(now)
		if list == nil || !anyhow && !s.room(tenant, now) {
			continue
		}
		mine, best := s.held[tenant]+s.coming[tenant], s.held[least]+s.coming[least]
		if from == nil || mine < best || mine == best && (*list)[0].since.Before((*from)[0].since) {
			least, from = tenant, list
		}
	}
	if from == nil {
		return waitingWork{}, false
	}
	w := (*from)[0]
	(*from)[0] = waitingWork{} // the list goes on for long, perhaps
	*from = (*from)[1:]
	if b := s.waiting[least]; len(b.back)+len(b.fresh) == 0 {
		delete(s.waiting, least)
	}
	delete(s.known, protocol.WorkSubject(w.work))
	s.coming[least]++
	s.onWay++
	return w, true
}

// mayWait reports whether new work of a tenant may wait in some process for its share.
func (s *share) mayWait(tenant string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, lately := s.stood[tenant]
	return lately
}

// isIdle reports whether there is nothing to look after.
func (s *share) isIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.known) == 0 && len(s.stood) == 0
}

// look gives how much of what waits to put into the queue for whoever has room. If
// there is room here nothing stays in it, so what did not come went elsewhere. If there
// is none it may lie there still, before the work of others: then it is not made more.
func (s *share) look(now time.Time) (offers int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for tenant, at := range s.stood {
		if now.Sub(at) > waitsFor && s.waiting[tenant] == nil {
			delete(s.stood, tenant)
		}
	}
	if s.inHand < s.slots {
		clear(s.coming)
		s.onWay = 0
	}
	return max(s.slots/(shareOfFree+1), 1) - s.onWay
}

// gone says that work that next gave does not come back.
func (s *share) gone(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.coming[tenant] > 0 {
		s.arrived(tenant)
	}
}

func (s *share) arrived(tenant string) {
	s.onWay--
	if s.coming[tenant]--; s.coming[tenant] == 0 {
		delete(s.coming, tenant)
	}
}

// room reports whether a tenant may take one more slot, besides those that are on
// their way.
func (s *share) room(tenant string, now time.Time) bool {
	return s.isWithin(tenant, s.held[tenant]+s.coming[tenant], s.slots-s.inHand-s.onWay, now)
}

// isWithin reports whether a tenant that holds so many slots may take one of those that
// are free.
func (s *share) isWithin(tenant string, held, free int, now time.Time) bool {
	return free > 0 && (s.alone(tenant, now) || held < shareOfFree*free)
}

func (s *share) see(tenant string, now time.Time) {
	if s.latest.tenant != tenant {
		s.before = s.latest
	}
	s.latest = company{tenant, now}
}

// alone reports whether no other tenant was there lately.
func (s *share) alone(tenant string, now time.Time) bool {
	other := s.latest
	if other.tenant == tenant {
		other = s.before
	}
	return other.tenant == "" || now.Sub(other.at) > companyFor
}

func (s *share) poke() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}
