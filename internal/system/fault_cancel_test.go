package system

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// B01: a call that runs when its turn is cancelled has a result, so whatever is
// sent next is well formed. What the tool reports later is dropped.
func TestB01ACancelledCallHasAResult(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	c := s.chat(t, scripted(t, toolThenText("      - call: {name: hold, arguments: '{}'}")))
	turn := c.do(send("go")).Turn
	eventually(t, "the tool runs", func() bool { return len(s.tools.of(c.key)) == 1 })
	c.do(interrupt(turn))
	c.ended(turn)
	result := only[events.ToolCompleted](c)
	if result.Status != events.ToolCancelled {
		t.Errorf("the call is %s", result.Status)
	}
	c.stillWorks()

	bus, err := streams.OpenRunner(s.connect("late"), streams.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	asked := only[events.ToolRequested](c)
	answer, err := bus.Result(patient(t), c.key, protocol.Result{
		V: protocol.Version, Call: asked.Call, Rev: 3, Runner: client.NewID(), Status: events.ToolOK, Parts: []events.Part{events.Text("late")},
	})
	if err != nil || answer.Answer != protocol.ResultDropped {
		t.Errorf("the late result is answered by %+v, %v", answer, err)
	}
	only[events.ToolCompleted](c)
	c.judge()
}

// asking is a chat in which every call with an effect is asked about, and one such
// call waits.
func (s *system) asking(t *testing.T) (*chat, events.ApprovalRequested) {
	t.Helper()
	c := s.again(t, client.NewID(), scripted(t, toolThenText("      - call: {name: effect, arguments: '{\"text\": \"done\"}'}")))
	c.do(protocol.Create{V: protocol.Version, Settings: events.Settings{Model: c.key.Chat, Approval: events.ApprovalAsk}})
	c.do(send("go"))
	c.until("a person is asked", func(h history) bool { return len(all[events.ApprovalRequested](h)) == 1 })
	return c, only[events.ApprovalRequested](c)
}

// B33: a cancel closes the approval that waits, which nobody can give any more, and
// the next message is answered.
func TestB33ACancelClosesTheApproval(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	c, asked := s.asking(t)
	c.do(interrupt(1))
	c.ended(1)
	if e := only[events.ApprovalResolved](c); e.Decision != events.ApprovalCancelled {
		t.Errorf("the approval is %s", e.Decision)
	}
	no := c.refused(protocol.Approve{V: protocol.Version, Call: asked.Call, Decision: protocol.DecideApprove})
	if no.Code != events.CodeAlreadyResolved {
		t.Errorf("an approval that comes late: %+v", no)
	}
	c.stillWorks()
	if n := len(s.tools.of(c.key)); n != 0 {
		t.Errorf("the tool ran %d times", n)
	}
	c.judge()
}

// B35: a turn that goes on after an approval has its call once: in the log, at the
// tool, and in what the model is shown.
func TestB35AnApprovedCallIsThereOnce(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	c, asked := s.asking(t)
	yes := protocol.Approve{V: protocol.Version, Call: asked.Call, Decision: protocol.DecideApprove}
	c.do(yes)
	if no := c.refused(yes); no.Code != events.CodeAlreadyResolved {
		t.Errorf("approved twice: %+v", no)
	}
	c.ended(1)
	only[events.ToolRequested](c)
	only[events.ToolCompleted](c)
	if n := len(s.tools.of(c.key)); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	calls, results := 0, 0
	for _, m := range c.model.last().Messages {
		for _, p := range m.Parts {
			if p.Type == events.PartCall {
				calls++
			}
		}
		results += len(m.Results)
	}
	if calls != 1 || results != 1 {
		t.Errorf("the model is shown %d calls and %d results", calls, results)
	}
	c.stillWorks()
	c.judge()
}

// B27: an input that interrupts comes with the end of the answer, before it or behind
// it. One writer decides: the answer, whole or cut off, stands before the input's own.
func TestB27AnInterruptingInputStandsBehindTheAnswerItInterrupts(t *testing.T) {
	t.Parallel()
	const races = 100
	s := running(t, options{})
	told := make(chan chan struct{}, 1) // one for each request, closed to end the answer
	c := s.chat(t, asModel(func(ctx context.Context, _ model.Request) iter.Seq2[model.Delta, error] {
		return func(yield func(model.Delta, error) bool) {
			end := make(chan struct{})
			if !yield(model.Delta{Kind: model.DeltaText, Text: "begun"}, nil) {
				return
			}
			told <- end
			select {
			case <-end:
				yield(model.Delta{Answer: &model.Answer{Parts: []events.Part{events.Text("begun and ended")}, Stop: events.StopEnd}}, nil)
			case <-ctx.Done():
				yield(model.Delta{}, &model.Error{Class: events.ClassCancelled, Message: "cancelled"})
			}
		}
	}))
	c.do(send("0"))
	for n := 1; n <= races; n++ {
		end := <-told
		over := make(chan struct{})
		go func() { defer close(over); close(end) }()
		stop := send(fmt.Sprint(n))
		stop.Mode = events.ModeInterrupt
		c.do(stop)
		<-over
	}
	close(<-told)
	h := c.ended(races + 1)
	if ends := len(all[events.TurnCompleted](h)) + len(all[events.TurnInterrupted](h)); ends != races+1 {
		t.Errorf("%d turns ended, want %d", ends, races+1)
	}
	t.Logf("%d answers were interrupted", len(all[events.TurnInterrupted](h)))
	c.model = s.models.add(c.key.Chat, scripted(t, plain))
	c.stillWorks()
	c.judge()
}
