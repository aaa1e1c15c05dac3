package watch

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

const (
	// maxAttemptBytes is how much is kept of an attempt for those who have not seen it.
	// Who joins when more was said is not shown it before its commit comes.
	maxAttemptBytes = 256 << 10

	// maxEarlyDeltas is how many deltas behind one that is missing are kept.
	maxEarlyDeltas = 1024

	// maxReads is how often the feed is asked for what is missing of an attempt.
	maxReads = 5

	// readAgain is between two such questions: what was heard may not be stored yet.
	readAgain = 200 * time.Millisecond

	// deltaBytes is what a delta takes besides its text, which is there twice.
	deltaBytes = 320
)

// attempt collects the deltas of one attempt, without holes.
type attempt struct {
	step events.StepID
	n    int

	base   int // how many were let go of
	deltas []Event
	bytes  int
	early  map[int]Event // heard, behind one that is missing

	closed  bool // what comes now is of a worker that does not know it yet
	missing bool // some must be read where they are stored
	reading bool // somebody does
	reads   int
	readAt  time.Time // not before then
}

// next is the index of the delta that comes next.
func (a *attempt) next() int { return a.base + len(a.deltas) }

// hear takes a delta, in whatever order they come and however often.
func (a *attempt) hear(e Event) {
	switch i := e.Delta.I; {
	case a.closed, i < a.next():
		return
	case i > a.next():
		if a.missing = true; len(a.early) < maxEarlyDeltas {
			if a.early == nil {
				a.early = make(map[int]Event)
			}
			a.early[i] = e
		}
		return
	}
	a.take(e)
	for len(a.early) > 0 {
		e, ok := a.early[a.next()]
		if !ok {
			return
		}
		delete(a.early, e.Delta.I)
		a.take(e)
	}
}

func (a *attempt) take(e Event) {
	a.deltas = append(a.deltas, e)
	a.bytes += sizeOf(e)
	for a.bytes > maxAttemptBytes && len(a.deltas) > 1 {
		a.bytes -= sizeOf(a.deltas[0])
		a.deltas[0] = Event{}
		a.deltas, a.base = a.deltas[1:], a.base+1
	}
}

func sizeOf(e Event) int { return deltaBytes + 2*len(e.Delta.Text) }

// mayRead reports whether what is missing is to be asked for now, and if not, when;
// a zero time is never.
func (a *attempt) mayRead(now time.Time) (bool, time.Time) {
	if !a.missing || a.reading || a.reads >= maxReads {
		return false, time.Time{}
	}
	return !now.Before(a.readAt), a.readAt
}

// read takes what is stored.
func (a *attempt) read(stored []protocol.Delta, err error, now time.Time) {
	a.reading = false
	a.reads++
	a.readAt = now.Add(readAgain)
	for _, d := range stored {
		data, cannot := json.Marshal(d)
		if cannot != nil {
			panic(fmt.Sprintf("watch: delta as JSON: %v", cannot)) // it was JSON: our bug
		}
		a.hear(Event{Kind: KindDelta, Data: data, Delta: &d})
	}
	if err == nil && len(a.early) == 0 {
		a.missing, a.reads = false, 0
	}
}
