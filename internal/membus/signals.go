package membus

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// subscription is one process's ear for stop messages.
type subscription struct {
	queue []stopMessage
}

type stopMessage struct {
	key  events.Key
	stop protocol.Stop
}

// signals implements [orchestrator.Signals].
type signals struct{ p *Process }

func (g signals) Stop(ctx context.Context, k events.Key, stop protocol.Stop) error {
	_, err := step(ctx, g.p, Op{Kind: "signals.stop", Subject: k.String(), Stage: StageWrite}, func(Fate) (struct{}, error) {
		for _, sub := range g.p.server.stops {
			sub.queue = append(sub.queue, stopMessage{k, stop})
		}
		g.p.server.change()
		return struct{}{}, nil
	})
	return err
}

func (g signals) Stops(ctx context.Context, on func(events.Key, protocol.Stop)) error {
	return hearStops(ctx, g.p, on)
}

func hearStops(ctx context.Context, p *Process, on func(events.Key, protocol.Stop)) error {
	s, sub := p.server, &subscription{}
	s.mu.Lock()
	s.stops = append(s.stops, sub)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stops = slices.DeleteFunc(s.stops, func(o *subscription) bool { return o == sub })
	}()
	op := Op{Kind: "signals.hear", Stage: StageReceive, ready: func() bool { return len(sub.queue) > 0 }}
	for {
		heard, err := step(ctx, p, op, func(f Fate) ([]stopMessage, error) {
			heard := sub.queue[:1:1]
			sub.queue = sub.queue[1:]
			if f.Drop {
				return nil, nil
			}
			return heard, nil
		})
		if err != nil {
			return err
		}
		for _, m := range heard {
			on(m.key, m.stop)
		}
	}
}

// answerer is a runner process that answers questions about its claims.
type answerer struct {
	questions []*runnerQuestion
}

type runnerQuestion struct {
	body    protocol.RunnerQuestion
	answers [][]byte
}

func (g signals) AskRunner(ctx context.Context, process string, q protocol.RunnerQuestion) (protocol.RunnerAnswer, error) {
	s := g.p.server
	ctx, cancel := context.WithTimeout(ctx, s.options.RequestTimeout)
	defer cancel()
	subject := protocol.RunnerSubject(process) + " " + q.Claim
	asked, err := step(ctx, g.p, Op{Kind: "signals.ask", Subject: subject, Stage: StageWrite}, func(Fate) (*runnerQuestion, error) {
		a, ok := s.answerers[process]
		if !ok {
			return nil, errNoResponders
		}
		asked := &runnerQuestion{body: q}
		a.questions = append(a.questions, asked)
		s.change()
		return asked, nil
	})
	if err != nil {
		return protocol.RunnerAnswer{}, fmt.Errorf("ask runner: %w", err)
	}
	reply, err := receive(ctx, g.p, "signals.ask", subject, &asked.answers)
	if err != nil {
		return protocol.RunnerAnswer{}, err
	}
	var answer protocol.RunnerAnswer
	if err := json.Unmarshal(reply, &answer); err != nil {
		return protocol.RunnerAnswer{}, fmt.Errorf("ask runner: answer: %w", err)
	}
	return answer, nil
}

// answerQuestions is the other end of AskRunner.
func answerQuestions(ctx context.Context, p *Process, process string, running func(protocol.RunnerQuestion) bool) error {
	s, a := p.server, &answerer{}
	if _, err := step(ctx, p, Op{Kind: "runner.listen", Stage: StageBegin}, func(Fate) (struct{}, error) {
		s.answerers[process] = a
		return struct{}{}, nil
	}); err != nil {
		return err
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.answerers, process)
	}()
	op := Op{Kind: "runner.asked", Stage: StageReceive, ready: func() bool { return len(a.questions) > 0 }}
	for {
		asked, err := step(ctx, p, op, func(f Fate) (*runnerQuestion, error) {
			q := a.questions[0]
			a.questions = a.questions[1:]
			if f.Drop {
				return nil, nil
			}
			return q, nil
		})
		if err != nil {
			return err
		}
		if asked == nil {
			continue
		}
		body, err := json.Marshal(protocol.RunnerAnswer{Running: running(asked.body)})
		if err != nil {
			return fmt.Errorf("runner answers: %w", err)
		}
		if _, err := step(ctx, p, Op{Kind: "runner.answers", Stage: StageBegin}, func(Fate) (struct{}, error) {
			asked.answers = append(asked.answers, body)
			s.change()
			return struct{}{}, nil
		}); err != nil {
			return err
		}
	}
}
