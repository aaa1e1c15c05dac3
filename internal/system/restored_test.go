package system

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// silent is a model that begins, and says nothing more until it is let go.
func silent(asked chan<- struct{}) model.Model {
	return asModel(func(ctx context.Context, _ model.Request) iter.Seq2[model.Delta, error] {
		return func(yield func(model.Delta, error) bool) {
			asked <- struct{}{}
			<-ctx.Done()
			yield(model.Delta{}, ctx.Err())
		}
	})
}

// What is open in a backup may go on where it was made. Closed, it is not done here
// as well, not even by tools that may run again, and the chats go on.
func TestWhatIsOpenInABackupIsClosed(t *testing.T) {
	t.Parallel()
	s := newSystem(t, options{})
	s.startProjections()
	orchestrators, runner := s.startOrchestrator(nil), s.startRunner(nil)

	asked := make(chan struct{}, 2)
	streaming := s.chat(t, silent(asked))
	streaming.do(send("one"))
	<-asked
	streaming.do(send("behind it"))
	running := s.chat(t, scripted(t, toolThenText("      - call: {name: hold, arguments: '{}'}")))
	running.do(send("go"))
	eventually(t, "the tool runs", func() bool { return len(s.tools.of(running.key)) == 1 })
	idle := s.chat(t, scripted(t, plain))
	undecided := s.chat(t, scripted(t, plain))
	before := len(idle.turn("hello").commits)

	closed := map[events.Key]bool{}
	tell := func(k events.Key) { closed[k] = true }
	if err := parts.Domain("").CloseRestored(patient(t), s.nc, tell); !errors.Is(err, parts.ErrOrchestrated) || len(closed) > 0 {
		t.Fatalf("with an orchestrator: %v, and %d chats are closed", err, len(closed))
	}
	orchestrators.halt()
	runner.halt()
	s.asRestored()
	said := s.inHand(undecided)
	for range 2 {
		s.untilItWorks("close what is open", func() error { return parts.Domain("").CloseRestored(patient(t), s.nc, tell) })
	}
	if len(closed) != 2 || !closed[streaming.key] || !closed[running.key] {
		t.Errorf("closed %v", closed)
	}

	s.startOrchestrator(nil)
	s.startRunner(nil)
	for _, c := range []*chat{streaming, running} {
		c.T = t
		if e := only[events.TurnInterrupted](c); e.Turn != 1 || e.Reason != events.ReasonRestored {
			t.Errorf("%s ended with %+v", c.key, e)
		}
		s.models.add(c.key.Chat, scripted(t, plain))
		c.stillWorks()
		c.judge()
	}
	if e := only[events.ToolCompleted](running); e.Status != events.ToolUnknown {
		t.Errorf("the call is %s", e.Status)
	}
	if n := len(all[events.InputWithdrawn](streaming.read())); n != 1 {
		t.Errorf("%d inputs were taken back, want that which waited", n)
	}
	if n := len(s.tools.of(running.key)); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	if n := len(idle.read().commits); n != before {
		t.Errorf("the idle chat has %d commits, and had %d", n, before)
	}
	if r := said(); !r.OK {
		t.Errorf("what nobody had decided: %+v", r)
	}
	undecided.ended(1)
	s.nothingIsLeft()
}

// inHand says something in a chat that counts as in the hands of somebody who is no
// more, as it does in a backup made under load.
func (s *system) inHand(c *chat) (outcome func() protocol.Reply) {
	s.Helper()
	body, err := json.Marshal(send("hello"))
	if err != nil {
		s.Fatal(err)
	}
	_, outcome = c.raw(string(protocol.VerbSend), nil, body)
	js, err := jetstream.New(s.nc)
	if err != nil {
		s.Fatal(err)
	}
	commands, err := js.Consumer(patient(s.T), streams.CommandsStream, streams.CommandsConsumer)
	if err != nil {
		s.Fatal(err)
	}
	if _, err := commands.Next(); err != nil {
		s.Fatal(err)
	}
	if info, err := commands.Info(patient(s.T)); err != nil || info.NumAckPending != 1 || info.NumWaiting != 0 {
		s.Fatalf("%v: %+v", err, info)
	}
	return outcome
}

// asRestored leaves of the streams what a backup has.
func (s *system) asRestored() {
	s.Helper()
	js, err := jetstream.New(s.nc)
	if err != nil {
		s.Fatal(err)
	}
	for _, name := range []string{streams.WorkStream, streams.TimersStream} {
		stream, err := js.Stream(patient(s.T), name)
		if err == nil {
			err = stream.Purge(patient(s.T))
		}
		if err != nil {
			s.Fatal(err)
		}
	}
}

// only is the one event of its type.
func only[E events.Event](c *chat) E {
	c.Helper()
	list := all[E](c.read())
	if len(list) != 1 {
		c.Fatalf("%d events, want one: %+v", len(list), list)
	}
	return list[0]
}
