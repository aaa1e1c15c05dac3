package projections_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
	shown "github.com/everturn/everturn/protocol/transcript"
)

// kinOfAnn is a chat whose first child waits for an approval, and whose child there
// asks something; its second child has answered, its third is not there yet.
type kinOfAnn struct {
	book                     *book
	parent, child, below     *chatgen.Chat
	done, later              string
	approval, question, call events.CallID
}

func family(t *testing.T) kinOfAnn {
	t.Helper()
	id := func(ordinal int) events.CallID { return events.CallID{Turn: 1, Step: 1, Ordinal: ordinal} }
	of := func(c *chatgen.Chat, ordinal int) *chatgen.Chat {
		child, ok := c.ChildOf(id(ordinal))
		if !ok {
			t.Fatalf("call %s has no child", id(ordinal))
		}
		return child
	}
	delegate := chatgen.Call(chat.ToolDelegate, chatgen.ArgumentsTask)
	f := kinOfAnn{parent: chatgen.New(ann), call: id(1), approval: id(2), question: id(1)}
	f.parent.Create(events.Settings{Tools: &[]string{chat.ToolDelegate, chat.ToolAskUser, chatgen.ToolAsk}})
	f.parent.Send("What is it?")
	f.parent.Answer(delegate, delegate, delegate)
	f.child = of(f.parent, 1)
	f.child.Answer(delegate, chatgen.Call(chatgen.ToolAsk, "{}"))
	f.below = of(f.child, 1)
	f.below.Answer(chatgen.Call(chat.ToolAskUser, chatgen.ArgumentsQuestion))
	done := of(f.parent, 2)
	done.Answer(events.Text("42"))
	f.parent.Report(done)
	f.done, f.later = done.Key().Chat, protocol.ChildKey(ann, id(3)).Chat
	f.book = &book{stored: make(map[events.Key][]protocol.Stored), prev: make(map[events.Key]string)}
	for _, c := range []*chatgen.Chat{f.parent, f.child, f.below, done} {
		for _, b := range c.Bytes {
			f.book.put(c.Key(), b)
		}
	}
	return f
}

// Rule: S11.
func TestWhatWaitsInAChildIsShownAtItsParent(t *testing.T) {
	t.Parallel()
	f := family(t)
	p := open(t, f.book, nil)
	head, err := p.Chat(t.Context(), ann.Tenant, projections.ChatRequest{Chat: ann.Chat})
	if err != nil {
		t.Fatal(err)
	}
	page := transcript(t, f.book)
	for name, children := range map[string][]shown.Child{"chat": head.Children, "transcript": page.Children} {
		if len(children) != 2 {
			t.Fatalf("%s: children %+v", name, children)
		}
		first, second := children[0], children[1]
		if first.Call != f.call || first.Chat != f.child.Key().Chat || first.Status != projections.StatusRunning {
			t.Errorf("%s: first child %+v", name, first)
		}
		if second.Chat != f.later || second.Status != "" || len(second.Awaits) > 0 {
			t.Errorf("%s: a child that is not there yet is %+v", name, second)
		}
		if len(first.Awaits) != 2 {
			t.Fatalf("%s: awaits %+v", name, first.Awaits)
		}
		approval, question := first.Awaits[0], first.Awaits[1]
		if approval.Chat != f.child.Key().Chat || approval.Call != f.approval || approval.Tool != chatgen.ToolAsk || approval.Status != shown.CallApproval {
			t.Errorf("%s: approval %+v", name, approval)
		}
		if question.Chat != f.below.Key().Chat || question.Call != f.question || question.Question == nil || len(question.Question.Questions) != 2 {
			t.Errorf("%s: question %+v", name, question)
		}
	}
	calls := page.Messages[1].Parts
	if w := calls[0].Call; w.Status != shown.CallChild || w.Work == nil || w.Work.Chat != f.child.Key().Chat || w.Work.Outcome != "" {
		t.Errorf("the open call is %+v", w)
	}
	if w := calls[1].Call; w.Status != "ok" || w.Work == nil || w.Work.Chat != f.done || w.Work.Outcome != events.ChildCompleted || w.Work.Totals.Steps != 1 {
		t.Errorf("the call that is over is %+v", w)
	}
	child, err := p.Chat(t.Context(), ann.Tenant, projections.ChatRequest{Chat: f.child.Key().Chat})
	if err != nil || child.Parent == nil || *child.Parent != (events.Parent{Chat: ann.Chat, Call: f.call}) {
		t.Errorf("the child's parent is %+v, %v", child.Parent, err)
	}
}

// How children stood at another time is not looked up: they are elsewhere.
func TestAnOlderTranscriptNamesChildrenOnly(t *testing.T) {
	t.Parallel()
	f := family(t)
	page, err := open(t, f.book, nil).Transcript(t.Context(), ann.Tenant, projections.TranscriptRequest{Chat: ann.Chat, At: projections.Point{Rev: 3}})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Children) > 0 {
		t.Errorf("children %+v", page.Children)
	}
	if c := page.Messages[1].Parts[1].Call; c.Work == nil || c.Work.Chat != f.done || c.Work.Outcome != "" {
		t.Errorf("call %+v", c)
	}
}

func TestATranscriptWithChildrenAsText(t *testing.T) {
	t.Parallel()
	f := family(t)
	child, below := f.child.Key().Chat, f.below.Key().Chat
	p := open(t, f.book, nil)
	for _, tt := range []struct {
		chat string
		want []string
	}{
		{ann.Chat, []string{
			"-> delegate {\"task\":\"Look it up.\"}  [1.1.1 child]\n     chat " + child + " works for it until ",
			"[1.1.2 ok]\n     chat " + f.done + " worked for it: completed (1 step, 0 calls)\n     42\n",
			"\n.. chat " + child + " works for call 1.1.1: running\n" +
				"   call 1.1.2 there waits for approval: everturn approve " + child + " 1.1.2  (ask {})\n" +
				"   call 1.1.1 there waits for an answer: everturn answer " + below + " 1.1.1 color=... size=...\n",
			"\n.. chat " + f.later + " works for call 1.1.3: not to be seen\n",
		}},
		{child, []string{"works for call 1.1.1 of chat ann\n"}},
	} {
		page, err := p.Transcript(t.Context(), ann.Tenant, projections.TranscriptRequest{Chat: tt.chat})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := projections.NewTextWriter(&b, nil).WritePage(page); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("chat %s:\n%s\nwant in it:\n%s", tt.chat, b.String(), want)
			}
		}
	}
}
