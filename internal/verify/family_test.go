package verify_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// Whatever happens in a chat and in those that work for it, and in whichever order
// their logs are read: they say the same of each other.
//
// Rule: S11.
func TestGeneratedFamiliesAreLegal(t *testing.T) {
	t.Parallel()
	const (
		families = 150
		messages = 120
	)
	chats, depth := 0, 0
	seen := make(map[events.ChildOutcome]int)
	for number := range families {
		chance := rand.New(rand.NewPCG(uint64(number), 17))
		f := chatgen.NewFamily(events.Key{Tenant: "acme", Chat: fmt.Sprintf("family-%d", number)}, chance)
		for range messages {
			f.Step()
		}
		midway := together(f.Chats(), chance)
		f.Rest()
		for name, list := range map[string][]verify.Entry{"midway": midway, "at rest": together(f.Chats(), chance)} {
			for _, v := range check(list, verify.Options{Idle: name == "at rest", SkipFold: number%4 != 0, Schema: schema}) {
				t.Errorf("family %d %s: %s", number, name, v)
			}
		}
		for _, c := range f.Chats() {
			for _, commit := range c.Commits {
				for _, e := range commit.Events {
					switch e := e.(type) {
					case events.ChatSpawned:
						depth = max(depth, e.Depth)
					case events.ChildEnded:
						seen[e.Outcome]++
					default:
						// Nothing of its family.
					}
				}
			}
			chats++
			for _, v := range check(entries(c, 1), verify.Options{Idle: true, SkipFold: true, Schema: schema}) {
				t.Errorf("family %d, chat %s alone: %s", number, c.Key(), v)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d chats, %d deep; ends: %v", chats, depth, seen)
	for _, outcome := range []events.ChildOutcome{events.ChildCompleted, events.ChildFailed, events.ChildInterrupted, events.ChildUnknown} {
		if seen[outcome] == 0 {
			t.Errorf("no child ended %s", outcome)
		}
	}
	if depth < events.MaxDepth {
		t.Errorf("no chat is deeper than %d", depth)
	}
}

// together are the logs of chats as they lie in one stream, each in its order.
func together(chats []*chatgen.Chat, chance *rand.Rand) []verify.Entry {
	var list []verify.Entry
	next := make([]int, len(chats))
	left := 0
	for _, c := range chats {
		left += len(c.Commits)
	}
	for left > 0 {
		i := chance.IntN(len(chats))
		if next[i] == len(chats[i].Commits) {
			continue
		}
		e := entries(chats[i], 0)[next[i]]
		e.Sequence = uint64(len(list) + 1)
		list = append(list, e)
		next[i]++
		left--
	}
	return list
}

// familyStory is a chat with the one that works for its call, both at rest.
func familyStory(t *testing.T) (parent, child *chatgen.Chat) {
	t.Helper()
	parent = chatgen.New(ann)
	parent.Create(events.Settings{Tools: &[]string{chat.ToolDelegate}})
	parent.Send("What is it?")
	parent.Answer(chatgen.Call(chat.ToolDelegate, chatgen.ArgumentsTask))
	child, ok := parent.ChildOf(call(1))
	if !ok {
		t.Fatal("the call has no child")
	}
	child.Answer(events.Text("42"))
	parent.Report(child)
	parent.Answer(events.Text("It is 42."))
	return over(t, parent), over(t, child)
}

// Who makes a chat under the name of a child before that is born keeps the parent from
// having one, and does no more harm.
func TestANameThatIsTakenIsLegal(t *testing.T) {
	t.Parallel()
	parent := chatgen.New(ann)
	parent.Create(events.Settings{Tools: &[]string{chat.ToolDelegate}})
	parent.Send("What is it?")
	parent.Answer(chatgen.Call(chat.ToolDelegate, chatgen.ArgumentsTask))
	taken := chatgen.New(protocol.ChildKey(ann, call(1)))
	taken.Create(events.Settings{})
	b, _ := parent.State.BirthOf(call(1))
	if d := taken.Handle(b); len(d.Events) > 0 {
		t.Fatalf("born over another chat: %v", d.Events)
	}
	r, ended := taken.State.ReportTo(b.Parent)
	if !ended {
		t.Fatal("the parent is told nothing")
	}
	parent.Handle(r)
	parent.Answer(events.Text("I do not know."))
	list := together([]*chatgen.Chat{over(t, parent), taken}, rand.New(rand.NewPCG(1, 1)))
	for _, v := range check(list, verify.Options{Idle: true, Schema: schema}) {
		t.Error(v)
	}
}

// kinMutations are of two logs, each of which is good by itself.
func kinMutations() []kinMutation {
	parent := func(do func(log) log) func(*testing.T, log, log) (log, log) {
		return func(_ *testing.T, parent, child log) (log, log) { return do(parent), child }
	}
	child := func(do func(log) log) func(*testing.T, log, log) (log, log) {
		return func(_ *testing.T, parent, child log) (log, log) { return parent, do(child) }
	}
	plain := func(k events.Key, text string) log {
		c := chatgen.New(k)
		c.Create(events.Settings{})
		c.Send(text)
		c.Answer(events.Text("42"))
		return logOf(c)
	}
	return []kinMutation{
		{"dropped: the call that a chat works for", func(_ *testing.T, _, child log) (log, log) { return plain(ann, "What is it?"), child }},
		{"dropped: the birth of a child", func(_ *testing.T, parent, child log) (log, log) { return parent, plain(child[0].Key, "Look it up.") }},
		{"dropped: the answer of a child", parent(func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Parts = nil })
		})},
		{"repeated: the answer of a child", parent(func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Parts = append(e.Parts[:1:1], e.Parts[0]) })
		})},
		{"changed: what a child has come to", parent(func(l log) log {
			l = change(l, 1, func(e *events.ChildEnded) { e.Outcome = events.ChildFailed })
			return change(l, 1, func(e *events.ToolCompleted) { e.Status, e.IsError = events.ToolError, true })
		})},
		{"changed: a child that lives is said to be erased", parent(func(l log) log {
			l = change(l, 1, func(e *events.ChildEnded) {
				e.Outcome, e.Totals, e.Spent = events.ChildErased, events.Totals{}, events.Spending{Unpriced: 1}
			})
			return change(l, 1, func(e *events.ToolCompleted) { e.Status, e.IsError = events.ToolError, true })
		})},
		{"changed: the answer of a child is an error", parent(func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Status, e.IsError = events.ToolError, true })
		})},
		{"changed: what a child took", parent(func(l log) log {
			return change(l, 1, func(e *events.ChildEnded) { e.Totals.Usage.Output++ })
		})},
		{"changed: what a child says", child(func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) { e.Parts = []events.Part{events.Text("43")} })
		})},
		{"changed: how deep a child is", child(func(l log) log {
			return change(l, 1, func(e *events.ChatSpawned) { e.Depth = 2 })
		})},
	}
}

type kinMutation struct {
	name   string
	mutate func(t *testing.T, parent, child log) (log, log)
}

// Rule: S11.
func TestAChildAndItsParentAgree(t *testing.T) {
	t.Parallel()
	found := func(t *testing.T, parent, child log, childFirst bool) []verify.Violation {
		a, b := parent.chain(t), child.chainOf(t, child[0].Key)
		if childFirst {
			a, b = b, a
		}
		list := slices.Concat(a, b)
		for i := range list {
			list[i].Sequence = uint64(i + 1)
		}
		return check(list, verify.Options{Idle: true, Schema: schema, SkipFold: true})
	}
	for _, childFirst := range []bool{false, true} {
		parent, child := familyStory(t)
		for _, v := range found(t, logOf(parent), logOf(child), childFirst) {
			t.Errorf("child first %t: %s", childFirst, v)
		}
		for _, tt := range kinMutations() {
			t.Run(fmt.Sprintf("%s, child first %t", tt.name, childFirst), func(t *testing.T) {
				t.Parallel()
				parent, child := familyStory(t)
				a, b := tt.mutate(t, logOf(parent), logOf(child))
				list := found(t, a, b, childFirst)
				if len(list) == 0 || list[0].Rule != verify.RuleChildren || len(list) > 1 {
					t.Errorf("found %v, want one violation of %s", list, verify.RuleChildren)
				}
			})
		}
	}
}
