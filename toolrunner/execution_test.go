package toolrunner_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// Rule: S4.10.
func TestErrorsOfToolsAreResults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		run  func(context.Context, toolrunner.Call) (toolrunner.Output, error)
		want string
	}{
		{
			name: "a returned error is an error result with its text",
			run: func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
				return toolrunner.Output{}, errors.New("no such city")
			},
			want: "no such city",
		},
		{
			name: "what was put out before the error stands before it",
			run: func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
				return toolrunner.Output{Text: "line 1"}, errors.New("exit status 3")
			},
			want: "line 1\n\nexit status 3",
		},
		{
			name: "a tool may declare an error itself",
			run: func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
				return toolrunner.Output{Text: "nothing found", IsError: true}, nil
			},
			want: "nothing found",
		},
		{
			name: "a panic is an error result that does not repeat what it said",
			run: func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
				panic("token s3cret")
			},
			want: "the tool broke down; it may have done a part of its work",
		},
		{
			name: "so is the end of the goroutine",
			run: func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
				runtime.Goexit()
				panic("not reached")
			},
			want: "the tool broke down; it may have done a part of its work",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := start(t, newBus(), effect(), tt.run)
				g.settle(g.work(), 1).wantAck(t)
				r := g.wantResult(events.ToolError)
				if len(r.Parts) != 1 || r.Parts[0].Text != tt.want {
					t.Errorf("parts: %+v, want %q", r.Parts, tt.want)
				}
			})
		})
	}
}

// Rule: S4.10.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		manifest protocol.Manifest
		want     events.ToolStatus
	}{
		{"of a read-only tool is a timeout", readOnly(), events.ToolTimeout},
		{"of an effect leaves the outcome unknown", effect(), events.ToolUnknown},
		{"of an idempotent effect as well", idempotent(), events.ToolUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				g := start(t, newBus(), tt.manifest, hangs)
				d := g.settle(g.work(), 1)
				d.wantAck(t)
				g.wantResult(tt.want)
				if took := d.at.Sub(began); took != 20*time.Second {
					t.Errorf("took %v, want the timeout of 20s", took)
				}
			})
		})
	}
}

func TestToolThatIgnoresItsEndIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		began := time.Now()
		g := start(t, newBus(), effect(), func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
			<-release
			return toolrunner.Output{}, nil
		})
		d := g.settle(g.work(), 1)
		d.wantAck(t)
		g.wantResult(events.ToolUnknown)
		if took := d.at.Sub(began); took > 20*time.Second+events.EndDelay {
			t.Errorf("took %v", took)
		}
	})
}

// Rule: S4.11.
func TestStop(t *testing.T) {
	t.Parallel()
	other := events.CallID{Turn: 1, Step: 1, Ordinal: 2}
	step := call.StepID()
	for _, tt := range []struct {
		name     string
		manifest protocol.Manifest
		stop     protocol.Stop
		chat     events.Key
		want     events.ToolStatus
		stopped  bool
	}{
		{"of the turn: an effect is unknown", effect(), protocol.Stop{V: 1, Turn: 1}, chat, events.ToolUnknown, true},
		{"of the turn: reading is cancelled", readOnly(), protocol.Stop{V: 1, Turn: 1}, chat, events.ToolCancelled, true},
		{"of the call", readOnly(), protocol.Stop{V: 1, Turn: 1, Call: &call}, chat, events.ToolCancelled, true},
		{"of another call", readOnly(), protocol.Stop{V: 1, Turn: 1, Call: &other}, chat, events.ToolTimeout, false},
		{"of another turn", readOnly(), protocol.Stop{V: 1, Turn: 2}, chat, events.ToolTimeout, false},
		{"of a model attempt", readOnly(), protocol.Stop{V: 1, Turn: 1, Step: &step, Attempt: 1}, chat, events.ToolTimeout, false},
		{"of another chat", readOnly(), protocol.Stop{V: 1, Turn: 1}, events.Key{Tenant: "other", Chat: "c1"}, events.ToolTimeout, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := start(t, newBus(), tt.manifest, hangs)
				d := g.deliver(g.work(), 1)
				synctest.Wait()
				sent := time.Now()
				g.bus.stops <- stopMessage{tt.chat, tt.stop}
				<-d.settled
				d.wantAck(t)
				g.wantResult(tt.want)
				if quick := d.at.Sub(sent) <= time.Second; quick != tt.stopped {
					t.Errorf("ended after %v", d.at.Sub(sent))
				}
			})
		})
	}
}

// Rule: S4.11.
func TestCallThatIsNotWantedEndsWithoutTheStopMessage(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"asked": false, "the first answer is lost as well": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBus()
				interrupted := time.Now().Add(5*time.Second + time.Millisecond) // just after it was asked
				b.onClaim = func(n int, _ protocol.Claim) (protocol.ClaimAnswer, error) {
					switch {
					case n == 0:
						return granted, nil
					case time.Now().Before(interrupted):
						return protocol.ClaimAnswer{Answer: protocol.ClaimBusy, RetryMS: 1000}, nil
					case lost && n == 2:
						return protocol.ClaimAnswer{}, errNoAnswer
					}
					return over, nil
				}
				g := start(t, b, effect(), hangs)
				d := g.deliver(g.work(), 1)
				<-d.settled
				d.wantAck(t)
				r := g.wantResult(events.ToolUnknown)
				if took := d.at.Sub(interrupted); took > 6*time.Second {
					t.Errorf("ended after %v, want 6s at most", took)
				}
				if !strings.Contains(r.Parts[0].Text, "the turn was interrupted") {
					t.Errorf("text: %q", r.Parts[0].Text)
				}
				for _, c := range b.sentClaims()[1:] {
					if c != b.sentClaims()[0] {
						t.Errorf("asked with %+v, want the claim itself", c)
					}
				}
			})
		})
	}
}

func TestResultOfAToolThatEndsInSpiteOfAStopCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := start(t, newBus(), effect(), func(ctx context.Context, _ toolrunner.Call) (toolrunner.Output, error) {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), toolrunner.ErrNotWanted) {
				t.Errorf("cause: %v", context.Cause(ctx))
			}
			return toolrunner.Output{Text: "sent already"}, nil
		})
		d := g.deliver(g.work(), 1)
		synctest.Wait()
		g.bus.stops <- stopMessage{chat, protocol.Stop{V: 1, Turn: 1}}
		<-d.settled
		g.wantResult(events.ToolOK)
	})
}

func TestStopWhileTheLicenceIsAskedFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		manifest protocol.Manifest
		want     events.ToolStatus
	}{
		{"nothing happened", effect(), events.ToolCancelled},
		{"another process may have run it", idempotent(), events.ToolUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBus()
				b.claimTakes = events.Grant / 2
				g := start(t, b, tt.manifest, says("must not run"))
				d := g.deliver(g.work(), 1)
				synctest.Wait()
				b.stops <- stopMessage{chat, protocol.Stop{V: 1, Turn: 1}}
				<-d.settled
				d.wantAck(t)
				g.wantResult(tt.want)
			})
		})
	}
}

func TestProgressIsNumberedAndThinned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		g := start(t, b, effect(), func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
			c.Progress("one\x00")
			c.Progress("too soon")
			if err := wait(ctx, time.Second); err != nil {
				return toolrunner.Output{}, err
			}
			c.Progress(strings.Repeat("ä", 10_000))
			return toolrunner.Output{}, nil
		})
		g.settle(g.work(), 1)
		if len(b.progress) != 2 {
			t.Fatalf("progress: %+v", b.progress)
		}
		if p := b.progress[0]; p.I != 0 || p.Call != call || p.Text != "one"+events.Replacement {
			t.Errorf("first: %+v", p)
		}
		if p := b.progress[1]; p.I != 2 || len(p.Text) != 4<<10 {
			t.Errorf("second: %d, %d bytes", p.I, len(p.Text))
		}
	})
}
