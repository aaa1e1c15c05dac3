package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/membus"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// The tools: one whose effect must happen once, one that may run again under
// its key, one without effect, one that ends the turn, one that must be alone.
const (
	toolOnce   = "once"
	toolAgain  = "again"
	toolLookup = "lookup"
	toolLast   = "last"
	toolAlone  = "alone"

	group       = "sim"
	toolTimeout = 5 * time.Second
	longTimeout = 30 * time.Second // long enough for others to ask what became of a licence
)

// effect is a line of the ledger: a tool began.
type effect struct {
	key     events.Key
	call    events.CallID
	name    string
	idem    string // idempotency key
	process string
	at      time.Time
	claimed time.Time     // when its process sent the newest claim
	log     int           // commits of the chat at that moment
	ran     time.Duration // until it returned; 0 if it has not
}

// ledger notes what really happened outside.
type ledger struct {
	seed uint64

	mu    sync.Mutex
	bad   bool
	lines []*effect
	runs  map[string]int // by idempotency key

	replies map[hearing]toolrunner.Reply
	torn    []string // what a call was told that it should not have been
}

func newLedger(seed uint64, bad bool) *ledger {
	return &ledger{seed: seed, bad: bad, runs: map[string]int{}, replies: map[hearing]toolrunner.Reply{}}
}

// behave ends all misbehaviour of tools.
func (l *ledger) behave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bad = false
}

func (l *ledger) begin(e *effect) (n int, bad bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, e)
	l.runs[e.idem]++
	return l.runs[e.idem], l.bad
}

func (l *ledger) end(e *effect) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.ran = max(time.Since(e.at), 1)
}

// all are the lines so far.
func (l *ledger) all() []*effect {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines
}

const schema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`

// tools are those of one runner process, in one of their releases.
func (w *world) tools(p *membus.Process, release int) []toolrunner.Tool {
	parallel := true
	var all []toolrunner.Tool
	for _, m := range []protocol.Manifest{
		{Name: toolOnce, Schema: []byte(schema)},
		{Name: toolAgain, Schema: []byte(schema), Idempotent: true, Parallel: &parallel},
		{Name: toolLookup, Schema: []byte(`{"type":"object"}`), ReadOnly: true},
		{Name: toolLast, Schema: []byte(schema), StopAfter: true, Parallel: &parallel},
		{Name: toolAlone, Schema: []byte(schema), Exclusive: true},
	} {
		m.Description, m.Policy, m.TimeoutMS = "does something", events.PolicyAllow, toolTimeout.Milliseconds()
		if m.Name == toolOnce || m.Name == toolAgain {
			m.TimeoutMS = longTimeout.Milliseconds()
		}
		if w.plan.reviews() && m.Name == toolAgain {
			m.Policy = events.PolicyReview
		}
		if release > 0 && m.Name != toolOnce {
			m.Description = fmt.Sprintf("does something else, %d", release)
		}
		all = append(all, toolrunner.Func(m, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
			return w.act(ctx, p, m.Name, c)
		}))
	}
	return all
}

// act is a tool at work.
func (w *world) act(ctx context.Context, p *membus.Process, name string, c toolrunner.Call) (toolrunner.Output, error) {
	if p.Killed() {
		return toolrunner.Output{}, membus.ErrKilled // it died before it could begin
	}
	e := &effect{
		key: c.Chat, call: c.ID, name: name, idem: c.Key, process: p.Name, at: time.Now(), log: len(w.server.Log(c.Chat)),
		claimed: w.claimed(p.Name, c.Chat, c.ID),
	}
	n, bad := w.ledger.begin(e)
	defer w.ledger.end(e)
	draw := numbered(w.plan.seed, "tool "+c.Key, n)
	pause(ctx, aside(w.plan.seed, "tool "+c.Key, n))
	if bad {
		switch draw.IntN(12) {
		case 0:
			panic("a tool breaks down")
		case 1:
			<-ctx.Done()
			return toolrunner.Output{Text: "stopped"}, ctx.Err()
		case 2: // deaf to its cancellation
			select {
			case <-time.After(time.Duration(draw.IntN(30_000)) * time.Millisecond):
			case <-w.over:
			}
			return toolrunner.Output{Text: "late"}, nil
		case 3, 4:
			pause(ctx, time.Duration(draw.IntN(30_000))*time.Millisecond)
		case 5:
			return toolrunner.Output{}, errors.New("it did not work")
		}
	}
	if err := w.consult(ctx, p, c); err != nil {
		return toolrunner.Output{}, err
	}
	longest := pick(draw, 1, 50, 50, 3000)
	if !pause(ctx, time.Duration(draw.IntN(longest))*time.Millisecond) {
		return toolrunner.Output{}, ctx.Err()
	}
	text := "done"
	if readsMuch(w.plan.seed) {
		text = muchToRead()
	}
	if draw.IntN(largeOnceIn/2) == 0 {
		text = filler(draw)
		if draw.IntN(4) == 0 {
			text = strings.Repeat(text, 1+protocol.MaxChunkBytes/len(text))
		}
	}
	return toolrunner.Output{Text: text, IsError: draw.IntN(10) == 0, Artifacts: made(w.plan.seed, c, n)}, nil
}

// made is what some calls make for people to keep. It is drawn by itself, so that
// everything else stays as it is.
func made(seed uint64, c toolrunner.Call, n int) []toolrunner.Artifact {
	draw := numbered(seed, "made by "+c.Key, n)
	if draw.IntN(8) > 0 {
		return nil
	}
	list := []toolrunner.Artifact{{Title: fmt.Sprintf("Draft %d", draw.IntN(2)), Content: fmt.Appendf(nil, "made by %s, %d", c.ID, n)}}
	switch draw.IntN(4) {
	case 0:
		list = append(list, toolrunner.Artifact{Title: "out/\x1b[2Jmap.svg", Type: "image/svg+xml", Content: []byte(filler(draw))})
	case 1:
		list = append(list, toolrunner.Artifact{Title: " ", Content: []byte("of no name")}) // is not kept
	}
	return list
}
