package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// manyChanges is more than would fit into any list of the newest few.
const manyChanges = 50

// reader is a chat in which much is read: pictures fill the window of its model, so
// that outputs are left out, while its log stays small. Each turn says its number.
type reader struct{ *chatgen.Chat }

func newReader() reader {
	c := chatgen.New(lawful)
	c.Live.Windows = map[string]chat.Window{"small": {Tokens: 150_000}}
	c.Create(events.Settings{})
	return reader{c}
}

// mark is what the turn of that number is told.
func mark(turn int) string { return fmt.Sprintf("MARK-%d.", turn) }

// say is a turn in which nothing is read.
func (r reader) say() {
	r.Send(mark(r.next()) + strings.Repeat(" said", 300)) // so much that a summary saves something
	r.finish()
}

// read is a turn that ends with more outputs than stay where the window is small.
func (r reader) read() {
	turn := r.next()
	r.Send(mark(turn))
	for range 4 {
		step, _, open := r.State.OpenAttempt()
		if !open || step.Turn != turn || r.sums() {
			break
		}
		r.answer(events.StopCalls, chatgen.Call(chatgen.ToolRead, chatgen.ArgumentsValid))
		id := events.CallID{Turn: step.Turn, Step: step.Step, Ordinal: 1}
		r.Claim(id, 1)
		r.Pictures(id, 30)
	}
	r.finish()
}

// finish answers whatever is asked.
func (r reader) finish() {
	for {
		if _, _, open := r.State.OpenAttempt(); !open {
			return
		}
		r.answer(events.StopEnd, events.Text("well"))
	}
}

// answer ends the attempt, and the provider counts no tokens.
func (r reader) answer(stop events.Stop, parts ...events.Part) {
	r.AnswerWith(model.Answer{Parts: parts, Stop: stop})
}

func (r reader) next() int { return 1 + r.newest() }

func (r reader) newest() int {
	turn := 0
	for _, c := range r.Commits {
		for _, e := range c.Events {
			if e, ok := e.(events.TurnStarted); ok {
				turn = e.Turn
			}
		}
	}
	return turn
}

// compacted are the compactions there were.
func (r reader) compacted() []events.ContextCompacted {
	var all []events.ContextCompacted
	for _, c := range r.Commits {
		for _, e := range c.Events {
			if e, ok := e.(events.ContextCompacted); ok {
				all = append(all, e)
			}
		}
	}
	return all
}

// sums reports whether what is asked for is a summary.
func (r reader) sums() bool {
	for _, w := range chat.Owed(r.State) {
		if w, ok := w.(protocol.ModelWork); ok {
			return w.Purpose == events.PurposeSummary
		}
	}
	return false
}

// shows reports whether a model would be told what that turn was.
func (r reader) shows(turn int) bool {
	return strings.Contains(string(chat.Prompt(r.State).Canonical()), mark(turn))
}

func (r reader) command(t interface{ Fatalf(string, ...any) }, b protocol.Body, want events.Event) {
	before := len(r.Commits)
	r.Command(b)
	if len(r.Commits) == before+1 {
		if got := r.Commits[before].Events[0]; got.EventType() == want.EventType() {
			return
		}
	}
	t.Fatalf("%s gives no %s", b.Verb(), want.EventType())
}

// legal fails unless the log keeps every rule.
func (r reader) legal(t *testing.T) {
	t.Helper()
	checker := verify.New(verify.Options{Blob: func(_ events.Key, d events.Digest) ([]byte, error) { return r.Blobs[d], nil }})
	for i, b := range r.Bytes {
		checker.Add(verify.Entry{Sequence: uint64(i) + 1, Subject: r.Subject(1), Commit: b})
	}
	for _, v := range checker.Finish(nil) {
		t.Error(v)
	}
}

func TestS10_4_WhatIsNotShownAnyMoreStaysSo(t *testing.T) {
	t.Parallel()
	t.Run("★ however often outputs are left out behind it, and all of that can be undone", func(t *testing.T) {
		t.Parallel()
		r := newReader()
		r.say()
		r.command(t, protocol.Clear{V: protocol.Version}, events.ContextCleared{})
		for range manyChanges {
			r.read()
			if r.shows(1) {
				t.Fatalf("what was cleared is shown again after outputs were left out %d times", len(r.compacted()))
			}
		}
		masked := len(r.compacted())
		for _, e := range r.compacted() {
			if e.Step != nil {
				t.Fatalf("summed up: %+v", e)
			}
		}
		if masked < manyChanges*3/4 {
			t.Fatalf("outputs are left out %d times", masked)
		}
		r.legal(t)
		for range masked {
			r.command(t, protocol.Restore{V: protocol.Version}, events.ContextRestored{})
			if r.shows(1) {
				t.Fatal("what was cleared is shown again before all that was done since is undone")
			}
		}
		r.command(t, protocol.Restore{V: protocol.Version}, events.ContextRestored{})
		if !r.shows(1) {
			t.Error("what was cleared does not come back")
		}
		r.command(t, protocol.Restore{V: protocol.Version}, events.CommandNoted{})
		r.legal(t)
	})
	t.Run("★ however often another branch is cleared", func(t *testing.T) {
		t.Parallel()
		r := newReader()
		r.say()
		r.say()
		r.command(t, protocol.Clear{V: protocol.Version}, events.ContextCleared{}) // behind turn 2
		r.command(t, protocol.SelectBranch{V: protocol.Version, Turn: 1}, events.BranchSelected{})
		for range manyChanges {
			r.say()
			r.command(t, protocol.Clear{V: protocol.Version}, events.ContextCleared{})
		}
		r.command(t, protocol.SelectBranch{V: protocol.Version, Turn: 2}, events.BranchSelected{})
		if r.shows(1) || r.shows(2) {
			t.Error("what was cleared is shown again")
		}
		r.legal(t)
	})
	t.Run("★ though another branch has a summary since of what both have", func(t *testing.T) {
		t.Parallel()
		r := newReader()
		for range 4 {
			r.say()
		}
		r.command(t, protocol.Clear{V: protocol.Version}, events.ContextCleared{}) // behind turn 4
		r.command(t, protocol.SelectBranch{V: protocol.Version, Turn: 3}, events.BranchSelected{})
		r.say()
		r.Command(protocol.Compact{V: protocol.Version})
		r.Answer(events.Text("n"))
		if r.shows(1) || !r.shows(5) {
			t.Fatal("nothing is summed up, or all")
		}
		r.command(t, protocol.SelectBranch{V: protocol.Version, Turn: 4}, events.BranchSelected{})
		if r.shows(3) || r.shows(4) {
			t.Error("what was cleared is shown again")
		}
		r.command(t, protocol.Restore{V: protocol.Version}, events.ContextRestored{})
		if !r.shows(4) || r.shows(1) {
			t.Error("not the clearing is undone, or the summary as well")
		}
		r.command(t, protocol.Restore{V: protocol.Version}, events.ContextRestored{})
		if !r.shows(1) {
			t.Error("what was summed up does not come back")
		}
		r.legal(t)
	})
}

// A turn in front of a boundary is shown to no model while a path leads through that,
// whatever happens to this branch or to others.
func TestS10_4_NothingBringsBackWhatIsBeforeABoundary(t *testing.T) {
	t.Parallel()
	const longest = 40
	rapid.Check(t, func(t *rapid.T) {
		r := newReader()
		for range rapid.IntRange(1, longest).Draw(t, "acts") {
			switch rapid.SampledFrom([]string{"say", "say", "say", "say", "read", "clear", "compact", "compact", "select", "select", "select"}).Draw(t, "act") {
			case "say":
				r.say()
			case "read":
				r.read()
			case "clear":
				r.Command(protocol.Clear{V: protocol.Version})
			case "compact":
				r.Command(protocol.Compact{V: protocol.Version})
				r.finish()
			case "select":
				r.Command(protocol.SelectBranch{V: protocol.Version, Turn: rapid.IntRange(1, max(1, r.newest())).Draw(t, "turn")})
			}
			bounded, path := r.bounded()
			for _, turn := range path {
				if turn <= bounded && r.shows(turn) {
					t.Fatalf("turn %d is shown, and the path %v has a boundary in turn %d", turn, path, bounded)
				}
			}
		}
	})
}

// bounded is the last turn of the path that has a boundary, and the path, as the log
// has it.
func (r reader) bounded() (last int, path []int) {
	var boundaries []events.Boundary
	parents, tip := make(map[int]int), 0
	for _, c := range r.Commits {
		for _, e := range c.Events {
			switch e := e.(type) {
			case events.TurnStarted:
				parents[e.Turn], tip = e.Parent, e.Turn
			case events.BranchSelected:
				tip = e.Turn
			case events.ContextCleared:
				boundaries = append(boundaries, e.Boundary)
			case events.ContextCompacted:
				if e.Step != nil {
					boundaries = append(boundaries, e.Boundary)
				}
			}
		}
	}
	for ; tip != 0; tip = parents[tip] {
		path = append(path, tip)
		for _, b := range boundaries {
			if b.Turn == tip {
				last = max(last, tip)
			}
		}
	}
	return last, path
}
