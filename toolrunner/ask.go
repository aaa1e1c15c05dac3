package toolrunner

import (
	"context"
	"errors"

	"github.com/everturn/everturn/events"
)

// Asking asks whoever follows the chat some questions, in the middle of a call, and
// waits until each of them is answered, the time for it is over, or ctx ends.
//
// There may be 1 to [events.MaxQuestions] questions, each with an id of its own, a
// header, a text and [events.MinOptions] to [events.MaxOptions] options, the
// recommended one first; a person may also answer in words of their own. If nobody
// answers in time the first option of each is taken, and the reply says so.
//
// An error means that there is no answer: [ErrCannotAsk] if there will be none
// however often it is asked, the cause of ctx if that ended. Every other one says what
// is wrong with the questions.
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

// ErrCannotAsk means that no person can be asked: the call is not wanted any more, has
// asked too often or has too little time left, or the orchestrators are of a release
// that knows no such questions.
var ErrCannotAsk = errors.New("no person can be asked")

// askNobody is the Ask of a call whose chat nobody can be asked in.
func askNobody(context.Context, []events.Question) (Reply, error) { return Reply{}, ErrCannotAsk }
