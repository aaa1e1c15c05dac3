package toolrunner_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

func TestNewReportsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	bad := effect()
	bad.Group, bad.Name = "other", "bad"
	nameless := effect()
	nameless.Name = ""
	_, err := toolrunner.New(toolrunner.Config{Concurrency: -1, AckWait: time.Millisecond}, newBus(), []toolrunner.Tool{
		toolrunner.Func(effect(), hangs), toolrunner.Func(effect(), hangs),
		toolrunner.Func(bad, hangs), toolrunner.Func(nameless, hangs),
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"concurrency", "ack wait", "two tools", `group "other"`, "name: want"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not speak of %s: %v", want, err)
		}
	}
	if _, err := toolrunner.New(toolrunner.Config{}, newBus(), nil); err == nil {
		t.Error("a runner without tools was made")
	}
}

func TestToolsAreOfferedUntilAnsweredAndThenOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		b.onOffer = func(n int) (protocol.OfferAnswer, error) {
			if n < 2 {
				return protocol.OfferAnswer{}, errNoAnswer
			}
			return protocol.OfferAnswer{Refused: []string{"not here"}}, nil
		}
		began := time.Now()
		start(t, b, effect(), hangs)
		if wait(t.Context(), 2*time.Minute+10*time.Second) != nil {
			t.Fatal("the test ended")
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		const answered = 150 * time.Millisecond // by the third try, after pauses of 50 and 100 ms
		want := []time.Duration{0, 50 * time.Millisecond, answered, answered + time.Minute, answered + 2*time.Minute}
		got := make([]time.Duration, len(b.offers))
		for i, at := range b.offers {
			got[i] = at.Sub(began)
		}
		if !slices.Equal(got, want) {
			t.Errorf("offered after %v, want %v", got, want)
		}
	})
}

func TestOnlyWhatCanStartIsFetched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		finish := make(chan struct{})
		g := startWith(t, toolrunner.Config{Concurrency: 2}, b, effect(), func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
			<-finish
			return toolrunner.Output{}, nil
		})
		var deliveries []*delivery
		for range 5 {
			deliveries = append(deliveries, g.deliver(g.work(), 1))
		}
		synctest.Wait()
		if n := len(b.sentClaims()); n != 2 {
			t.Errorf("%d calls in hand, want 2", n)
		}
		if len(b.queue) != 3 {
			t.Errorf("%d calls in the queue, want 3", len(b.queue))
		}
		close(finish)
		for _, d := range deliveries {
			<-d.settled
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if slices.Max(b.fetches) > 2 || slices.Min(b.fetches) < 1 {
			t.Errorf("asked for %v", b.fetches)
		}
	})
}

func TestQueueHearsOfACallInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		g := start(t, newBus(), effect(), hangs)
		d := g.settle(g.work(), 1)
		if len(d.alive) < 6 {
			t.Fatalf("heard %d times in 20s", len(d.alive))
		}
		for i, at := range d.alive {
			if want := began.Add(time.Duration(i+1) * 3 * time.Second); !at.Equal(want) {
				t.Errorf("sign of life %d after %v", i, at.Sub(began))
			}
		}
	})
}

func TestWhatIsNotOursIsGivenBackUnclaimed(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	past := func(w *protocol.ToolWork) { w.Deadline = events.At(time.Now()).Add(-2 * minute) }
	for _, tt := range []struct {
		name   string
		change func(*protocol.ToolWork)
		count  uint64
		away   time.Duration // 0: acked
	}{
		{"another version of the tool", func(w *protocol.ToolWork) { w.Manifest = events.DigestOf(nil) }, 1, time.Second},
		{"a tool we do not have", func(w *protocol.ToolWork) { w.Tool = "other" }, 1, time.Second},
		{"again and again", func(w *protocol.ToolWork) { w.Tool = "other" }, 3, 3 * time.Second},
		{"very often", func(w *protocol.ToolWork) { w.Tool = "other" }, 3_000, 15 * time.Second},
		{"long past its deadline", func(w *protocol.ToolWork) { w.Tool = "other"; past(w) }, 9, 0},
		{"a version of the work we cannot read", func(w *protocol.ToolWork) { w.V = 2 }, 1, time.Second},
		{"a chat that cannot be", func(w *protocol.ToolWork) { w.Chat = "a.b" }, 1, time.Second},
		{"no call", func(w *protocol.ToolWork) { w.Call = events.CallID{} }, 1, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := start(t, newBus(), effect(), says("must not run"))
				d := g.settle(g.work(tt.change), tt.count)
				if tt.away == 0 {
					d.wantAck(t)
				} else {
					d.wantLater(t, tt.away)
				}
				if n := len(g.bus.sentClaims()); n != 0 {
					t.Errorf("%d claims", n)
				}
			})
		})
	}
}

// Calls that go from runner to runner only seem slow, so one of them says why; not each.
func TestThatTheRunnersOfAGroupDifferIsSaidOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g := startWith(t, toolrunner.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, newBus(), effect(), says("must not run"))
		for _, tt := range []struct {
			after time.Duration
			told  int
		}{{0, 1}, {time.Second, 1}, {time.Minute, 2}} {
			<-time.After(tt.after)
			g.settle(g.work(func(w *protocol.ToolWork) { w.Manifest = events.DigestOf(nil) }), 1)
			if told := strings.Count(log.String(), "should all have the same"); told != tt.told {
				t.Errorf("after %s it was told %d times, want %d\n%s", tt.after, told, tt.told, &log)
			}
		}
	})
}

func TestBytesThatAreNoWorkHarmNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := start(t, newBus(), effect(), says("done"))
		g.settle([]byte("\x00{"), 1).wantLater(t, time.Second)
		g.settle(g.work(), 1).wantAck(t)
	})
}

func TestLargeArgumentsAreFetchedBeforeTheClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		large := `{"x":"` + strings.Repeat("a", 100<<10) + `"}`
		b := newBus()
		b.onDownload = func() ([]byte, error) {
			if len(b.sentClaims()) > 0 {
				t.Error("the licence was asked for first, and may run out")
			}
			return []byte(large), nil
		}
		g := start(t, b, effect(), func(_ context.Context, c toolrunner.Call) (toolrunner.Output, error) {
			if string(c.Arguments) != large {
				t.Errorf("%d bytes of arguments", len(c.Arguments))
			}
			return toolrunner.Output{}, nil
		})
		inBlob := func(w *protocol.ToolWork) { w.Arguments, w.Blob = nil, events.DigestOf([]byte(large)) }
		g.settle(g.work(inBlob), 1).wantAck(t)

		b.onDownload = func() ([]byte, error) { return nil, protocol.ErrNotFound }
		g.settle(g.work(inBlob), 1).wantLater(t, 5*time.Second)
	})
}

// Rule: S4.2.
func TestNoArgumentsAreAnEmptyObject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := start(t, newBus(), effect(), func(_ context.Context, c toolrunner.Call) (toolrunner.Output, error) {
			return toolrunner.Output{Text: string(c.Arguments)}, nil
		})
		g.settle(g.work(func(w *protocol.ToolWork) { w.Arguments = nil }), 1)
		if r := g.wantResult(events.ToolOK); r.Parts[0].Text != "{}" {
			t.Errorf("arguments: %q", r.Parts[0].Text)
		}
	})
}

func TestStopOfTheRunner(t *testing.T) {
	t.Parallel()
	sleeps := func(d time.Duration) func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
		return func(ctx context.Context, _ toolrunner.Call) (toolrunner.Output, error) {
			return toolrunner.Output{}, wait(ctx, d)
		}
	}
	for _, tt := range []struct {
		name     string
		grace    time.Duration
		manifest protocol.Manifest
		runs     time.Duration
		acked    bool
		want     events.ToolStatus
		within   time.Duration
	}{
		{"a call that ends within the grace is finished", 0, effect(), 9 * time.Second, true, events.ToolOK, 9 * time.Second},
		{"an effect that does not is reported unknown", 0, effect(), time.Hour, true, events.ToolUnknown, 10 * time.Second},
		{"reading is reported cancelled", 0, readOnly(), time.Hour, true, events.ToolCancelled, 10 * time.Second},
		{"what may run again goes to another process", 0, idempotent(), time.Hour, false, "", 10 * time.Second},
		{"without grace tools are cancelled at once", -1, readOnly(), time.Hour, true, events.ToolCancelled, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := tt.manifest
				m.TimeoutMS = (2 * time.Hour).Milliseconds()
				b := newBus()
				g := startWith(t, toolrunner.Config{Grace: tt.grace}, b, m, sleeps(tt.runs))
				d := g.deliver(g.work(), 1)
				synctest.Wait()
				began := time.Now()
				g.stop()
				<-g.done
				if took := time.Since(began); took != tt.within {
					t.Errorf("run ended after %v, want %v", took, tt.within)
				}
				if !tt.acked {
					d.wantLater(t, 0)
					if n := len(b.sentResults()); n != 0 {
						t.Errorf("%d results", n)
					}
					return
				}
				d.wantAck(t)
				g.wantResult(tt.want)
			})
		})
	}
}

func TestStopGivesBackWhatHasNoLicence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		g := start(t, b, effect(), says("must not run"))
		b.onDownload = func() ([]byte, error) {
			g.stop()
			return nil, errors.New("not now")
		}
		g.settle(g.work(func(w *protocol.ToolWork) { w.Blob = events.DigestOf(nil) }), 1).wantLater(t, 0)
		<-g.done
		if n := len(b.sentClaims()); n != 0 {
			t.Errorf("%d claims", n)
		}
	})
}

func TestStopEndsAlsoWhenNobodyAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		b.onResult = func(int) (protocol.ResultAnswer, error) { return protocol.ResultAnswer{}, errNoAnswer }
		g := start(t, b, effect(), says("done"))
		d := g.deliver(g.work(), 1)
		synctest.Wait()
		began := time.Now()
		g.stop()
		<-g.done
		d.wantLater(t, 0)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestManifestTakesTheGroupOfTheRunner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := effect()
		m.Group = ""
		g := startWith(t, toolrunner.Config{Group: "mine"}, newBus(), m, says("done"))
		g.settle(g.work(func(w *protocol.ToolWork) {
			m.Group = "mine"
			_, w.Manifest = m.Encode()
		}), 1).wantAck(t)
	})
}
