package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// askRunner bounds the wait for a runner that may be gone: whoever asks holds up
// a claim meanwhile.
const askRunner = 500 * time.Millisecond

// Signals are messages that may be lost. It implements the signals port of
// orchestrators.
type Signals struct{ c *connection }

// Stop tells everyone that something is not wanted any more.
func (s *Signals) Stop(_ context.Context, k events.Key, stop protocol.Stop) error {
	return s.c.tell(protocol.StopSubject(k), stop)
}

// Stops calls on for each of them until ctx ends.
func (s *Signals) Stops(ctx context.Context, on func(events.Key, protocol.Stop)) error {
	return s.c.stops(ctx, on)
}

// AskRunner asks a runner process whether it still runs a claim. An error means
// nobody answered in time.
func (s *Signals) AskRunner(ctx context.Context, process string, q protocol.RunnerQuestion) (protocol.RunnerAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, askRunner)
	defer cancel()
	for {
		var answer protocol.RunnerAnswer
		err := s.c.ask(ctx, protocol.RunnerSubject(process), q, &answer)
		if !errors.Is(err, errReconnected) { // else it was us who could not hear it
			return answer, err
		}
	}
}

// stops is [Signals.Stops], also for tool runners.
func (c *connection) stops(ctx context.Context, on func(events.Key, protocol.Stop)) error {
	return c.listen(ctx, protocol.StopSubject(anyChat()), func(m *nats.Msg) {
		var stop protocol.Stop
		k, err := protocol.ParseChatSubject(m.Subject)
		if err != nil || json.Unmarshal(m.Data, &stop) != nil {
			return // not ours, and nothing rests on it
		}
		on(k, stop)
	})
}

// tell publishes without waiting for anybody.
func (c *connection) tell(subject string, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("publish to %s: %w", subject, err)
	}
	if err := c.nc.Publish(subject, b); err != nil {
		return fmt.Errorf("publish to %s: %w", subject, err)
	}
	return nil
}

// ask sends a request that another part of Everturn answers.
func (c *connection) ask(ctx context.Context, subject string, question, answer any) error {
	b, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("ask %s: %w", subject, err)
	}
	m, err := c.request(ctx, &nats.Msg{Subject: subject, Data: b})
	if err != nil {
		return fmt.Errorf("ask %s: %w", subject, err)
	}
	if err := json.Unmarshal(m.Data, answer); err != nil {
		return fmt.Errorf("ask %s: answer: %w", subject, err)
	}
	return nil
}
