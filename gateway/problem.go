package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/protocol"
)

// retrySoon is when to ask again where nobody answered.
const retrySoon = time.Second

// ProblemOf is the problem that an error of [Chats] comes to. One with the code
// [problem.CodeInternal] is for the log: the answer does not tell it.
func ProblemOf(err error) problem.Problem {
	var p problem.Problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, ErrUnavailable):
		p = problem.New(events.CodeUnavailable, "nobody answers now; try again. If it stays so, is a projection running, and an orchestrator?")
		p.Retry = retrySoon
		return p
	case errors.Is(err, context.DeadlineExceeded):
		p = problem.New(events.CodeUnavailable, "no answer came in time; a command may be stored all the same: send it again with the same Idempotency-Key")
		p.Retry = retrySoon
		return p
	case errors.Is(err, protocol.ErrStorageFull):
		p = problem.New(problem.CodeStorageFull, "nothing was stored; try again later")
		p.Retry = retrySoon
		return p
	}
	return problem.Of(err)
}

// notReady is the problem that requests cannot be answered now.
func notReady(err error) problem.Problem {
	p := problem.New(events.CodeUnavailable, err.Error())
	p.Retry = retrySoon
	return p
}
