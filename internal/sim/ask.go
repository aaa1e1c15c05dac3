package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/membus"
	"github.com/everturn/everturn/toolrunner"
)

// asksInOnce is how seldom a call asks a person, in a run whose tools may.
const asksInOnce = 2

// longestThought is how long a call may take over an answer, in milliseconds.
const longestThought = 1_000

// asksPeople reports whether tools ask people in that run: one of those in which
// somebody answers now and then.
func asksPeople(seed uint64) bool { return draws(seed, "question").IntN(asksOnceIn) == 0 }

// consult is a tool that asks a person in the middle of its call, or not. What it asks
// depends on the call alone: one that runs again asks the same.
func (w *world) consult(ctx context.Context, p *membus.Process, c toolrunner.Call) error {
	draw := draws(w.plan.seed, "consults "+c.Key)
	if !asksPeople(w.plan.seed) || draw.IntN(asksInOnce) > 0 {
		return nil
	}
	for n := range 1 + draw.IntN(2) {
		question := events.Question{ID: "q", Header: "A call", Text: fmt.Sprintf("Number %d?", draw.IntN(2)), Options: []events.Option{
			{Label: "yes", Description: "go on"}, {Label: "no", Description: "stop"},
		}}
		reply, err := c.Ask(ctx, []events.Question{question})
		if err != nil {
			return err
		}
		if p.Killed() {
			return membus.ErrKilled
		}
		w.ledger.heard(c, n, reply)
		if !pause(ctx, time.Duration(draw.IntN(longestThought))*time.Millisecond) { // time for its process to die
			return context.Cause(ctx)
		}
	}
	return nil
}

// hearing is one answer that a call was given.
type hearing struct {
	idem string // idempotency key
	n    int    // of its questions
}

// heard notes an answer. Whenever the call runs it must be the same.
func (l *ledger) heard(c toolrunner.Call, n int, reply toolrunner.Reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := hearing{c.Key, n}
	before, again := l.replies[at]
	if again && (!slices.Equal(before.Answers, reply.Answers) || before.Expired != reply.Expired || before.By != reply.By) {
		l.torn = append(l.torn, fmt.Sprintf("%s: call %s was answered %+v, and when it ran again %+v", c.Chat, c.ID, before, reply))
	}
	l.replies[at] = reply
}

// judgeAnswers checks that no person was asked twice for one call, nor a call told
// anything that nobody said.
func (r *run) judgeAnswers() {
	for _, what := range r.ledger.torn {
		r.breaks("%s", what)
	}
}
