//go:build processes

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// quickTurn is a turn of two steps with one effect, as fast as it goes.
const quickTurn = `
rules:
  - when: {step: 1}
    answer:
      - call: {name: append_ledger, arguments: '{"text": "{{input}}"}'}
  - answer:
      - text: "Noted: {{input}}"
`

const (
	loadChats = 200
	loadTurns = 5 // of each chat, one after the other
	loadTime  = 4 * time.Minute
)

// Two of each part carry many chats at once, and every turn completes.
func TestManyChatsAtOnce(t *testing.T) {
	c := startCluster(t, settings{ackWait: 15 * time.Second, script: quickTurn})
	startParts(c)
	r := c.reader()
	ctx, cancel := context.WithTimeout(t.Context(), loadTime)
	defer cancel()

	began := time.Now()
	keys := make([]events.Key, loadChats)
	cl, ends := c.client(), c.turnEnds()
	atOnce(t, loadChats, func(n int) error {
		chat := client.NewID()
		keys[n] = cl.Key(chat)
		if _, err := cl.Command(ctx, chat, protocol.Create{V: protocol.Version}); err != nil {
			return err
		}
		for turn := range loadTurns {
			text := fmt.Sprintf("chat %d turn %d", n, turn+1)
			ended := ends.of(keys[n])
			if _, err := cl.Command(ctx, chat, protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(text)}}); err != nil {
				return err
			}
			if err := r.afterEnd(ctx, ended, keys[n], turn+1); err != nil {
				return fmt.Errorf("chat %d: %w", n, err)
			}
		}
		return nil
	})
	took := time.Since(began)
	for n, k := range keys {
		h, err := r.read(ctx, k)
		if err != nil {
			t.Fatal(err)
		}
		if completed := len(every[events.TurnCompleted](h)); completed != loadTurns {
			t.Errorf("chat %d: %d turns completed, want %d\n%s", n, completed, loadTurns, h)
		}
		if want := fmt.Sprintf("Noted: chat %d turn %d", n, loadTurns); h.finalText() != want {
			t.Errorf("chat %d: final text %q, want %q", n, h.finalText(), want)
		}
	}
	turns := loadChats * loadTurns
	t.Logf("%d turns of %d chats in %v: %.1f turns/s; %s",
		turns, loadChats, took.Round(time.Millisecond), float64(turns)/took.Seconds(), figures(c.everyMetric("orchestrator")))
	c.check(r, keys)
	c.eachEffectOnce(keys)
}

// turnEnds tells when turns end, as the feed says.
type turnEnds struct {
	mu      sync.Mutex
	waiting map[string]chan struct{} // by subject of the chat's commits
}

// lookAnyway is how long a test believes that a feed that says nothing is right.
const lookAnyway = 5 * time.Second

func (c *cluster) turnEnds() *turnEnds {
	c.t.Helper()
	ends := &turnEnds{waiting: map[string]chan struct{}{}}
	every := protocol.FeedCommitSubject(events.Key{Tenant: client.DefaultTenant, Chat: protocol.Any})
	_, err := c.connect().Subscribe(every, func(m *nats.Msg) {
		if !strings.Contains(m.Header.Get(protocol.HeaderTypes), "turn.completed") {
			return
		}
		ends.mu.Lock()
		defer ends.mu.Unlock()
		if waiting, ok := ends.waiting[m.Subject]; ok {
			close(waiting)
			delete(ends.waiting, m.Subject)
		}
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return ends
}

// of is closed at the next end of a turn of the chat.
func (e *turnEnds) of(k events.Key) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	next := make(chan struct{})
	e.waiting[protocol.FeedCommitSubject(k)] = next
	return next
}

// afterEnd waits until the chat has ended as many turns. It looks when ended is
// closed, and now and then anyway.
func (r reader) afterEnd(ctx context.Context, ended <-chan struct{}, k events.Key, turns int) error {
	for {
		select {
		case <-ended:
		case <-time.After(lookAnyway):
		case <-ctx.Done():
			return ctx.Err()
		}
		if h, err := r.look(ctx, k); err == nil && h.ended(turns) {
			return nil
		}
	}
}

// figures are what an operator looks at first.
func figures(n numbers) string {
	return fmt.Sprintf("commits %d, conflicts %d, rejected %d, late %d, lost attempts %d, given back %d, sweeps %d, dispatched again %d",
		n.of(commitsMade), n.of(commitsInConflict), n.of(commandsRejected), n.of(cameTooLate), n.of(attemptsLost),
		n.of(givenBack), n.of(chatsSwept), n.of(workRedispatched))
}

// atOnce is together, and the end of the test if that fails.
func atOnce(t *testing.T, n int, do func(n int) error) {
	t.Helper()
	if err := together(n, do); err != nil {
		t.Fatal(err)
	}
}

// together calls do with 0 to n-1, all at the same time, and waits for them.
func together(n int, do func(n int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// mixedTurn is quick for most, and for some so slow that they are swept while
// they wait for their tool.
const mixedTurn = `
rules:
  - when: {input: slow, step: 1}
    answer:
      - call: {name: wait, arguments: '{"ms": 20000}'}
  - when: {step: 1}
    answer:
      - pause: 200ms
      - call: {name: append_ledger, arguments: '{"text": "{{input}}"}'}
  - answer:
      - pause: 200ms
      - text: "Noted: {{input}}"
`

const (
	calmChats = 16
	calmTime  = 35 * time.Second // long enough for a chat that waits to be swept
)

// Nothing of what repairs an installation does anything while nothing is broken,
// however hard it looks: every sweep finds all that is owed where it belongs.
func TestUndisturbedRunRedispatchesNothing(t *testing.T) {
	c := startCluster(t, settings{ackWait: 15 * time.Second, script: mixedTurn})
	startParts(c)
	cl, r, ends := c.client(), c.reader(), c.turnEnds()

	began := time.Now()
	keys := make([]events.Key, calmChats)
	spoken := make([]int, calmChats)
	atOnce(t, calmChats, func(n int) error {
		ctx, cancel := context.WithTimeout(t.Context(), calmTime+patience)
		defer cancel()
		chat := client.NewID()
		keys[n] = cl.Key(chat)
		if _, err := cl.Command(ctx, chat, protocol.Create{V: protocol.Version}); err != nil {
			return err
		}
		for time.Since(began) < calmTime {
			text := fmt.Sprintf("chat %d turn %d", n, spoken[n]+1)
			if n == 0 {
				text = "slow " + text
			}
			ended := ends.of(keys[n])
			if _, err := cl.Command(ctx, chat, protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(text)}}); err != nil {
				return err
			}
			spoken[n]++
			if err := r.afterEnd(ctx, ended, keys[n], spoken[n]); err != nil {
				return fmt.Errorf("chat %d: %w", n, err)
			}
		}
		return nil
	})
	turns := 0
	for _, n := range spoken {
		turns += n
	}
	sum := c.everyMetric("orchestrator")
	t.Logf("%d turns in %v; %s", turns, time.Since(began).Round(time.Millisecond), figures(sum))
	if sum.of(chatsSwept) == 0 {
		t.Error("no chat was swept, so nothing is shown")
	}
	for what, n := range map[string]int{
		"pieces of work dispatched again": sum.of(workRedispatched),
		"commands swept":                  sum.of(commandsSwept),
		"answers or results too late":     sum.of(cameTooLate),
		"attempts lost":                   sum.of(attemptsLost),
		"calls unknown":                   sum.of(callsUnknown),
		"faults":                          sum.of(faults),
		"calls delivered again":           c.everyMetric("toolrunner").of(redelivered),
	} {
		if n != 0 {
			t.Errorf("%d %s, want none", n, what)
		}
	}
	c.check(r, keys)
	c.eachEffectOnce(keys)
}

// holdingTurn is a turn that lasts until it is interrupted, and quick ones.
const holdingTurn = `
rules:
  - when: {input: hold}
    answer:
      - pause: 1h
  - answer:
      - text: "Heard: {{input}}"
`

// A chat whose turn lasts keeps as many inputs as it may, and refuses the next
// by name. Those it kept are all answered.
//
// Rule: S5.1.
func TestTheSixtyFifthWaitingSendIsRejected(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: 15 * time.Second, script: holdingTurn})
	startParts(c)
	cl, r := c.client(), c.reader()
	k := ask(t, cl, "hold")
	r.until(t, k, "a model call", func(h history) bool { return h.last("step.requested.v1") })
	for n := range events.MaxWaitingInputs {
		say(t, cl, k.Chat, fmt.Sprint("waiting ", n+1))
	}
	one := protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text("one too many")}}
	_, err := cl.Command(patient(t), k.Chat, one)
	if rejected, ok := errors.AsType[*client.RejectedError](err); !ok || rejected.Code != events.CodeQueueFull {
		t.Errorf("send %d waiting: %v, want %s", events.MaxWaitingInputs+1, err, events.CodeQueueFull)
	}
	if _, err := cl.Command(patient(t), k.Chat, protocol.Interrupt{V: protocol.Version}); err != nil {
		t.Fatal(err)
	}
	h := r.until(t, k, "the answer to the last", func(h history) bool {
		return h.last("turn.completed.v1") && h.finalText() == fmt.Sprint("Heard: waiting ", events.MaxWaitingInputs)
	})
	if n := len(every[events.InputAccepted](h)); n != events.MaxWaitingInputs+1 {
		t.Errorf("%d inputs were accepted, want %d", n, events.MaxWaitingInputs+1)
	}
	say(t, cl, k.Chat, "room again")
	r.until(t, k, "the answer to another", func(h history) bool { return h.finalText() == "Heard: room again" })
	r.until(t, k, "the end of its turn", func(h history) bool { return h.last("turn.completed.v1") })
	c.check(r, []events.Key{k})
}
