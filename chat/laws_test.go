package chat_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawn lets rapid make the generator's choices, so that it shrinks histories.
type drawn struct{ t *rapid.T }

func (d drawn) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "choice") }

var lawful = events.Key{Tenant: "acme", Chat: "laws"}

const maxMessages = 60

// history drives a chat by chance and calls visit after each message with what
// the state was before it.
func history(t *rapid.T, visit func(d *chatgen.Driver, before chat.State, m chat.Message)) {
	d := driver(t)
	for range rapid.IntRange(1, maxMessages).Draw(t, "messages") {
		before, m := d.State, d.Any()
		d.Take(m)
		visit(d, before, m)
	}
}

// driver drives a chat, or one that works for another.
func driver(t *rapid.T) *chatgen.Driver {
	if rapid.IntRange(0, 3).Draw(t, "kind of chat") == 0 {
		return chatgen.NewChildDriver(lawful, drawn{t})
	}
	return chatgen.NewDriver(lawful, drawn{t})
}

// generate is a whole history.
func generate(t *rapid.T) *chatgen.Chat {
	d := driver(t)
	for range rapid.IntRange(1, maxMessages).Draw(t, "messages") {
		d.Take(d.Next())
	}
	return d.Chat
}

func encoded(t *rapid.T, s chat.State) []byte {
	b, err := chat.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decoded(t *rapid.T, b []byte) chat.State {
	s, err := chat.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFoldingInAnySplitIsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := generate(t)
		split := rapid.IntRange(0, len(c.Commits)).Draw(t, "split")
		var whole chat.State
		var first []byte
		for i, commit := range c.Commits {
			if i == split {
				first = encoded(t, whole)
			}
			whole = whole.Apply(commit, events.Hash(c.Bytes[i]))
		}
		if split == len(c.Commits) {
			first = encoded(t, whole)
		}
		halves := decoded(t, first)
		for i, commit := range c.Commits[split:] {
			halves = halves.Apply(commit, events.Hash(c.Bytes[split+i]))
		}
		if whole.Hash() != halves.Hash() || whole.Hash() != c.State.Hash() {
			t.Errorf("hashes %s at once, %s in two, %s while deciding", whole.Hash(), halves.Hash(), c.State.Hash())
		}
		if diff := cmp.Diff(string(encoded(t, whole)), string(encoded(t, halves))); diff != "" {
			t.Errorf("state folded at once and in two (-once +two):\n%s", diff)
		}
	})
}

func TestAStoredStateOwesAndShowsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		history(t, func(d *chatgen.Driver, _ chat.State, _ chat.Message) {
			b := encoded(t, d.State)
			back := decoded(t, b)
			if again := encoded(t, back); !bytes.Equal(b, again) {
				t.Fatalf("encoded anew:\n%s", cmp.Diff(string(b), string(again)))
			}
			if diff := cmp.Diff(chat.Owed(d.State), chat.Owed(back)); diff != "" {
				t.Fatalf("owed (-before +after):\n%s", diff)
			}
			if was, is := chat.Prompt(d.State).Canonical(), chat.Prompt(back).Canonical(); !bytes.Equal(was, is) {
				t.Fatalf("shown (-before +after):\n%s", cmp.Diff(string(was), string(is)))
			}
		})
	})
}

func TestDecidingTwiceIsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		history(t, func(d *chatgen.Driver, before chat.State, m chat.Message) {
			first := chat.Handle(before, m, d.Now(), d.Live)
			second := chat.Handle(before, m, d.Now(), d.Live)
			if diff := cmp.Diff(first, second); diff != "" {
				t.Fatalf("decision on %T (-first +second):\n%s", m, diff)
			}
		})
	})
}

func TestDecidingAfterItHappenedGivesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		history(t, func(d *chatgen.Driver, before chat.State, m chat.Message) {
			if d.State.Rev() == before.Rev() {
				return // nothing happened: it may still
			}
			if again := chat.Handle(d.State, m, d.Now(), d.Live); len(again.Events) > 0 {
				t.Fatalf("%T decided again gives %v", m, again.Events)
			}
		})
	})
}

func TestTheModelsViewOfEveryPrefixIsWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		history(t, func(d *chatgen.Driver, _ chat.State, m chat.Message) {
			if problem := verify.Promptable(chat.Prompt(d.State)); problem != "" {
				t.Fatalf("after %T: %s", m, problem)
			}
		})
	})
}

func TestEveryEventDecidedSurvivesTheWire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := generate(t)
		for i, want := range c.Commits {
			got, err := events.Decode(c.Bytes[i])
			if err != nil {
				t.Fatal(err)
			}
			again, err := events.Encode(got)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(c.Bytes[i], again) {
				t.Fatalf("rev %d, decoded and encoded:\n%s", want.Rev, cmp.Diff(string(c.Bytes[i]), string(again)))
			}
		}
	})
}

func TestFoldingLeavesOlderStatesAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type kept struct {
			state chat.State
			bytes []byte
		}
		var all []kept
		history(t, func(_ *chatgen.Driver, before chat.State, _ chat.Message) {
			all = append(all, kept{before, encoded(t, before)})
		})
		for _, k := range all {
			if now := encoded(t, k.state); !bytes.Equal(k.bytes, now) {
				t.Fatalf("state of rev %d (-before +after):\n%s", k.state.Rev(), cmp.Diff(string(k.bytes), string(now)))
			}
		}
	})
}

// Two futures of one past do not see each other.
func TestTwoChatsMayGrowFromOneState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := chatgen.NewDriver(lawful, drawn{t})
		for range rapid.IntRange(0, maxMessages).Draw(t, "messages") {
			d.Take(d.Next())
		}
		fork := d.Fork()
		for range 5 {
			d.Take(d.Next())
		}
		grown := encoded(t, d.State)
		for range 5 {
			fork.Take(fork.Next())
		}
		if now := encoded(t, d.State); !bytes.Equal(grown, now) {
			t.Fatalf("state (-before +after):\n%s", cmp.Diff(string(grown), string(now)))
		}
	})
}

func TestNothingFollowsWhenACommitIsComplete(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		history(t, func(d *chatgen.Driver, _ chat.State, m chat.Message) {
			if more := chat.Advance(d.State, d.Now(), d.Live); len(more) > 0 {
				t.Fatalf("after %T: %v", m, more)
			}
		})
	})
}

// But for one that has nothing left to spend.
func TestAChatThatRunsOwesSomething(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		history(t, func(d *chatgen.Driver, _ chat.State, m chat.Message) {
			turn, running := d.State.Running()
			owed := slices.DeleteFunc(chat.Owed(d.State), isAside)
			if _, _, waits := d.State.Held(); waits { // for a person, who may never come; calls may go on
				return
			}
			if running != (len(owed) > 0) {
				t.Fatalf("after %T: turn %d running: %t, owed: %v", m, turn, running, owed)
			}
		})
	})
}

// isAside reports whether work is for a step outside of any turn, or for the end of
// the chat.
func isAside(w protocol.Work) bool {
	switch w := w.(type) {
	case protocol.ModelWork:
		return w.Step.Turn == 0
	case protocol.Timer:
		return strings.HasPrefix(w.Name, string(protocol.TimerRetry)+"-0-") ||
			w.Name == string(protocol.TimerErase) || w.Name == string(protocol.TimerDelete)
	default:
		return false
	}
}

func TestNoStateDependsOnItsCommitsClocks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := generate(t)
		var s chat.State
		for i, commit := range c.Commits {
			commit.At = 1
			s = s.Apply(commit, events.Hash(c.Bytes[i]))
		}
		if s.Hash() != c.State.Hash() {
			t.Error("another clock, another state")
		}
	})
}

// Whoever does not know the agents goes on with all that begins no turn.
//
// Rule: S1.4.
func TestS1_4_WhoNeedsNoAgentsDecidesTheSameWithoutThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		history(t, func(d *chatgen.Driver, before chat.State, m chat.Message) {
			if b, birth := m.(chat.Birth); chat.NeedsAgents(before, m) || birth && b.Stopped {
				return
			}
			known, unknown := d.Live, d.Live
			known.Agents, unknown.Agents = map[string]events.Settings{chatgen.AgentHelper: {System: "Help."}}, nil
			with, without := chat.Handle(before, m, d.Now(), known), chat.Handle(before, m, d.Now(), unknown)
			if diff := cmp.Diff(with.Events, without.Events); diff != "" {
				t.Fatalf("%T is decided otherwise by whoever knows no agents (-known +unknown):\n%s", m, diff)
			}
		})
	})
}
