package orchestrator_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

// firstCall is the call that a child works for here.
var firstCall = events.CallID{Turn: 1, Step: 1, Ordinal: 1}

// delegating is a model that has others do what it is told to, and whose answer to
// anything else is said.
func delegating(said string) model.Model {
	return asModel(func(r model.Request) *model.Answer {
		last := r.Messages[len(r.Messages)-1]
		switch {
		case last.Role == model.RoleTool:
			return &model.Answer{Stop: events.StopEnd, Parts: []events.Part{events.Text("thanks")}}
		case last.Parts[0].Text == "delegate":
			return &model.Answer{Stop: events.StopCalls, Parts: []events.Part{
				{Type: events.PartCall, Ordinal: 1, Name: "delegate", ProviderID: "c", Arguments: `{"task":"do it"}`},
			}}
		}
		return &model.Answer{Stop: events.StopEnd, Parts: []events.Part{events.Text(said)}}
	})
}

type asModel func(r model.Request) *model.Answer

// Stream implements [model.Model].
func (f asModel) Stream(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) { yield(model.Delta{Answer: f(r)}, nil) }
}

// delegate has a chat delegate, and gives the result of its call.
func (r *rig) delegate() events.ToolCompleted {
	r.Helper()
	r.do(chatA, protocol.Create{V: protocol.Version, Settings: events.Settings{Tools: &[]string{"delegate"}}})
	r.do(chatA, send("delegate"))
	r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
	for _, c := range r.log(chatA) {
		for _, e := range c.Events {
			if result, ok := e.(events.ToolCompleted); ok {
				return result
			}
		}
	}
	r.Fatal("there is no result")
	return events.ToolCompleted{}
}

// Rule: S11.
func TestAChildAnswersWithoutAnybodyLookingAgain(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		o := r.start(delegating("done"), nil)
		if got := r.delegate(); got.Status != events.ToolOK || got.Parts[0].Text != "done" {
			t.Errorf("result %+v", got)
		}
		for _, name := range []string{"redispatched", "faults", "unknown", "late", "given_back", "sweeps"} {
			if n := o.counted(name); n != 0 {
				t.Errorf("%s is %d in an undisturbed run", name, n)
			}
		}
	})
}

// What a child has said may lie outside of its log, where its parent cannot read it.
//
// Rule: S11.
func TestALongAnswerOfAChildIsCutAsAnyResult(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.start(delegating("begin "+strings.Repeat("word ", 50_000)+"end"), nil)
		got := r.delegate()
		if got.Status != events.ToolOK || !got.Truncated || got.Parts[0].Blob != "" {
			t.Fatalf("result %s, truncated %t, blob %q", got.Status, got.Truncated, got.Parts[0].Blob)
		}
		if whole, err := r.server.Blob(chatA, got.Blob); err != nil || len(whole) < 250_000 {
			t.Errorf("the whole: %d bytes, %v", len(whole), err)
		}
		text := got.Parts[0].Text
		if len(text) > events.MaxResultBytes || !strings.HasPrefix(text, "begin ") || !strings.HasSuffix(text, "end") {
			t.Errorf("%d bytes, from %.10q to %q", len(text), text, text[len(text)-10:])
		}
	})
}

// Rule: S11.
func TestAChildWhoseNameIsTakenIsNotMade(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.start(delegating("done"), nil)
		k := protocol.ChildKey(chatA, firstCall)
		r.do(k, create())
		if got := r.delegate(); got.Status != events.ToolError || !strings.Contains(got.Parts[0].Text, "another chat of its name") {
			t.Errorf("result %+v", got)
		}
		if n := len(r.log(k)); n != 1 {
			t.Errorf("the other chat has %d commits, want 1", n)
		}
	})
}

// lostWords is work without the words between chats that are lost: who got them is
// gone, and nobody gets them again in time.
type lostWords struct {
	orchestrator.Work
	lost []protocol.Word
}

func (l lostWords) FetchChat(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	list, err := l.Work.FetchChat(ctx, limit)
	return slices.DeleteFunc(list, func(d protocol.Delivery) bool {
		w, err := protocol.Read[protocol.ChatWork](d.Body())
		return err == nil && slices.Contains(l.lost, w.What)
	}), err
}

// No word reaches a child. When its parent waits no more it ends all the same, before
// its parent does, and if it was not there yet nobody begins its work later.
//
// Rule: S6.4.
func TestTheEndTimerOfAParentStopsItsChildren(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		lost []protocol.Word
		asks int // of a model: of the parent's and the child's
	}{
		"one that works":           {lost: []protocol.Word{protocol.WordStop}, asks: 2},
		"one that is not made yet": {lost: []protocol.Word{protocol.WordStop, protocol.WordReport}, asks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			inBubble(t, func(r *rig) {
				m := &script{say: func(ctx context.Context, n int, _ model.Request, yield func(model.Delta, error) bool) {
					if n == 1 {
						yield(model.Delta{Answer: calls("delegate", `{"task":"do it"}`)}, nil)
						return
					}
					hangs(ctx, yield)
				}}
				r.start(m, func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Work = lostWords{b.Work, tt.lost} })
				k := protocol.ChildKey(chatA, firstCall)
				r.do(chatA, protocol.Create{V: protocol.Version, Settings: events.Settings{Tools: &[]string{"delegate"}}})
				r.do(chatA, send("delegate"))
				r.eventually("the models are asked", func() bool { return r.has(chatA, "child.spawned.v1") && len(m.requests()) == tt.asks })
				r.do(chatA, protocol.Interrupt{V: protocol.Version, Turn: 1})
				r.eventually("the parent waits no more", func() bool { return r.has(chatA, "turn.interrupted.v1") })
				if ended := eventsOf[events.ChildEnded](r, chatA); len(ended) != 1 || ended[0].Outcome != events.ChildUnknown {
					r.Errorf("its child ended %+v", ended)
				}
				if !r.has(k, "turn.interrupt_requested.v1") {
					r.Fatalf("its child goes on:\n%s", r.types(k))
				}
				r.eventually("the child has ended", func() bool { return r.has(k, "turn.interrupted.v1") })
				if n := len(m.requests()); n != tt.asks {
					r.Errorf("a model was asked %d times, want %d", n, tt.asks)
				}
			})
		})
	}
}
