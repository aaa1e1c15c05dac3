package system

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// What a family of chats is told, and what its model makes of it.
const (
	sayHang = "hang" // a tool is called that never answers
	sayDone = "done" // that is the answer
)

// splitting is a model that has each word of "split: a b c" done by a sub-agent, and
// then says what came of it.
func splitting() model.Model {
	return asModel(func(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == model.RoleTool {
			var said []string
			for _, result := range last.Results {
				said = append(said, textOf(result.Parts))
			}
			return answers(events.StopEnd, events.Text("They said: "+strings.Join(said, ", ")))
		}
		text := textOf(last.Parts)
		if tasks, split := strings.CutPrefix(text, "split: "); split {
			var calls []events.Part
			for i, task := range strings.Fields(tasks) {
				calls = append(calls, events.Part{
					Type: events.PartCall, Ordinal: i + 1, Name: "delegate", ProviderID: fmt.Sprintf("call_%d", i+1),
					Arguments: fmt.Sprintf(`{"task":%q}`, strings.ReplaceAll(task, "+", " ")),
				})
			}
			return answers(events.StopCalls, calls...)
		}
		if text == sayHang {
			return answers(events.StopCalls, events.Part{Type: events.PartCall, Ordinal: 1, Name: "hold", Arguments: "{}", ProviderID: "call_1"})
		}
		return answers(events.StopEnd, events.Text(text))
	})
}

// family makes a chat whose model may delegate.
func (s *system) family(t *testing.T, m model.Model) *chat {
	t.Helper()
	c := s.again(t, client.NewID(), m)
	c.do(protocol.Create{V: protocol.Version, Settings: events.Settings{
		Model: c.key.Chat, Tools: &[]string{"delegate", "hold", "echo"},
	}})
	return c
}

// child is the chat that works for a call.
func (c *chat) child(call events.CallID) *chat {
	c.Helper()
	child := *c
	child.key = protocol.ChildKey(c.key, call)
	return &child
}

// judgeFamily judges the logs of a chat, of its children and of theirs, together.
func (c *chat) judgeFamily() {
	c.Helper()
	blob := func(k events.Key, d events.Digest) ([]byte, error) { return c.s.bus.Blobs.Get(patient(c.T), k, d) }
	checker := verify.New(verify.Options{Idle: true, Shards: c.s.bus.Log.Shards(), Blob: blob})
	var add func(c *chat)
	add = func(c *chat) {
		c.judge()
		h := c.read()
		for _, e := range h.entries {
			checker.Add(e)
		}
		for _, spawned := range all[events.ChildSpawned](h) {
			add(c.child(spawned.Call))
		}
	}
	add(c)
	for _, v := range checker.Finish(nil) {
		c.Error(v)
	}
}

// resultOf is the result of a call, or false while there is none.
func (h history) resultOf(call events.CallID) (events.ToolCompleted, bool) {
	for _, r := range all[events.ToolCompleted](h) {
		if r.Call == call {
			return r, true
		}
	}
	return events.ToolCompleted{}, false
}

// ordinal is a call of the first step of a turn.
func ordinal(turn, n int) events.CallID { return events.CallID{Turn: turn, Step: 1, Ordinal: n} }

// Two sub-agents work side by side, one of them with a sub-agent of its own, and what
// they answer are the results of the calls.
//
// Rule: S11.
func TestS11_SubAgentsAnswerTheirParent(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	c := s.family(t, splitting())
	h := c.turn("split: one split:+two")
	if got, want := h.finalText(), "They said: one, They said: two"; got != want {
		t.Errorf("answer %q, want %q; the log is\n%s", got, want, h)
	}
	for _, r := range all[events.ToolCompleted](h) {
		if r.Status != events.ToolOK || r.IsError {
			t.Errorf("result %+v", r)
		}
	}
	c.judgeFamily()
	c.stillWorks()
}

// B36: one child hangs, another answers. The answer is in the parent's log at once, a
// message waits, a cancel reaches the child that hangs, and then the message is answered.
//
// Rule: S6.4.
func TestB36OneChildThatHangsHoldsUpNobody(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	c := s.family(t, splitting())
	c.do(send("split: " + sayHang + " " + sayDone))
	hung, quick := ordinal(1, 1), ordinal(1, 2)
	h := c.until("the one that answers has its result", func(h history) bool { _, ok := h.resultOf(quick); return ok })
	if r, _ := h.resultOf(quick); r.Status != events.ToolOK || textOf(r.Parts) != sayDone {
		t.Errorf("result %+v", r)
	}
	if _, settled := h.resultOf(hung); settled {
		t.Fatalf("the one that hangs has a result; the log is\n%s", h)
	}
	child := c.child(hung)
	eventually(t, "its tool runs", func() bool { return len(s.tools.of(child.key)) > 0 })
	if r := all[events.ToolRequested](child.read()); len(r) != 1 || r[0].Deadline == 0 {
		t.Errorf("the call that hangs has no deadline: %+v", r)
	}
	waiting := c.do(send(areYouThere))

	told := time.Now()
	c.do(interrupt(1))
	h = c.ended(1)
	if took := time.Since(told); took > endsWithin {
		t.Errorf("the turn ended after %v, want %v at most", took, endsWithin)
	}
	<-s.tools.letGo(child.key) // nothing goes on behind the parent's back
	of := child.ended(1)
	if n := len(all[events.TurnInterrupted](of)); n != 1 || len(all[events.StepRequested](of)) != 1 {
		t.Errorf("the child's log is\n%s", of)
	}
	if ended := all[events.ChildEnded](h); len(ended) != 2 || ended[1].Outcome == events.ChildCompleted {
		t.Errorf("children ended %+v", ended)
	}
	h = c.ended(2)
	if got := h.finalText(); got != iAmHere {
		t.Errorf("the message that waited, %s, got the answer %q; the log is\n%s", waiting.Input, got, h)
	}
	c.judgeFamily()
	c.stillWorks()
}

// A chat that answered a call goes on as any other, and its parent hears no more of it.
//
// Rule: S11.
func TestS11_OnlyTheFirstTurnOfAChildIsReported(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	c := s.family(t, splitting())
	c.turn("split: one")
	before := len(c.read().commits)
	child := c.child(ordinal(1, 1))
	if got := child.turn("two").finalText(); got != "two" {
		t.Errorf("the child answers %q", got)
	}
	c.judgeFamily()
	if after := len(c.read().commits); after != before {
		t.Errorf("the parent has %d commits, and had %d", after, before)
	}
	c.stillWorks()
}

// What a child is asked to approve it waits for, and so does its parent, which does
// what it is told otherwise.
//
// Rule: S11.
func TestS11_AChildWaitsForAPerson(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	c := s.again(t, client.NewID(), asModel(func(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
		if textOf(r.Messages[len(r.Messages)-1].Parts) == "pay" {
			return answers(events.StopCalls, events.Part{Type: events.PartCall, Ordinal: 1, Name: "effect", Arguments: `{"text":"paid"}`, ProviderID: "call_1"})
		}
		return splitting().Stream(ctx, r)
	}))
	c.do(protocol.Create{V: protocol.Version, Settings: events.Settings{
		Model: c.key.Chat, Approval: events.ApprovalAsk, Tools: &[]string{"delegate", "effect"},
	}})
	c.do(send("split: pay"))
	c.until("the parent asks for its own call", func(h history) bool { return len(all[events.ApprovalRequested](h)) == 1 })
	c.do(protocol.Approve{V: protocol.Version, Call: ordinal(1, 1), Decision: protocol.DecideApprove})
	child := c.child(ordinal(1, 1))
	child.until("the child asks", func(h history) bool { return len(all[events.ApprovalRequested](h)) == 1 })
	if _, settled := c.read().resultOf(ordinal(1, 1)); settled {
		t.Error("the parent does not wait")
	}
	child.do(protocol.Approve{V: protocol.Version, Call: ordinal(1, 1), Decision: protocol.DecideApprove})
	h := c.ended(1)
	if got := h.finalText(); got != "They said: They said: paid" {
		t.Errorf("answer %q; the log is\n%s", got, h)
	}
	c.judgeFamily()
}

// The erasure of a child ends it, and its parent is told; that of a parent ends its
// children, which stay.
//
// Rule: S11.
func TestS11_AFamilyIsErasedOneByOne(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	c := s.family(t, splitting())
	c.do(send("split: " + sayHang + " " + sayHang))
	first, second := c.child(ordinal(1, 1)), c.child(ordinal(1, 2))
	for _, child := range []*chat{first, second} {
		eventually(t, "its tool runs", func() bool { return len(s.tools.of(child.key)) > 0 })
	}
	first.do(protocol.Erase{V: protocol.Version})
	h := c.until("the parent is told", func(h history) bool { return len(all[events.ChildEnded](h)) == 1 })
	if r, _ := h.resultOf(ordinal(1, 1)); r.Status != events.ToolError {
		t.Errorf("result %+v", r)
	}
	c.do(protocol.Erase{V: protocol.Version})
	of := second.ended(1)
	if n := len(all[events.TurnInterrupted](of)); n != 1 {
		t.Errorf("the other child's log is\n%s", of)
	}
	c.until("nothing is left of the parent", func(h history) bool { return len(all[events.ContentDeleted](h)) == 1 })
	if got := second.turn("still here").finalText(); got != "still here" {
		t.Errorf("the other child answers %q", got)
	}
	second.judge()
}

// commonTasks are enough that some must wait for a place.
const commonTasks = 20

// However many are asked for, eight work at a time, and all answer.
//
// Rule: S11.
func TestS11_EightChildrenWorkAtATime(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	c := s.family(t, splitting())
	h := c.turn("split:" + strings.Repeat(" "+sayDone, commonTasks))
	open, most := 0, 0
	for _, commit := range h.commits {
		for _, e := range commit.Events {
			switch e.(type) {
			case events.ChildSpawned:
				open++
			case events.ChildEnded:
				open--
			default:
			}
		}
		most = max(most, open)
	}
	want := "They said: " + strings.Join(slices.Repeat([]string{sayDone}, commonTasks), ", ")
	if most != events.MaxOpenChildren || h.finalText() != want {
		t.Errorf("%d worked at a time; the answer is %q; the log is\n%s", most, h.finalText(), h)
	}
	c.judgeFamily()
}
