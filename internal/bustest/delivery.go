package bustest

import (
	"context"
	"sync"
	"time"

	"github.com/everturn/everturn/protocol"
)

// The rules of a queue, the same for commands, work and timers: put stores one
// message, mine and theirs fetch in two processes.

func (b *bench) comesAgain(put func(), mine, theirs fetcher) {
	b.Helper()
	put()
	start := time.Now()
	first := b.one(mine)
	again := b.one(theirs)
	if waited := time.Since(start); waited < b.AckWait-slack {
		b.Errorf("it came again after %v, before the ack wait of %v", waited, b.AckWait)
	}
	if first.Count() != 1 || again.Count() != 2 || again.Sequence() != first.Sequence() {
		b.Errorf("got deliveries %d of %d and %d of %d, want the first and the second of one message",
			first.Count(), first.Sequence(), again.Count(), again.Sequence())
	}
	b.ack(again)
	put()
	if next := b.one(mine); next.Count() != 1 || next.Sequence() == first.Sequence() {
		b.Errorf("after the ack %d came for the %d. time, want only a new message", next.Sequence(), next.Count())
	} else {
		b.ack(next)
	}
}

// keptTries is how often a machine may be so busy that a sign came too late.
const keptTries = 5

func (b *bench) keeps(put func(), mine, theirs fetcher) {
	b.Helper()
	for try := 1; ; try++ {
		put()
		sent := time.Now()
		d := b.one(mine)
		silent, taken := b.held(d, sent, theirs)
		if len(taken) > 0 && silent >= b.AckWait && try < keptTries { // it was ours no more, and rightly
			b.ack(taken[0])
			continue
		}
		for _, d := range taken {
			b.Errorf("fetched %s for the %d. time, want nothing; no sign for %v at most", d.Subject(), d.Count(), silent)
		}
		b.ack(d)
		return
	}
}

// held tells that d is being worked on, for twice the time in which it would come again.
// It gives the longest time that the server may have heard nothing, and what others got.
func (b *bench) held(d protocol.Delivery, since time.Time, theirs fetcher) (silent time.Duration, taken []protocol.Delivery) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*b.AckWait)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		if taken, err = theirs(ctx, 1); len(taken) == 0 {
			b.want(err, context.DeadlineExceeded)
		}
	})
	for range 8 {
		before := time.Now()
		if err := d.InProgress(b.ctx); err != nil {
			b.Errorf("in progress: %v", err)
		}
		silent, since = max(silent, time.Since(since)), before
		<-time.After(b.AckWait / 4)
	}
	wg.Wait()
	return max(silent, time.Since(since)), taken
}

func (b *bench) givesBack(put func(), mine, theirs fetcher) {
	b.Helper()
	put()
	d := b.one(mine)
	b.must(d.Later(b.ctx, 0))
	before := d.Count() // over a leaf node one may have been on its way to a fetch that was broken off
	d = b.one(theirs)
	if d.Count() != before+1 {
		b.Errorf("given back it came for the %d. time, want number %d", d.Count(), before+1)
	}
	delay := 2 * b.AckWait
	start := time.Now()
	b.must(d.Later(b.ctx, delay))
	d = b.one(mine)
	if waited := time.Since(start); waited < delay-slack {
		b.Errorf("it came again after %v, before the delay of %v", waited, delay)
	}
	b.ack(d)
}
