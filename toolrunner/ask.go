package toolrunner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Times of asking a person.
const (
	askWait = 3 * time.Second // for an answer of an orchestrator, which is mostly that the person's is awaited

	askAgain    = 500 * time.Millisecond // before asking for it again, doubled up to
	maxAskAgain = 2 * time.Second

	askFor = 30 * time.Second // until a first answer of an orchestrator, which may be starting
)

// Asking asks whoever follows the chat some questions, in the middle of a call, and
// waits until each of them is answered, the time for it is over, or ctx ends.
//
// There may be 1 to [events.MaxQuestions] questions, each with an id of its own, a
// header, a text and [events.MinOptions] to [events.MaxOptions] options, the
// recommended one first; a person may also answer in words of their own. If nobody
// answers in time the first option of each is taken, and the reply says so. The time
// is what ctx or the call's timeout leaves, less [events.AskReserve], and at most
// [events.MaxQuestionTimeout] unless a person holds it. A call may ask
// [events.MaxAsksPerCall] times, one after the other: whoever asks meanwhile waits. A
// question that a tool gives up stays open as long as the call does, or until its time is
// over; asked once more it goes on.
//
// An error means that there is no answer: [ErrCannotAsk] if there will be none
// however often it is asked, with what is wrong; else the cause of ctx.
//
// A call that runs again after its runner died asks the same questions in the same
// order, and is given the answers that it was given before: nobody is asked twice.
type Asking func(ctx context.Context, questions []events.Question) (Reply, error)

// Reply is what became of asking a person.
type Reply struct {
	// Answers has one to each question, in their order: the label of an option, or
	// words of the person's own.
	Answers []events.Answer

	// Expired says that nobody answered in time. The answers are the first options.
	Expired bool

	// By is who answered, as far as that is known.
	By string
}

// ErrCannotAsk means that no person can be asked: nobody could answer such questions,
// the call is not wanted any more, has asked too often or has too little time left, or
// the orchestrators are of a release that knows no such questions.
var ErrCannotAsk = errors.New("no person can be asked")

// asker asks people on behalf of one run of a call.
type asker struct {
	runner *Runner
	chat   events.Key
	call   events.CallID
	rev    uint64
	claim  string

	turn  chan struct{}  // held by whoever asks: a person is asked one thing after the other
	heard map[string]int // how often the very same questions were answered; of whoever has the turn
}

func (r *Runner) asker(w protocol.ToolWork, c protocol.Claim) *asker {
	return &asker{
		runner: r, chat: w.Key(), call: w.Call, rev: w.Rev, claim: c.Claim,
		turn: make(chan struct{}, 1), heard: make(map[string]int),
	}
}

// ask implements [Asking].
func (a *asker) ask(ctx context.Context, questions []events.Question) (Reply, error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return Reply{}, context.Cause(ctx)
	}
	same, err := json.Marshal(questions)
	if err != nil {
		return Reply{}, fmt.Errorf("%w: %w", ErrCannotAsk, err)
	}
	wish := protocol.Ask{
		V: protocol.Version, Call: a.call, Rev: a.rev, Claim: a.claim, N: a.heard[string(same)] + 1, Questions: questions,
	}
	if end, ok := ctx.Deadline(); ok {
		left := time.Until(end) - events.AskReserve
		if left < events.MinAskTimeout {
			return Reply{}, fmt.Errorf("%w: the call has %v left", ErrCannotAsk, time.Until(end).Round(time.Second))
		}
		wish.TimeoutMS = left.Milliseconds()
	}
	reply, err := a.await(ctx, wish)
	if err == nil {
		a.heard[string(same)]++
	}
	return reply, err
}

// await asks until it is told what became of it.
func (a *asker) await(ctx context.Context, wish protocol.Ask) (Reply, error) {
	began, heard, wait := time.Now(), false, askAgain
	for ctx.Err() == nil {
		answer, err := a.once(ctx, wish)
		switch {
		case err != nil:
		case answer.Answer == protocol.AskAnswered:
			return Reply{Answers: answer.Answers, Expired: answer.Expired, By: answer.By}, nil
		case answer.Answer == protocol.AskOver, answer.Answer == protocol.AskRefused:
			return Reply{}, fmt.Errorf("%w: %s", ErrCannotAsk, answer.Why)
		case answer.Answer == protocol.AskWaiting:
			heard = true
		}
		if !heard && time.Since(began) > askFor {
			return Reply{}, fmt.Errorf("%w: no orchestrator takes the question", ErrCannotAsk)
		}
		pause(ctx, wait)
		wait = min(2*wait, maxAskAgain)
	}
	return Reply{}, context.Cause(ctx)
}

// once is one wish with one answer.
func (a *asker) once(ctx context.Context, wish protocol.Ask) (protocol.AskAnswer, error) {
	asking, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	answer, err := a.runner.bus.Ask(asking, a.chat, wish)
	if err != nil {
		a.runner.metrics.asked(ctx, noAnswer)
		a.runner.log.Debug("a question was not answered", "chat", a.chat, "call", a.call, "error", err)
		return protocol.AskAnswer{}, err
	}
	a.runner.metrics.asked(ctx, answer.Answer)
	return answer, nil
}
