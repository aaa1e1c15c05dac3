package system

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// next is the commit that would follow the chat's last one, before somebody
// forges it.
func (c *chat) next() events.Commit {
	c.Helper()
	h := c.read()
	last := h.entries[len(h.entries)-1]
	return events.Commit{
		ID: client.NewID(), Key: c.key, Rev: uint64(len(h.entries) + 1), Prev: events.Hash(last.Commit), At: events.At(time.Now()),
		Cause:  events.Cause{Kind: events.CausedByCommand, ID: client.NewID(), Verb: "archive", Sequence: h.commits[0].Cause.Sequence + 1},
		Events: []events.Event{events.ChatArchived{}},
	}
}

// forge appends bytes to the chat's log, behind the right fence.
func (c *chat) forge(body []byte) {
	c.Helper()
	last, err := c.s.bus.Log.Last(patient(c.T), c.key)
	if err != nil {
		c.Fatal(err)
	}
	a := protocol.Append{Key: c.key, Fence: last.Sequence, Body: body}
	if _, err := c.s.bus.Log.Append(patient(c.T), a); err != nil {
		c.Fatal(err)
	}
}

func encoded(t *testing.T, c events.Commit) []byte {
	t.Helper()
	b, err := events.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// damage is one way to damage a log.
type damage struct {
	name string // the first column of docs/BAD_INPUTS.md
	do   func(c *chat)
	why  string // what people are told

	rule  verify.Rule // that the checker says is broken; empty is I1
	shown bool        // people may still read what makes sense of it
}

func damages() []damage {
	return []damage{
		{name: "a commit that does not follow", do: func(c *chat) {
			next := c.next()
			next.Prev = strings.Repeat("0", len(next.Prev))
			c.forge(encoded(c.T, next))
		}, why: "commit 2 does not follow the one before it"},
		{name: "a commit whose bytes were changed", do: func(c *chat) {
			// The commit behind it was written when it said something else.
			changed, behind := c.next(), c.next()
			changed.Cause.Verb = "rename"
			changed.Events = []events.Event{events.ChatTitled{Title: "before"}}
			behind.Rev, behind.Prev = changed.Rev+1, events.Hash(encoded(c.T, changed))
			changed.Events = []events.Event{events.ChatTitled{Title: "after!"}}
			c.forge(encoded(c.T, changed))
			c.forge(encoded(c.T, behind))
		}, why: "commit 3 does not follow the one before it"},
		{name: "a commit that follows and makes no sense", do: func(c *chat) {
			next := c.next()
			next.Cause = events.Cause{Kind: events.CausedByResult, ID: "1.1.1"}
			next.Events = []events.Event{events.ToolCompleted{Call: events.CallID{Turn: 1, Step: 1, Ordinal: 1}, Status: events.ToolOK}}
			c.forge(encoded(c.T, next))
		}, why: "commit 2 makes no sense: call 1.1.1 is not open", rule: verify.RuleBelonging, shown: true},
		{name: "bytes in the log that are no commit", do: func(c *chat) {
			c.forge([]byte(`{"v":1,"rev":`))
		}, why: "the message after commit 1: not a commit"},
	}
}

// A chat whose log is damaged is left as it is, and says why. Nobody else is
// harmed by it.
func TestADamagedChatStopsAlone(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	for _, tt := range damages() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			damaged, healthy := s.chat(t, scripted(t, plain)), s.chat(t, scripted(t, plain))
			tt.do(damaged)
			before := damaged.stored()
			for range 2 { // it stays so
				r := damaged.refused(send("hi"))
				if r.Code != events.CodeChatStopped {
					t.Fatalf("reply %+v", r)
				}
				says(t, "message", r.Message, tt.why)
			}
			if after := damaged.stored(); after != before {
				t.Errorf("the last commit has sequence %d, and had %d", after, before)
			}
			if !tt.shown {
				damaged.notShown(events.CodeChatStopped)
			}
			damaged.condemned(tt.rule)
			healthy.stillWorks()
		})
	}
}

// stored is the sequence of the chat's newest commit.
func (c *chat) stored() uint64 {
	c.Helper()
	last, err := c.s.bus.Log.Last(patient(c.T), c.key)
	if err != nil {
		c.Fatal(err)
	}
	return last.Sequence
}

// notShown wants projections to say no to the transcript.
func (c *chat) notShown(code events.Code) {
	c.Helper()
	err := c.c.Query(patient(c.T), "transcript", map[string]string{"chat": c.key.Chat}, new(any))
	if no, ok := errors.AsType[*client.QueryError](err); !ok || no.Code != code {
		c.Errorf("the transcript: %v, want code %s", err, code)
	}
}

// condemned wants the checker to find the damage, too: that the rule is broken,
// or the chain if none is named.
func (c *chat) condemned(rule verify.Rule) {
	c.Helper()
	rule = cmp.Or(rule, verify.RuleChain)
	checker := verify.New(verify.Options{})
	for m, err := range c.s.bus.Log.Read(patient(c.T), c.key, 0, c.stored()) {
		if err != nil {
			c.Fatal(err)
		}
		checker.Add(verify.Entry{Subject: m.Subject, Sequence: m.Sequence, Commit: m.Body})
	}
	found := checker.Finish(nil)
	if !slices.ContainsFunc(found, func(v verify.Violation) bool { return v.Rule == rule }) {
		c.Errorf("the checker finds %v, want that %s is broken", found, rule)
	}
}

// waiting is how many commands of the chat are stored.
func (c *chat) waiting() uint64 {
	c.Helper()
	return c.messages(streams.CommandsStream, protocol.CommandSubject(c.key, protocol.Any))
}

// messages is how many messages a stream has under a subject.
func (c *chat) messages(name, subject string) uint64 {
	c.Helper()
	js, err := jetstream.New(c.s.nc)
	if err != nil {
		c.Fatal(err)
	}
	stream, err := js.Stream(patient(c.T), name)
	if err != nil {
		c.Fatal(err)
	}
	info, err := stream.Info(patient(c.T), jetstream.WithSubjectFilter(subject))
	if err != nil {
		c.Fatal(err)
	}
	var n uint64
	for _, count := range info.State.Subjects {
		n += count
	}
	return n
}
