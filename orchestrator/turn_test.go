package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
	"github.com/google/go-cmp/cmp"
)

// Rule: S2.1.
func TestATurnWithATool(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.offer(lookup())
		m := answers(calls("lookup", `{"n":1}`), says("one"))
		o := r.start(m, nil)

		r.do(chatA, create())
		reply := r.do(chatA, send("look"))
		if reply.Turn != 1 || reply.Rev != 2 || reply.Input != reply.ID {
			t.Errorf("outcome of send is %+v", reply)
		}
		r.runTool(chatA, events.Text("1"))
		r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })

		want := "chat.created\n" +
			"input.accepted turn.started step.requested\n" +
			"step.completed tool.requested\n" +
			"tool.completed step.requested\n" +
			"step.completed turn.completed"
		if diff := cmp.Diff(want, r.types(chatA)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		asked := m.requests()
		if len(asked) != 2 || len(asked[1].Messages) != 3 || asked[1].Messages[2].Results[0].Parts[0].Text != "1" {
			t.Errorf("the model was asked %+v", asked)
		}
		if tool := asked[0].Tools[0]; tool.Name != "lookup" || len(tool.Schema) == 0 {
			t.Errorf("the model was offered %+v", tool)
		}
		for _, name := range []string{"redispatched", "faults", "conflicts", "unknown", "late", "given_back", "commits.resent", "helped"} {
			if n := o.counted(name); n != 0 {
				t.Errorf("%s is %d in an undisturbed run", name, n)
			}
		}
		if n := o.counted("commits"); n != 5 {
			t.Errorf("%d commits counted, want 5", n)
		}
	})
}

// runTool does a tool runner's part for one call.
func (r *rig) runTool(k events.Key, parts ...events.Part) {
	r.Helper()
	runner := r.server.Process("r").Runner()
	list, err := runner.Fetch(r.Context(), group, 1)
	if err != nil {
		r.Fatal(err)
	}
	var call protocol.ToolWork
	if err := json.Unmarshal(list[0].Body(), &call); err != nil {
		r.Fatal(err)
	}
	verdict, err := runner.Claim(r.Context(), k, protocol.Claim{
		V: protocol.Version, Call: call.Call, Rev: call.Rev, Claim: "c1", Delivery: list[0].Count(), Runner: "r",
	})
	if err != nil || verdict.Answer != protocol.ClaimGranted {
		r.Fatalf("claim: %+v, %v", verdict, err)
	}
	answer, err := runner.Result(r.Context(), k, protocol.Result{
		V: protocol.Version, Call: call.Call, Rev: call.Rev, Runner: "r", Status: events.ToolOK, Parts: parts,
	})
	if err != nil || answer.Answer != protocol.ResultCommitted {
		r.Fatalf("result: %+v, %v", answer, err)
	}
	if err := list[0].Ack(r.Context()); err != nil {
		r.Fatal(err)
	}
}

// Rule: S2.2.
func TestAttemptsThatFail(t *testing.T) {
	t.Parallel()

	type yield = func(model.Delta, error) bool
	for _, tt := range []struct {
		name  string
		model string
		say   func(ctx context.Context, n int, y yield) // the first time; after that it answers
		class events.ErrorClass
		again bool
	}{
		{
			name: "an error that stays fails the turn", class: events.ClassAuth,
			say: func(_ context.Context, _ int, y yield) {
				y(model.Delta{}, &model.Error{Class: events.ClassAuth, Message: "no key"})
			},
		},
		{
			name: "an error that may pass is tried again", class: events.ClassOverloaded, again: true,
			say: func(_ context.Context, _ int, y yield) {
				y(model.Delta{}, &model.Error{Class: events.ClassOverloaded, Message: "busy"})
			},
		},
		{
			name: "an error that nobody classified fails the turn", class: events.ClassUnknown,
			say: func(_ context.Context, _ int, y yield) { y(model.Delta{}, errors.New("secret words")) },
		},
		{
			name: "a stream that breaks off is tried again", class: events.ClassIncomplete, again: true,
			say: func(_ context.Context, _ int, y yield) { y(model.Delta{Kind: model.DeltaText, Text: "half"}, nil) },
		},
		{
			name: "a model that panics is tried again", class: events.ClassInternal, again: true,
			say: func(context.Context, int, yield) { panic("an adapter's bug") },
		},
		{
			name: "a silent model is tried again", class: events.ClassStreamSilence, again: true,
			say: func(ctx context.Context, _ int, y yield) { hangs(ctx, y) },
		},
		{
			name: "a model that only keeps the line open is tried again", class: events.ClassStreamSilence, again: true,
			say: func(ctx context.Context, _ int, y yield) {
				for tick := time.NewTicker(time.Minute); ; {
					select {
					case <-tick.C:
						if y(model.Delta{}, nil) {
							continue
						}
					case <-ctx.Done():
					}
					return
				}
			},
		},
		{name: "a model that is not there fails the turn", model: "other", class: events.ClassInvalidRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			inBubble(t, func(r *rig) {
				final := answers(says("fine"))
				m := &script{say: func(ctx context.Context, n int, q model.Request, y func(model.Delta, error) bool) {
					if n == 1 {
						tt.say(ctx, n, y)
						return
					}
					final.say(ctx, n, q, y)
				}}
				r.start(m, nil)
				r.do(chatA, protocol.Create{V: protocol.Version, Settings: events.Settings{Model: tt.model}})
				r.do(chatA, send("hi"))
				end := events.Type("turn.failed.v1")
				if tt.again {
					end = "turn.completed.v1"
				}
				r.eventually("the turn has ended with "+string(end), func() bool { return r.has(chatA, end) })
				failed := eventsOf[events.StepFailed](r, chatA)
				if len(failed) != 1 || failed[0].Class != tt.class || (failed[0].RetryAt != 0) != tt.again {
					r.Errorf("failures are %+v, want one of class %s", failed, tt.class)
				}
				if strings.Contains(failed[0].Message, "secret") {
					r.Errorf("the raw cause is in the log: %s", failed[0].Message)
				}
			})
		})
	}
}
