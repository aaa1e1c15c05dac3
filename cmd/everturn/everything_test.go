package main

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/embedded/embeddedtest"
)

// What came in before the end is still answered: a way in ends before what it asks.
func TestWaysInEndBeforeWhatTheyAsk(t *testing.T) {
	t.Parallel()
	const subject = "test.ask"
	server := embeddedtest.Start(t, embedded.Options{})
	inFront, shut := context.WithCancel(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	e := &everything{shut: shut, cancel: cancel, ended: make(chan struct{})}
	answering := make(chan struct{})
	e.run(ctx, server, "part", func(nc *nats.Conn) error {
		if _, err := nc.Subscribe(subject, func(m *nats.Msg) {
			if err := m.Respond([]byte("yes")); err != nil {
				t.Error(err)
			}
		}); err != nil {
			return err
		}
		if err := nc.Flush(); err != nil {
			return err
		}
		close(answering)
		<-ctx.Done()
		return nil
	})
	<-answering
	answers := make(chan string, 1)
	e.runAmong(inFront, &e.doors, server, "way in", func(nc *nats.Conn) error {
		<-inFront.Done() // what is in hand is finished then
		m, err := nc.RequestWithContext(t.Context(), subject, nil)
		if err != nil {
			return err
		}
		answers <- string(m.Data)
		return nil
	})
	if err := e.stop(); err != nil {
		t.Fatal(err)
	}
	if answer := <-answers; answer != "yes" {
		t.Errorf("the answer was %q", answer)
	}
}
