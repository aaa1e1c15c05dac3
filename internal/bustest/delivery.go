package bustest

import (
	"sync"
	"time"
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

func (b *bench) keeps(put func(), mine, theirs fetcher) {
	b.Helper()
	put()
	d := b.one(mine)
	var wg sync.WaitGroup
	wg.Go(func() { b.nothing(theirs, 2*b.AckWait) })
	for range 8 {
		if err := d.InProgress(b.ctx); err != nil {
			b.Errorf("in progress: %v", err)
		}
		<-time.After(b.AckWait / 4)
	}
	wg.Wait()
	b.ack(d)
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
