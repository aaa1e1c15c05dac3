package toolrunner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// source has what the test says it has.
type source struct {
	change chan []toolrunner.Tool
	ended  chan struct{}
}

func newSource() source {
	return source{change: make(chan []toolrunner.Tool), ended: make(chan struct{})}
}

func (s source) Serve(ctx context.Context, offer func([]toolrunner.Tool)) {
	defer close(s.ended)
	for {
		select {
		case tools := <-s.change:
			offer(tools)
		case <-ctx.Done():
			return
		}
	}
}

// named is a tool with effects of that name.
func named(name string, run func(context.Context, toolrunner.Call) (toolrunner.Output, error)) toolrunner.Tool {
	m := effect()
	m.Name = name
	return toolrunner.Func(m, run)
}

// lastOffer is the names in the newest offer.
func (b *bus) lastOffer() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.offered) == 0 {
		return nil
	}
	return namesOf(b.offered[len(b.offered)-1])
}

func namesOf(o protocol.Offer) (names []string) {
	for _, m := range o.Manifests {
		names = append(names, m.Name)
	}
	return names
}

func TestWhatASourceRenewsIsOfferedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s := newBus(), newSource()
		startWith(t, toolrunner.Config{Sources: []toolrunner.Source{s}}, b, effect(), hangs)
		for _, tt := range []struct {
			has  []toolrunner.Tool
			want []string
		}{
			{nil, []string{"act"}},
			{[]toolrunner.Tool{named("a", hangs), named("b", hangs)}, []string{"act", "a", "b"}},
			{[]toolrunner.Tool{named("b", hangs)}, []string{"act", "b"}},
		} {
			s.change <- tt.has
			synctest.Wait()
			if got := b.lastOffer(); !slices.Equal(got, tt.want) {
				t.Errorf("on offer: %v, want %v", got, tt.want)
			}
		}
	})
}

// A source that says the same again and again makes no work for orchestrators, and what
// they refuse is told once.
func TestWhatIsTheSameIsNeitherOfferedNorToldAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s := newBus(), newSource()
		b.onOffer = func(int) (protocol.OfferAnswer, error) {
			return protocol.OfferAnswer{Refused: []string{"", "there are too many"}}, nil
		}
		var log bytes.Buffer
		cfg := toolrunner.Config{Sources: []toolrunner.Source{s}, Log: slog.New(slog.NewTextHandler(&log, nil))}
		startWith(t, cfg, b, effect(), hangs)
		offers := func() int { b.mu.Lock(); defer b.mu.Unlock(); return len(b.offered) }
		s.change <- []toolrunner.Tool{named("a", hangs)}
		synctest.Wait()
		before := offers()
		for range 5 {
			s.change <- []toolrunner.Tool{named("a", hangs)}
			synctest.Wait()
		}
		if n := offers() - before; n != 0 {
			t.Errorf("%d more offers of the same", n)
		}
		s.change <- []toolrunner.Tool{named("a", hangs), named("b", hangs)}
		synctest.Wait()
		if n := offers() - before; n != 1 {
			t.Errorf("%d more offers of something else", n)
		}
		if n := strings.Count(log.String(), "a tool was refused"); n != 1 {
			t.Errorf("it is told %d times what is refused", n)
		}
	})
}

func TestARunnerMayHaveNothingUntilItsSourceHas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s := newBus(), newSource()
		r, err := toolrunner.New(toolrunner.Config{Sources: []toolrunner.Source{s}}, b, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		if got := b.lastOffer(); got != nil {
			t.Errorf("on offer: %v, want nothing yet", got)
		}
		s.change <- []toolrunner.Tool{named("late", hangs)}
		synctest.Wait()
		if got := b.lastOffer(); !slices.Equal(got, []string{"late"}) {
			t.Errorf("on offer: %v", got)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		select {
		case <-s.ended:
		default:
			t.Error("the runner did not wait for its source")
		}
	})
}

// A turn goes on with the manifest that it began with.
func TestAToolThatWasTakenBackIsServedAndNotOffered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s := newBus(), newSource()
		g := startWith(t, toolrunner.Config{Sources: []toolrunner.Source{s}}, b, effect(), hangs)
		old := named("old", says("still here"))
		s.change <- []toolrunner.Tool{old}
		s.change <- nil
		synctest.Wait()
		_, digest := old.Manifest().Encode()
		g.settle(g.work(func(w *protocol.ToolWork) { w.Tool, w.Manifest = "old", digest }), 1).wantAck(t)
		if r := g.wantResult(events.ToolOK); r.Parts[0].Text != "still here" {
			t.Errorf("result: %v", r.Parts)
		}
	})
}

func TestASourceCannotHaveWhatAnotherHasNorWhatIsNoTool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s := newBus(), newSource()
		var log bytes.Buffer
		cfg := toolrunner.Config{Sources: []toolrunner.Source{s}, Log: slog.New(slog.NewTextHandler(&log, nil))}
		startWith(t, cfg, b, effect(), hangs)
		s.change <- []toolrunner.Tool{named("act", hangs), named("twice", hangs), named("twice", hangs), named("not a name", hangs), named("fine", hangs)}
		synctest.Wait()
		if got := b.lastOffer(); !slices.Equal(got, []string{"act", "twice", "fine"}) {
			t.Errorf("on offer: %v", got)
		}
		for _, want := range []string{"another one of its name", "cannot be offered"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%q is not said:\n%s", want, &log)
			}
		}
	})
}

func TestALargeOfferGoesInSeveralMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		var tools []toolrunner.Tool
		for i := range 100 {
			m := effect()
			m.Name, m.Description = fmt.Sprintf("tool_%d", i), strings.Repeat("a", 16<<10)
			tools = append(tools, toolrunner.Func(m, hangs))
		}
		offered := 0
		r, err := toolrunner.New(toolrunner.Config{Offered: func() { offered++ }}, b, tools)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		seen := 0
		for _, o := range b.offered {
			size := 0
			for _, m := range o.Manifests {
				body, _ := m.Encode()
				size += len(body)
			}
			if seen += len(o.Manifests); size > 512<<10 {
				t.Errorf("%d manifests of %d bytes in one message", len(o.Manifests), size)
			}
		}
		if seen != 100 || len(b.offered) < 3 || offered != 1 {
			t.Errorf("%d manifests in %d messages, all offered %d times", seen, len(b.offered), offered)
		}
	})
}

func TestAToolThatCannotTellSaysSo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		m    protocol.Manifest
		want events.ToolStatus
	}{
		{"it has effects", effect(), events.ToolUnknown},
		{"it may run again, but another call has another key", idempotent(), events.ToolUnknown},
		{"it changes nothing", readOnly(), events.ToolError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := start(t, newBus(), tt.m, func(ctx context.Context, _ toolrunner.Call) (toolrunner.Output, error) {
					if wait(ctx, time.Millisecond) != nil {
						return toolrunner.Output{}, errors.New("it was told to end")
					}
					return toolrunner.Output{}, fmt.Errorf("the server is gone: %w", toolrunner.ErrOutcomeUnknown)
				})
				g.settle(g.work(), 1).wantAck(t)
				if r := g.wantResult(tt.want); !strings.Contains(r.Parts[0].Text, "the server is gone") {
					t.Errorf("result: %v", r.Parts)
				}
			})
		})
	}
}
