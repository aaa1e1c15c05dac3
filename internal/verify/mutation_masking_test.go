package verify_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// maskingStory is a chat in which outputs of tools are left out:
//
//	turn 1         reads thrice, and fails to once; nothing is left out yet
//	turn 2         the first output is, and when it has read more, the second
//	behind it      cleared; all of it restored, one by one
//	turn 3         both are left out again; then it is too large for its model, and summed up
func maskingStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	return over(t, withoutOutputs(ann))
}

// maskedForkStory is a chat that goes on from that one where the model was asked
// without the second output. It is too large at once, and summed up; then all of it
// is restored, and the outputs are left out again.
func maskedForkStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := withoutOutputs(events.Key{Tenant: "acme", Chat: "origin"})
	fork := c.ForkAt(ann, uint64(nth[events.ContextCompacted](logOf(c), 2).commit+1))
	fork.Send("three")
	fork.Fail(events.ClassContextTooLarge)
	fork.Answer(events.Text("notes"))
	fork.Answer(events.Text("that was all"))
	for range 3 {
		fork.Command(protocol.Restore{V: protocol.Version})
	}
	fork.Send("four")
	fork.Answer(events.Text("and more"))
	return over(t, fork)
}

func withoutOutputs(k events.Key) *chatgen.Chat {
	c := chatgen.New(k)
	c.Live.Windows = map[string]chat.Window{"small": {Tokens: 150_000}}
	c.Create(events.Settings{})
	counted := events.Usage{Input: 110_000}
	read := func(turn, step, pictures int) {
		c.AnswerWith(model.Answer{Parts: []events.Part{chatgen.Call(chatgen.ToolRead, chatgen.ArgumentsValid)}, Stop: events.StopCalls, Usage: events.Usage{Input: 10}})
		id := events.CallID{Turn: turn, Step: step, Ordinal: 1}
		c.Claim(id, 1)
		if pictures == 0 {
			c.Result(id, events.ToolError, "no")
			return
		}
		c.Pictures(id, pictures)
	}
	c.Send("one")
	for i, pictures := range []int{30, 0, 30, 30} {
		read(1, i+1, pictures)
	}
	c.AnswerWith(model.Answer{Parts: []events.Part{events.Text("all read")}, Stop: events.StopEnd, Usage: counted})
	c.Send("two")
	c.AnswerWith(model.Answer{Parts: []events.Part{chatgen.Call(chatgen.ToolRead, chatgen.ArgumentsValid)}, Stop: events.StopCalls, Usage: counted})
	more := events.CallID{Turn: 2, Step: 1, Ordinal: 1}
	c.Claim(more, 1)
	c.Pictures(more, 40)
	c.Answer(events.Text("read more"))
	c.Command(protocol.Clear{V: protocol.Version})
	for range 3 {
		c.Command(protocol.Restore{V: protocol.Version})
	}
	c.Send("three")
	c.Fail(events.ClassContextTooLarge)
	c.Answer(events.Text("notes"))
	c.Answer(events.Text("that was all"))
	return c
}

// maskingMutations are those of I15 that are about outputs of tools.
func maskingMutations() []mutation {
	var list []mutation
	for _, tt := range unmaskable() {
		list = append(list, mutation{verify.RuleCompaction, tt.name, maskingStory, tt.mutate})
	}
	changed := func(n int, with func(*events.ContextCompacted)) func(log) log {
		return func(l log) log { return change(l, n, with) }
	}
	return append(list,
		mutation{verify.RuleCompaction, "changed: how much was shown with the outputs", maskingStory, changed(1, func(e *events.ContextCompacted) { e.Before++ })},
		mutation{verify.RuleCompaction, "changed: how much is shown without them", maskingStory, changed(2, func(e *events.ContextCompacted) { e.After-- })},
		mutation{verify.RulePrompts, "dropped: that outputs are left out", maskingStory, func(l log) log {
			return l.drop(nth[events.ContextCompacted](l, 1))
		}},
		mutation{verify.RulePrompts, "changed: which output is left out", maskingStory, changed(1, func(e *events.ContextCompacted) {
			e.Masked = []events.CallID{{Turn: 1, Step: 3, Ordinal: 1}}
			e.Boundary.Step = 3
		})},
	)
}

// broken is a log that leaves out what it must not, and what is said of it.
type broken struct {
	name   string
	mutate func(log) log
	says   string
}

func unmaskable() []broken {
	changed := func(n int, with func(*events.ContextCompacted)) func(log) log {
		return func(l log) log {
			return change(l, n, func(e *events.ContextCompacted) { e.Masked = slices.Clone(e.Masked); with(e) })
		}
	}
	first := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	return []broken{
		{"changed: the output to one that is an error", changed(3, func(e *events.ContextCompacted) { e.Masked[0].Step = 2 }), "and there is none"},
		{"changed: the output to one there is not", changed(3, func(e *events.ContextCompacted) { e.Masked[0].Ordinal = 2 }), "and there is none"},
		{"changed: the outputs to none", changed(1, func(e *events.ContextCompacted) { e.Masked = nil }), "leaves out 0 outputs"},
		{"changed: the outputs, with what is too new", changed(1, func(e *events.ContextCompacted) {
			e.Masked = append(e.Masked, events.CallID{Turn: 1, Step: 3, Ordinal: 1})
			e.Boundary.Step = 3
		}), "only the newest 30000 stay"},
		{"changed: the outputs, with what nobody has read", changed(2, func(e *events.ContextCompacted) {
			e.Masked = append(e.Masked, events.CallID{Turn: 2, Step: 1, Ordinal: 1})
			e.Boundary = events.Boundary{Turn: 2, Step: 1}
		}), "no model has read it"},
		{"changed: the outputs, with what is left out already", changed(2, func(e *events.ContextCompacted) {
			e.Masked = slices.Insert(e.Masked, 0, first)
		}), "is left out twice"},
		{"changed: their order", changed(3, func(e *events.ContextCompacted) { slices.Reverse(e.Masked) }), "is left out behind that of"},
		{"changed: their boundary", changed(1, func(e *events.ContextCompacted) { e.Boundary.Step = 2 }), "and the boundary is"},
		{"changed: outputs that save little", changed(1, func(e *events.ContextCompacted) { e.After = e.Before * 9 / 10 }), "saves less than 20 percent"},
		{"changed: outputs beside a summary", changed(1, func(e *events.ContextCompacted) { e.Summary = []events.Part{events.Text("notes")} }), "and sums up in 1 parts"},
		{"changed: a summary beside outputs", changed(4, func(e *events.ContextCompacted) { e.Masked = []events.CallID{first} }), "1 outputs are left out"},
		{"repeated: that outputs are left out", func(l log) log { return l.repeat(nth[events.ContextCompacted](l, 1)) }, "nothing was answered between them"},
		{"repeated: that they are shown again", func(l log) log { return l.repeat(nth[events.ContextRestored](l, 3)) }, "there is no boundary"},
		{"changed: what is taken back, to what was done before", func(l log) log {
			return change(l, 1, func(e *events.ContextRestored) { e.Boundary = events.Boundary{Turn: 1, Step: 1} })
		}, "and the newest is 2.2"},
		{"swapped: leaving outputs out and the request without them", func(l log) log {
			at := nth[events.ContextCompacted](l, 1)
			return l.swap(at, spot{at.commit, at.event + 1})
		}, "is under way"},
		{"swapped: a result and what leaves outputs out behind it", func(l log) log {
			at := nth[events.ContextCompacted](l, 2)
			return l.swap(at, spot{at.commit, at.event - 1})
		}, "has no result"},
		{"moved: leaving outputs out to before the turn", func(l log) log {
			return l.move(nth[events.ContextCompacted](l, 1), nth[events.InputAccepted](l, 2))
		}, "while no turn is open"},
	}
}

// Each of them is judged by the log alone, without what the chat's own code makes
// of it.
func TestS10_5_WhatMustNotBeLeftOutIsReported(t *testing.T) {
	t.Parallel()
	for _, tt := range unmaskable() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := maskingStory(t)
			found := check(tt.mutate(logOf(c)).chain(t), verify.Options{Idle: true, Schema: schema, Blob: blobs(c), SkipFold: true})
			if !slices.ContainsFunc(found, func(v verify.Violation) bool {
				return v.Rule == verify.RuleCompaction && strings.Contains(v.String(), tt.says)
			}) {
				t.Errorf("not reported; found: %v", found)
			}
		})
	}
}
