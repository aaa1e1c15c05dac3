package verify_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// log is a list of commits that a test changes; chain makes a log of it again.
type log []events.Commit

func logOf(c *chatgen.Chat) log {
	l := make(log, len(c.Commits))
	for i, commit := range c.Commits {
		l[i] = commit
		l[i].Events = slices.Clone(commit.Events)
	}
	return l
}

// spot is where an event stands.
type spot struct{ commit, event int }

// nth finds the n-th event, from 1, of E's type.
func nth[E events.Event](l log, n int) spot {
	for i, c := range l {
		for j, e := range c.Events {
			if _, ok := e.(E); ok {
				if n--; n == 0 {
					return spot{i, j}
				}
			}
		}
	}
	panic("the story has no such event: " + reflect.TypeFor[E]().String())
}

func (l log) at(s spot) events.Event { return l[s.commit].Events[s.event] }

// drop leaves the event out, and its commit if nothing is left of it.
func (l log) drop(s spot) log {
	l[s.commit].Events = slices.Delete(l[s.commit].Events, s.event, s.event+1)
	if len(l[s.commit].Events) == 0 {
		l = slices.Delete(l, s.commit, s.commit+1)
	}
	return l
}

// insert puts an event behind a spot, in its commit.
func (l log) insert(s spot, e events.Event) log {
	l[s.commit].Events = slices.Insert(l[s.commit].Events, s.event+1, e)
	return l
}

func (l log) repeat(s spot) log { return l.insert(s, l.at(s)) }

func (l log) swap(a, b spot) log {
	x, y := &l[a.commit].Events[a.event], &l[b.commit].Events[b.event]
	*x, *y = *y, *x
	return l
}

// move puts the event behind a spot and takes it from where it stands.
func (l log) move(from, to spot) log {
	e := l.at(from)
	l = l.insert(to, e)
	if to.commit == from.commit && to.event < from.event {
		from.event++
	}
	return l.drop(from)
}

// repeatCommit puts a copy of a commit, under an id of its own, behind it.
func (l log) repeatCommit(i int) log {
	again := l[i]
	again.ID = ulid(0)
	return slices.Insert(l, i+1, again)
}

// change replaces the n-th event of E's type.
func change[E events.Event](l log, n int, with func(*E)) log {
	s := nth[E](l, n)
	e := l.at(s).(E)
	with(&e)
	l[s.commit].Events[s.event] = e
	return l
}

// chain gives the commits dense revs and an unbroken chain, and makes a stream
// of them. A log that goes on from another one begins with that one's hash.
func (l log) chain(t *testing.T) []verify.Entry {
	t.Helper()
	return l.chainOf(t, ann)
}

// chainOf is chain for the log of another chat.
func (l log) chainOf(t *testing.T, k events.Key) []verify.Entry {
	t.Helper()
	prev := ""
	list := make([]verify.Entry, len(l))
	for i, c := range l {
		if first, ok := c.Events[0].(events.ChatInherited); ok && i == 0 {
			prev = first.Origin.Hash
		}
		c.Rev, c.Prev = uint64(i+1), prev
		b, err := events.Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		prev = events.Hash(b)
		list[i] = verify.Entry{Subject: protocol.LogSubject(protocol.Shard(c.Key, shards), k), Sequence: uint64(100 + i), Commit: b}
	}
	return list
}

// blobs gives the content of a chat.
func blobs(c *chatgen.Chat) func(events.Key, events.Digest) ([]byte, error) {
	return func(_ events.Key, d events.Digest) ([]byte, error) {
		if b, ok := c.Blobs[d]; ok {
			return b, nil
		}
		return nil, protocol.ErrNotFound
	}
}

func check(list []verify.Entry, o verify.Options, stored ...verify.StoredCommand) []verify.Violation {
	o.Shards = shards
	c := verify.New(o)
	for _, e := range list {
		c.Add(e)
	}
	return c.Finish(stored)
}

// ulid is an id that no story has.
func ulid(n uint64) string { return fmt.Sprintf("01K00000000000000000%06d", n) }
