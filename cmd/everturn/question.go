package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
)

// answerCommand is `everturn answer`.
type answerCommand struct {
	instruction

	Chat    chatName `arg:"" help:"Which chat."`
	Call    callName `arg:"" help:"Which call asks: its id, such as 3.2.1, as the transcript shows it."`
	Answers []string `arg:"" optional:"" placeholder:"QUESTION=ANSWER" help:"An answer to each question, by the question's id: color=red, or other words in quotes."`
	Hold    bool     `xor:"clock" help:"Answer nothing yet, and stop the question's clock."`
	Release bool     `xor:"clock" help:"Let the question's clock run on."`
}

// Run implements the command.
func (c *answerCommand) Run(s *surroundings) error {
	body := protocol.Answer{V: protocol.Version, Call: events.CallID(c.Call)}
	if c.Hold || c.Release {
		body.Hold = &c.Hold
	}
	if (body.Hold == nil) == (len(c.Answers) == 0) {
		return cli.Exit(cli.ExitUsage, errors.New("want either an answer to each question, as in color=red, or --hold or --release"))
	}
	for _, a := range c.Answers {
		question, text, ok := strings.Cut(a, "=")
		if !ok {
			return cli.Exit(cli.ExitUsage, fmt.Errorf("%.80q: want the question's id, = and the answer, as in color=red", a))
		}
		body.Answers = append(body.Answers, events.Answer{Question: question, Text: text})
	}
	return c.to(s, c.Chat, body)
}

// callName is the id of a call as an argument.
type callName events.CallID

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *callName) UnmarshalText(text []byte) error { return (*events.CallID)(n).UnmarshalText(text) }

// question shows what a person is asked.
func (v *liveView) question(e events.QuestionAsked) {
	v.line()
	for _, q := range e.Questions {
		v.printf("? %s: %s  [%s]\n", q.Header, q.Text, q.ID)
		for i, o := range q.Options {
			v.printf("  %d. %s: %s\n", i+1, o.Label, o.Description)
		}
	}
	v.printf("  (call %s; after %s the first of each is taken)\n", e.Call, time.Duration(e.TimeoutMS)*time.Millisecond)
	if v.chat != "" {
		v.printf("  %s\n", projections.AnswerLine(v.chat, e.Call, e.Questions, nil))
	}
}

// answered shows what was answered, and by whom if it was said.
func (v *liveView) answered(e events.QuestionAnswered) {
	v.line()
	for _, a := range e.Answers {
		v.printf("= %s: %s", a.Question, shorten(a.Text))
		switch {
		case e.Expired:
			v.printf(" (nobody answered)")
		case e.By != "":
			v.printf(" (%s)", e.By)
		}
		v.line()
	}
}

// asking is a question that is being answered line by line.
type asking struct {
	call      events.CallID
	questions []events.Question
	answers   []events.Answer
	held      bool
}

// notice looks whether what was seen asks something, or says that nothing more is
// to be answered.
func (t *talk) notice(ctx context.Context, s client.Sight) {
	if s.Commit == nil {
		return
	}
	for _, e := range s.Commit.Events {
		if e, ok := e.(events.QuestionAsked); ok {
			t.asks(ctx, e)
		}
		if e, ok := e.(events.QuestionAnswered); ok {
			t.settled(ctx, e.Call)
		}
		if e, ok := e.(events.ActionRequested); ok {
			t.acting = e.Calls
			for _, call := range e.Calls {
				fmt.Fprintf(t.s.stderr, "  %s\n", projections.ResultLine(t.chat, call))
			}
		}
		if e, ok := e.(events.ToolCompleted); ok {
			t.acting = slices.DeleteFunc(slices.Clone(t.acting), func(c events.CallID) bool { return c == e.Call })
			t.settled(ctx, e.Call)
		}
	}
}

// settled is told of a call that asks nothing any more: the next one may.
func (t *talk) settled(ctx context.Context, call events.CallID) {
	t.later = slices.DeleteFunc(t.later, func(e events.QuestionAsked) bool { return e.Call == call })
	if t.asking != nil && t.asking.call == call {
		t.asking = nil
	}
	t.next(ctx)
}

// next begins to ask what calls that ran at once have asked meanwhile.
func (t *talk) next(ctx context.Context) {
	if t.asking == nil && len(t.later) > 0 {
		e := t.later[0]
		t.later = t.later[1:]
		t.asks(ctx, e)
	}
}

// asks begins to ask. While a person reads, the clock stands still.
func (t *talk) asks(ctx context.Context, e events.QuestionAsked) {
	if t.asking != nil && t.asking.call == e.Call {
		return // whoever came late was told of it already
	}
	if t.asking != nil {
		t.later = append(t.later, e)
		return
	}
	t.asking = &asking{call: e.Call, questions: e.Questions}
	if t.person {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(t.c.Wait))
		defer cancel()
		_, err := t.client.Hold(ctx, t.chat, e.Call, true)
		t.asking.held = err == nil
	}
	t.prompt()
}

func (t *talk) prompt() {
	if t.person && t.asking != nil {
		next := t.asking.questions[len(t.asking.answers)]
		fmt.Fprintf(t.s.stdout, "%s [1]> ", events.VisibleText(next.Header))
	}
}

// answer takes a line as the answer to the next question: the number of an option,
// or other words; nothing is the first option. With the last one all are sent.
func (t *talk) answer(ctx context.Context, text string) error {
	a := t.asking
	next := a.questions[len(a.answers)]
	text = strings.TrimSpace(text)
	if text == "" {
		text = "1"
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(next.Options) {
		text = next.Options[n-1].Label
	}
	a.answers = append(a.answers, events.Answer{Question: next.ID, Text: text})
	if len(a.answers) < len(a.questions) {
		t.prompt()
		return nil
	}
	t.asking = nil
	ctx, cancel := context.WithTimeout(ctx, time.Duration(t.c.Wait))
	defer cancel()
	_, err := t.client.Answer(ctx, t.chat, a.call, a.answers...)
	if rejected, ok := errors.AsType[*client.RejectedError](err); ok {
		fmt.Fprintln(t.s.stderr, "everturn:", events.VisibleText(rejected.Error())) // somebody else was quicker, or the time was over
		err = nil
	}
	if err == nil {
		t.next(ctx)
	}
	return err
}

// release lets the clock of a question run on that nobody here will answer.
func (t *talk) release() {
	a := t.asking
	if a == nil {
		return
	}
	t.asking = nil
	if a.held {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.s.ctx), releaseTime)
		defer cancel()
		_, _ = t.client.Hold(ctx, t.chat, a.call, false) // it ends by itself if that fails, only later
	}
}

// releaseTime is how long leaving waits for a question to be let go.
const releaseTime = 2 * time.Second
