package verify_test

import (
	"fmt"
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

// contextStory is a chat whose context changes in every way:
//
//	turns 1 to 6   said
//	turn 7         compacts by itself, and answers
//	turn 8         is too large for its model, compacts, and answers
//	behind it      compacted by hand, which fails the first time; cleared; restored
//	turn 9         compacts, and is still too large
func contextStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Live.Windows = map[string]chat.Window{"small": {Tokens: 2000}}
	c.Create(events.Settings{})
	say := func(turns int) {
		for n := range turns {
			c.Send(fmt.Sprintf("question %d %s", n, strings.Repeat("q", 200)))
			c.Answer(events.Text(strings.Repeat("a", 200)))
		}
	}
	say(5)
	c.Send("six")
	c.AnswerWith(model.Answer{Parts: []events.Part{events.Text("answer")}, Stop: events.StopEnd, Usage: events.Usage{Input: 1500}})
	c.Send("seven")
	c.Answer(events.Text("notes"))
	c.Answer(events.Text("seventh answer"))
	c.Send("eight")
	c.Fail(events.ClassContextTooLarge)
	c.Answer(events.Text("more notes"))
	c.Answer(events.Text("eighth answer"))
	say(3)
	c.Command(protocol.Compact{V: protocol.Version})
	c.Interrupt()
	c.Command(protocol.Compact{V: protocol.Version})
	c.Fail(events.ClassQuota)
	c.Command(protocol.Compact{V: protocol.Version})
	c.Answer(events.Text("notes by hand"))
	c.Command(protocol.Clear{V: protocol.Version})
	c.Command(protocol.Restore{V: protocol.Version})
	say(3)
	c.Send(strings.Repeat("large ", 1500))
	c.Answer(events.Text("last notes"))
	c.Rest()
	if _, open := c.State.Running(); open {
		t.Fatal("a turn is open")
	}
	return c
}

// contextMutations are those of I15.
func contextMutations() []mutation {
	of := func(name string, mutate func(log) log) mutation {
		return mutation{verify.RuleCompaction, name, contextStory, mutate}
	}
	compacted := func(n int, with func(*events.ContextCompacted)) func(log) log {
		return func(l log) log { return change(l, n, with) }
	}
	return []mutation{
		of("dropped: what came of a summary", func(l log) log { return l.drop(nth[events.ContextCompacted](l, 1)) }),
		of("dropped: that a summary failed", func(l log) log { return l.drop(nth[events.ContextCompactionFailed](l, 2)) }),
		of("dropped: the boundary that is taken back", func(l log) log { return l.drop(nth[events.ContextCleared](l, 1)) }),
		of("dropped: the answer between two compactions", func(l log) log {
			return l.drop(nth[events.StepCompleted](l, 8))
		}),
		of("repeated: a compaction", func(l log) log { return l.repeat(nth[events.ContextCompacted](l, 2)) }),
		of("repeated: a boundary taken back", func(l log) log { return l.repeat(nth[events.ContextRestored](l, 1)) }),
		of("swapped: a summary and what came of it", func(l log) log {
			return l.swap(nth[events.ContextCompacted](l, 1), spot{nth[events.ContextCompacted](l, 1).commit, 0})
		}),
		of("changed: how much was saved", compacted(1, func(e *events.ContextCompacted) { e.After = e.Before * 9 / 10 })),
		of("changed: how much there was", compacted(1, func(e *events.ContextCompacted) { e.Before++ })),
		of("changed: how much there is", compacted(2, func(e *events.ContextCompacted) { e.After-- })),
		of("changed: the boundary to another", compacted(1, func(e *events.ContextCompacted) { e.Boundary.Turn-- })),
		of("changed: the summary to nothing", compacted(1, func(e *events.ContextCompacted) { e.Summary = []events.Part{events.Text(" ")} })),
		of("changed: the end of a summary to one that is cut off", func(l log) log {
			wrote := spot{nth[events.ContextCompacted](l, 1).commit, 0}
			e := l.at(wrote).(events.StepCompleted)
			e.Stop = events.StopLength
			l[wrote.commit].Events[0] = e
			return l
		}),
		of("changed: the step that wrote it", compacted(1, func(e *events.ContextCompacted) { e.Step.Step++ })),
		of("changed: the end of what is summed up to what is not there", func(l log) log {
			spot := nth[events.ContextCompacted](l, 1)
			e := l.at(spot).(events.ContextCompacted)
			for i := range l {
				for j := range l[i].Events {
					if asked, ok := l[i].Events[j].(events.StepRequested); ok && asked.Step == *e.Step {
						asked.Until = &events.Boundary{Turn: 70}
						l[i].Events[j] = asked
					}
				}
			}
			return l
		}),
		of("changed: the end of what is summed up to what is summed up already", func(l log) log {
			return change(change(l, 2, func(e *events.ContextCompacted) { e.Boundary = events.Boundary{Turn: 1, Step: 1} }), asksFor(l, 2),
				func(e *events.StepRequested) { e.Until = &events.Boundary{Turn: 1, Step: 1} })
		}),
		of("changed: the boundary of what is cleared to what is summed up already", func(l log) log {
			return change(change(l, 1, func(e *events.ContextCleared) { e.Boundary = events.Boundary{Turn: 1, Step: 1} }), 1,
				func(e *events.ContextRestored) { e.Boundary = events.Boundary{Turn: 1, Step: 1} })
		}),
		of("changed: why a summary failed", func(l log) log {
			return change(l, 2, func(e *events.ContextCompactionFailed) { e.Class = events.ClassAuth })
		}),
		of("changed: the boundary that is taken back", func(l log) log {
			return change(l, 1, func(e *events.ContextRestored) { e.Boundary.Step = 70 })
		}),
		of("moved: clearing into an open turn", func(l log) log {
			return l.move(nth[events.ContextCleared](l, 1), nth[events.TurnStarted](l, 3))
		}),
		of("moved: what came of a summary to the next commit", func(l log) log {
			spot := nth[events.ContextCompacted](l, 1)
			return l.move(spot, nth[events.InputAccepted](l, 8))
		}),
	}
}

// asksFor is which of the requests of a log is for the summary of its nth compaction.
func asksFor(l log, n int) int {
	wrote := *l.at(nth[events.ContextCompacted](l, n)).(events.ContextCompacted).Step
	asked := 0
	for _, c := range l {
		for _, e := range c.Events {
			if e, ok := e.(events.StepRequested); ok {
				if asked++; e.Step == wrote {
					return asked
				}
			}
		}
	}
	return 0
}

// Each of them is judged by the log alone, without what the chat's own code makes of
// it.
func TestS10_4_ABoundaryInFrontOfAnotherIsReported(t *testing.T) {
	t.Parallel()
	for _, m := range contextMutations() {
		if !strings.HasSuffix(m.name, "to what is summed up already") {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			c := contextStory(t)
			found := check(m.mutate(logOf(c)).chain(t), verify.Options{Idle: true, Schema: schema, Blob: blobs(c), SkipFold: true})
			if !slices.ContainsFunc(found, func(v verify.Violation) bool {
				return v.Rule == verify.RuleCompaction && strings.Contains(v.String(), "was shown any more")
			}) {
				t.Errorf("not reported; found: %v", found)
			}
		})
	}
}
