package membus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// errNoResponders is what a request fails with when nobody serves.
var errNoResponders = errors.New("nobody serves this request")

// request is a question on its way to one of those who serve.
type request struct {
	subject string
	about   string // which of several on one subject
	body    []byte
	handle  func(h protocol.Handlers) func(ctx context.Context, r protocol.Request)
	answers *[][]byte // on their way to the asker
}

// requests implements [orchestrator.Requests].
type requests struct{ p *Process }

// Serve takes requests one by one; which process gets one is the gate's choice.
func (r requests) Serve(ctx context.Context, h protocol.Handlers) error {
	s := r.p.server
	var handlers sync.WaitGroup
	defer handlers.Wait()
	if _, err := step(ctx, r.p, Op{Kind: "requests.serve", Stage: StageBegin}, func(Fate) (struct{}, error) {
		s.serving++
		s.change()
		return struct{}{}, nil
	}); err != nil {
		return err
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.serving--
	}()
	op := Op{Kind: "requests.take", Stage: StageReceive, ready: func() bool { return len(s.requests) > 0 }}
	for {
		taken, err := step(ctx, r.p, op, func(f Fate) (*request, error) {
			i := int(f.Draw % uint64(len(s.requests)))
			q := s.requests[i]
			if !f.Twice {
				s.requests = slices.Delete(s.requests, i, i+1)
			}
			if f.Drop {
				return nil, nil
			}
			return q, nil
		})
		if err != nil {
			return err
		}
		if taken == nil {
			continue
		}
		if handle := taken.handle(h); handle != nil {
			handlers.Go(func() { handle(ctx, &question{p: r.p, request: taken}) })
		}
	}
}

// question implements [protocol.Request].
type question struct {
	p       *Process
	request *request
}

func (q *question) Subject() string      { return q.request.subject }
func (q *question) Header(string) string { return "" }
func (q *question) Body() []byte         { return q.request.body }

func (q *question) Respond(body []byte) error {
	op := Op{Kind: "requests.respond", Subject: q.request.about, Stage: StageWrite}
	_, err := step(q.p.ctx, q.p, op, func(Fate) (struct{}, error) {
		if seen := q.p.server.options.Observer.Answered; seen != nil {
			seen(q.request.subject, q.request.body, body)
		}
		*q.request.answers = append(*q.request.answers, slices.Clone(body))
		q.p.server.change()
		return struct{}{}, nil
	})
	return err
}

// ask sends a request and waits for its answer. Which tells it from others that
// the process sends on the subject at the same time.
func ask[A any](
	ctx context.Context, p *Process, kind, subject, which string, body any,
	handle func(h protocol.Handlers) func(context.Context, protocol.Request),
) (A, error) {
	var answer A
	about := subject + " " + which
	s := p.server
	data, err := json.Marshal(body)
	if err != nil {
		return answer, fmt.Errorf("%s: %w", kind, err)
	}
	s.asked(p.Name, subject, data)
	ctx, cancel := context.WithTimeout(ctx, s.options.RequestTimeout)
	defer cancel()
	var answers [][]byte
	if _, err := step(ctx, p, Op{Kind: kind, Subject: about, Stage: StageWrite}, func(Fate) (struct{}, error) {
		if s.serving == 0 {
			return struct{}{}, errNoResponders
		}
		s.requests = append(s.requests, &request{subject: subject, about: about, body: data, handle: handle, answers: &answers})
		s.change()
		return struct{}{}, nil
	}); err != nil {
		return answer, fmt.Errorf("%s: %w", kind, err)
	}
	reply, err := receive(ctx, p, kind, about, &answers)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(reply, &answer); err != nil {
		return answer, fmt.Errorf("%s: answer: %w", kind, err)
	}
	return answer, nil
}

// receive waits for the first answer that is not lost on its way.
func receive(ctx context.Context, p *Process, kind, subject string, answers *[][]byte) ([]byte, error) {
	op := Op{Kind: kind + ".answer", Subject: subject, Stage: StageReceive, ready: func() bool { return len(*answers) > 0 }}
	for {
		reply, err := step(ctx, p, op, func(f Fate) ([]byte, error) {
			first := (*answers)[0]
			*answers = (*answers)[1:]
			if f.Drop {
				return nil, nil
			}
			return first, nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		if reply != nil {
			return reply, nil
		}
	}
}

// keyed is the handler of requests about a chat.
func keyed(k events.Key, pick func(h protocol.Handlers) func(context.Context, events.Key, protocol.Request)) func(h protocol.Handlers) func(context.Context, protocol.Request) {
	return func(h protocol.Handlers) func(context.Context, protocol.Request) {
		handle := pick(h)
		if handle == nil {
			return nil
		}
		return func(ctx context.Context, r protocol.Request) { handle(ctx, k, r) }
	}
}
