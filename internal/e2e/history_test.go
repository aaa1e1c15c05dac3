//go:build processes

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/replay"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner/tools"
)

// history is a chat's log as read at one moment.
type history struct {
	entries []verify.Entry
	commits []events.Commit
	stored  []time.Time // when the server took each
}

// reader reads logs of a cluster, also across a restart of its server.
type reader struct {
	log *streams.Log
}

func (c *cluster) reader() reader {
	c.t.Helper()
	opened, err := streams.OpenReader(patient(c.t), c.connect(), streams.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(opened.Close)
	return reader{log: opened.Log}
}

// read gives what the log of the chat holds. It waits for a server that is away,
// or that stands still with the whole machine.
func (r reader) read(ctx context.Context, k events.Key) (history, error) {
	return r.wait(ctx, k, func(history) bool { return true })
}

// look is read, tried once.
func (r reader) look(ctx context.Context, k events.Key) (history, error) {
	var h history
	last, err := r.log.Last(ctx, k)
	if errors.Is(err, protocol.ErrNotFound) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	for m, err := range r.log.Read(ctx, k, 0, last.Sequence) {
		if err != nil {
			return h, err
		}
		commit, err := events.Decode(m.Body)
		if err != nil {
			return h, err
		}
		h.entries = append(h.entries, verify.Entry{Subject: m.Subject, Sequence: m.Sequence, Commit: m.Body})
		h.commits = append(h.commits, commit)
		h.stored = append(h.stored, m.Time)
	}
	return h, nil
}

// poll is how often a log is looked at while a test waits for a fact in it.
const poll = 20 * time.Millisecond

// until reads the chat's log again and again until holds says yes.
func (r reader) until(t *testing.T, k events.Key, what string, holds func(history) bool) history {
	t.Helper()
	return r.within(patient(t), t, k, what, holds)
}

// within is until with the caller's patience.
func (r reader) within(ctx context.Context, t *testing.T, k events.Key, what string, holds func(history) bool) history {
	t.Helper()
	h, err := r.wait(ctx, k, holds)
	if err != nil {
		t.Fatalf("chat %s: waited in vain for %s; the log is\n%s(%v)", k, what, h, err)
	}
	return h
}

// wait is until outside of the test's own goroutine.
func (r reader) wait(ctx context.Context, k events.Key, holds func(history) bool) (history, error) {
	for {
		h, err := r.look(ctx, k) // fails while a server is away
		if err == nil && holds(h) {
			return h, nil
		}
		select {
		case <-ctx.Done():
			return h, errors.Join(ctx.Err(), err)
		case <-time.After(poll):
		}
	}
}

func (h history) String() string {
	var b strings.Builder
	for _, c := range h.commits {
		fmt.Fprintf(&b, "rev %d by %s %s:", c.Rev, c.Cause.Kind, c.Cause.ID)
		for _, e := range c.Events {
			fmt.Fprintf(&b, " %s", e.EventType())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// all is every event of the history, in order.
func (h history) all() []events.Event {
	var list []events.Event
	for _, c := range h.commits {
		list = append(list, c.Events...)
	}
	return list
}

// every is all events of one type.
func every[T events.Event](h history) []T {
	var list []T
	for _, e := range h.all() {
		if found, ok := e.(T); ok {
			list = append(list, found)
		}
	}
	return list
}

// last reports whether the newest event is of one of the types.
func (h history) last(types ...events.Type) bool {
	list := h.all()
	return len(list) > 0 && slices.Contains(types, list[len(list)-1].EventType())
}

// ended reports whether as many turns have ended.
func (h history) ended(turns int) bool {
	n := len(every[events.TurnCompleted](h)) + len(every[events.TurnFailed](h)) + len(every[events.TurnInterrupted](h))
	return n >= turns
}

// finalText is the text of the newest answer.
func (h history) finalText() string {
	steps := every[events.StepCompleted](h)
	if len(steps) == 0 {
		return ""
	}
	var b strings.Builder
	for _, p := range steps[len(steps)-1].Parts {
		if p.Type == events.PartText {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// gapAfter is the time from a moment to the first commit after it.
func (h history) gapAfter(moment time.Time) (time.Duration, bool) {
	for _, c := range h.commits {
		if at := c.At.Time(); at.After(moment) {
			return at.Sub(moment), true
		}
	}
	return 0, false
}

// check runs the checker over the chats, which must be at rest, with the ledger
// of what tools did, and decides everything in them again.
func (c *cluster) check(r reader, keys []events.Key) {
	c.t.Helper()
	lines, err := tools.ReadLedger(c.ledger)
	if err != nil {
		c.t.Fatal(err)
	}
	effects := []verify.Effect{}
	for _, l := range lines {
		effects = append(effects, verify.Effect{Key: events.Key{Tenant: l.Tenant, Chat: l.Chat}, Call: l.Call, IdempotencyKey: l.Key})
	}
	c.checkWith(r, keys, effects)
}

// checkWith is check with the effects that somebody else has counted.
func (c *cluster) checkWith(r reader, keys []events.Key, effects []verify.Effect) {
	c.t.Helper()
	checker := verify.New(verify.Options{Idle: true, Shards: r.log.Shards(), Effects: effects})
	for _, k := range slices.Concat(c.others, keys) {
		h, err := r.read(patient(c.t), k)
		if err != nil {
			c.t.Fatal(err)
		}
		again := replay.New(replay.Options{})
		for _, e := range h.entries {
			checker.Add(e)
			again.Add(e.Sequence, e.Commit)
		}
		if d := again.Difference(); d != nil {
			c.t.Errorf("replayed: %s", d)
		}
	}
	for _, v := range checker.Finish(nil) {
		c.t.Error(v)
	}
}

// ask makes a new chat and says something in it.
func ask(t *testing.T, c *client.Client, text string) events.Key {
	t.Helper()
	chat := client.NewID()
	ctx := patient(t)
	if _, err := c.Command(ctx, chat, protocol.Create{V: protocol.Version}); err != nil {
		t.Fatal(err)
	}
	say(t, c, chat, text)
	return c.Key(chat)
}

func say(t *testing.T, c *client.Client, chat, text string) protocol.Reply {
	t.Helper()
	r, err := c.Command(patient(t), chat, protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
