package orchestrator

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

const (
	// passEvery is how often commands are looked for that stand behind many of
	// another tenant's.
	passEvery = 20 * time.Millisecond

	// passingAtOnce bounds how many of them are in hand, passingOfTenant those of one
	// tenant, and tenantsLookedFor those who are looked for at a time.
	passingAtOnce    = 64
	passingOfTenant  = 4
	tenantsLookedFor = 64

	// longLine is the part of the mailboxes that must be taken before anybody is passed,
	// and largeShare the part of what is in hand from which on a tenant passes nobody.
	longLine   = 2
	largeShare = 4

	// atOnceOfTenant is how many commands of a tenant are worked on at once while others
	// come as well: enough to keep the log busy, and not so many that all wait for it.
	atOnceOfTenant = 16

	// maxTenantsSeen bounds the tenants that are kept in mind.
	maxTenantsSeen = 4096
)

// line knows whose commands are in hand in this process. The queue hands commands over
// in the order in which they were stored: ten thousand of one tenant stand before the
// next of another. While most mailboxes are taken, the first stored commands of others
// who were seen lately are handled as if delivered, and of one tenant's only a few are
// worked on at a time.
type line struct {
	mailboxes int
	long      chan struct{} // somebody may have to be passed

	mu      sync.Mutex
	inHand  int
	held    map[string]int
	atWork  map[string]int      // of those held
	waiting map[string][]func() // what begins the others, in order
	seen    map[string]time.Time
	passing map[uint64]bool // sequences
	putOff  map[uint64]time.Time
}

func newLine(mailboxes int) *line {
	return &line{
		mailboxes: mailboxes, long: make(chan struct{}, 1),
		held: make(map[string]int), atWork: make(map[string]int), waiting: make(map[string][]func()),
		seen: make(map[string]time.Time), passing: make(map[uint64]bool), putOff: make(map[uint64]time.Time),
	}
}

// enter counts a command, and begins it at once or when others of its tenant are through.
// Whoever began it calls leave.
func (l *line) enter(tenant string, now time.Time, begin func()) {
	l.mu.Lock()
	if _, known := l.seen[tenant]; known || len(l.seen) < maxTenantsSeen {
		l.seen[tenant] = now
	}
	l.inHand++
	l.held[tenant]++
	wait := len(l.seen) > 1 && l.atWork[tenant] >= atOnceOfTenant
	if wait {
		l.waiting[tenant] = append(l.waiting[tenant], begin)
	} else {
		l.atWork[tenant]++
	}
	long := l.isLong()
	l.mu.Unlock()
	if long {
		select {
		case l.long <- struct{}{}:
		default: // it is looked at anyway
		}
	}
	if !wait {
		begin()
	}
}

// leave ends a command, and begins the next of its tenant.
func (l *line) leave(tenant string) {
	l.mu.Lock()
	l.inHand--
	var next func()
	if l.held[tenant]--; l.held[tenant] == 0 {
		delete(l.held, tenant)
	}
	if list := l.waiting[tenant]; len(list) > 0 {
		next = list[0]
		if l.waiting[tenant] = list[1:]; len(list) == 1 {
			delete(l.waiting, tenant)
		}
	} else if l.atWork[tenant]--; l.atWork[tenant] == 0 {
		delete(l.atWork, tenant)
	}
	l.mu.Unlock()
	if next != nil {
		next()
	}
}

// isLong reports whether most mailboxes are taken. The lock is held.
func (l *line) isLong() bool { return l.inHand*longLine >= l.mailboxes }

// behind are tenants who may stand behind others; not so if the line is not long.
func (l *line) behind(now time.Time) (list []string, long bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isLong() {
		return nil, false
	}
	maps.DeleteFunc(l.putOff, func(_ uint64, until time.Time) bool { return !now.Before(until) })
	for tenant, at := range l.seen { // in any order: everybody's turn comes
		switch {
		case now.Sub(at) > companyFor:
			delete(l.seen, tenant)
		case l.held[tenant]*largeShare <= l.inHand && len(list) < tenantsLookedFor:
			list = append(list, tenant)
		}
	}
	return list, true
}

// pass counts a command that passes others, once; done ends that.
func (l *line) pass(m protocol.Stored, tenant string, now time.Time) (done func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.passing[m.Sequence] || now.Before(l.putOff[m.Sequence]) || len(l.passing) >= passingAtOnce {
		return nil, false
	}
	l.passing[m.Sequence] = true
	l.seen[tenant] = now
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.passing, m.Sequence)
	}, true
}

// passed is a command that passes others. Given back it is let alone for a while: its
// queue has it, or will.
type passed struct {
	swept
	line *line
}

func (p passed) Later(_ context.Context, delay time.Duration) error {
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	p.line.putOff[p.Sequence()] = time.Now().Add(delay)
	return nil
}

// takeInLine is takeCommand for a command that the queue has handed over. The time that
// it waits for others of its tenant counts: one that came too late makes room.
func (o *Orchestrator) takeInLine(ctx context.Context, d protocol.Delivery, done func()) {
	taken := time.Now()
	k, _, err := protocol.ParseCommandSubject(d.Subject())
	if err != nil { // it is refused when it is read, and nobody's name is kept
		o.takeCommand(ctx, d, taken, done)
		return
	}
	o.line.enter(k.Tenant, taken, func() {
		o.takeCommand(ctx, d, taken, func() {
			done()
			o.line.leave(k.Tenant)
		})
	})
}

// passTheLine handles commands of tenants who stand behind many of another's, until ctx
// ends. While the line is short it rests.
func (o *Orchestrator) passTheLine(ctx, working context.Context) {
	for {
		select {
		case <-o.line.long:
		case <-ctx.Done():
			return
		}
		for pause(ctx, passEvery) {
			behind, long := o.line.behind(time.Now())
			if !long {
				break // whoever makes it long again says so
			}
			for _, tenant := range behind {
				o.passFor(ctx, working, tenant)
			}
		}
	}
}

// passFor handles the first stored commands of a tenant. Whoever gets one from the queue
// finds it decided.
func (o *Orchestrator) passFor(ctx, working context.Context, tenant string) {
	from := uint64(1)
	for range passingOfTenant {
		m, err := o.firstOf(ctx, tenant, from)
		if err != nil {
			return // there is none; or the queue will bring it
		}
		from = m.Sequence + 1
		if done, ok := o.line.pass(m, tenant, time.Now()); ok {
			o.metrics.passed.Add(ctx, 1)
			command := passed{swept{message: m, commands: o.bus.Commands, count: 1}, o.line}
			o.takeCommand(working, command, time.Now(), done)
		}
	}
}

func (o *Orchestrator) firstOf(ctx context.Context, tenant string, from uint64) (protocol.Stored, error) {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
	defer cancel()
	return o.bus.Commands.First(ctx, events.Key{Tenant: tenant, Chat: protocol.Any}, from)
}
