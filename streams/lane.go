package streams

import (
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// lane is a subscription that is used again and again, by one goroutine at a
// time, for answers to questions. Its messages come straight from the
// connection's read loop, without a goroutine in between.
type lane struct {
	sub      *nats.Subscription
	messages chan *nats.Msg
	prefix   string
	asked    uint64
}

// next is the reply subject of a new question. Each question has its own, so
// that a late answer is never taken for the answer to a newer one.
func (l *lane) next() string {
	l.asked++
	return l.prefix + strconv.FormatUint(l.asked, 36)
}

// status reports whether the server itself speaks, instead of handing over a
// message of a stream: such a message keeps the subject it was published on.
func (l *lane) status(m *nats.Msg) bool { return strings.HasPrefix(m.Subject, l.prefix) }

// lanes are those of one use that are free.
type lanes struct {
	nc   *nats.Conn
	size int // messages a lane can hold

	mu     sync.Mutex
	free   []*lane
	closed bool
}

// maxFreeLanes bounds how many are kept for the next question.
const maxFreeLanes = 256

// take gives a lane for use by the caller alone, who gives it to put when its
// question is answered, else to discard.
func (p *lanes) take() (*lane, error) {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		l := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		return l, nil
	}
	p.mu.Unlock()
	l := &lane{messages: make(chan *nats.Msg, p.size), prefix: p.nc.NewInbox() + "."}
	var err error
	l.sub, err = p.nc.ChanSubscribe(l.prefix+"*", l.messages)
	return l, err
}

func (p *lanes) put(l *lane) {
	p.mu.Lock()
	keep := !p.closed && len(p.free) < maxFreeLanes
	if keep {
		p.free = append(p.free, l)
	}
	p.mu.Unlock()
	if !keep {
		p.discard(l)
	}
}

// discard ends a lane and what the server still wants to send there.
func (p *lanes) discard(l *lane) {
	_ = l.sub.Unsubscribe() // fails only without a connection, and then nothing comes
}

// empty ends a lane and gives what had come until the server knew.
func (p *lanes) empty(l *lane) []*nats.Msg {
	_ = l.sub.Drain()                    // the server sends nothing more …
	_ = p.nc.FlushTimeout(unsubscribing) // … after its answer to this; failures as in discard
	var left []*nats.Msg
	for {
		select {
		case m := <-l.messages:
			left = append(left, m)
		default:
			return left
		}
	}
}

func (p *lanes) close() {
	p.mu.Lock()
	free := p.free
	p.free, p.closed = nil, true
	p.mu.Unlock()
	for _, l := range free {
		p.discard(l)
	}
}
