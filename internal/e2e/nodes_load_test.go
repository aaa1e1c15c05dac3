//go:build processes

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

const (
	talkers      = 12 // who speak at the same time, each in a chat of its own
	turnsPerChat = 6  // then a talker begins another

	// turnPatience is more than what repairs a command that the queue has skipped
	// may take: it looks once a minute for one that is a minute old.
	turnPatience = 5 * time.Minute
)

// crowd is load: people who say something, wait for the answer, and go on.
type crowd struct {
	t     *testing.T
	cl    *client.Client
	r     reader
	ends  *turnEnds
	over  chan struct{}
	ended chan error
	turns atomic.Int64 // that have ended

	mu   sync.Mutex
	said map[events.Key][]string
}

// startTalk has everybody begin. It goes on until stop.
func (c *cluster) startTalk() *crowd {
	c.t.Helper()
	l := &crowd{
		t: c.t, cl: c.client(), r: c.reader(), ends: c.turnEnds(),
		over: make(chan struct{}), ended: make(chan error, 1), said: map[events.Key][]string{},
	}
	go func() { l.ended <- together(talkers, l.speak) }()
	return l
}

// speak is one talker.
func (l *crowd) speak(talker int) error {
	for chat := 0; ; chat++ {
		k := l.cl.Key(client.NewID())
		if err := l.within(func(ctx context.Context) error {
			_, err := l.cl.Command(ctx, k.Chat, protocol.Create{V: protocol.Version})
			return err
		}); err != nil {
			return fmt.Errorf("create chat %s: %w", k, err)
		}
		for turn := range turnsPerChat {
			select {
			case <-l.over:
				return nil
			default:
			}
			text := fmt.Sprintf("talker %d chat %d turn %d", talker, chat, turn+1)
			l.note(k, text)
			if err := l.within(func(ctx context.Context) error { return l.say(ctx, k, text, turn+1) }); err != nil {
				return fmt.Errorf("chat %s turn %d: %w", k, turn+1, err)
			}
			l.turns.Add(1)
		}
	}
}

func (l *crowd) within(do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(l.t.Context(), turnPatience)
	defer cancel()
	return do(ctx)
}

// say says something and waits until the turn has ended.
func (l *crowd) say(ctx context.Context, k events.Key, text string, turn int) error {
	ended := l.ends.of(k)
	if _, err := l.cl.Command(ctx, k.Chat, protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(text)}}); err != nil {
		return err
	}
	return l.r.afterEnd(ctx, ended, k, turn)
}

func (l *crowd) note(k events.Key, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said[k] = append(l.said[k], text)
}

// goesOn waits until so many more turns have ended.
func (l *crowd) goesOn(turns int) {
	l.t.Helper()
	want := l.turns.Load() + int64(turns)
	ctx, cancel := context.WithTimeout(l.t.Context(), turnPatience)
	defer cancel()
	for l.turns.Load() < want {
		select {
		case err := <-l.ended:
			l.t.Fatalf("the talk has ended: %v", err)
		case <-ctx.Done():
			l.t.Fatalf("waited in vain for %d more turns", want-l.turns.Load())
		case <-time.After(poll):
		}
	}
}

// stop waits until everybody has had the last answer, and gives the chats'
// histories. Each holds what was said in it, once, in that order, and a turn that
// was completed for each.
func (l *crowd) stop() map[events.Key]history {
	l.t.Helper()
	close(l.over)
	if err := <-l.ended; err != nil {
		l.t.Fatal(err)
	}
	histories := map[events.Key]history{}
	for k, said := range l.said {
		h, err := l.r.read(patient(l.t), k)
		if err != nil {
			l.t.Fatal(err)
		}
		var accepted []string
		for _, e := range every[events.InputAccepted](h) {
			accepted = append(accepted, e.Parts[0].Text)
		}
		if !slices.Equal(accepted, said) || len(every[events.TurnCompleted](h)) != len(said) {
			l.t.Errorf("chat %s: said were %q, accepted %q, %d turns completed\n%s",
				k, said, accepted, len(every[events.TurnCompleted](h)), h)
		}
		if last := said[len(said)-1]; !strings.HasSuffix(h.finalText(), last) {
			l.t.Errorf("chat %s: the last answer is %q to %q", k, h.finalText(), last)
		}
		histories[k] = h
	}
	return histories
}

// stoodStill is how long a chat stood still from a moment at which a turn was
// open, by the server's clock, and whether a call whose outcome nobody knows was
// what ended that.
func (h history) stoodStill(moment time.Time) (still time.Duration, open, unknown bool) {
	for i, at := range h.stored {
		if at.After(moment) {
			one := history{commits: h.commits[i : i+1]}
			return at.Sub(moment), open, one.unknown()
		}
		for _, e := range h.commits[i].Events {
			switch e.(type) {
			case events.TurnStarted:
				open = true
			case events.TurnCompleted, events.TurnFailed, events.TurnInterrupted:
				open = false
			}
		}
	}
	return 0, false, false
}
