package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// approveCommand is `everturn approve`.
type approveCommand struct {
	instruction

	Chat    chatName `arg:"" help:"Which chat."`
	Call    callName `arg:"" help:"Which call: the id that the transcript shows, such as 3.1.2."`
	ForChat bool     `xor:"decision" help:"The same call need not be asked about again in this chat."`
	Deny    bool     `xor:"decision" help:"Say no instead."`
	Stop    bool     `help:"With --deny: interrupt the turn, too."`
	Reason  string   `placeholder:"TEXT" help:"Why; of a denial the model is told it."`
	Args    string   `placeholder:"JSON" help:"What the call shall run with in place of what the model wrote."`
	Grant   []string `sep:"none" placeholder:"NAME" help:"What the call may do beyond what its tool may by itself; once for each."`
}

// Validate is called by kong.
func (c *approveCommand) Validate() error {
	switch {
	case c.Stop && !c.Deny:
		return errors.New("--stop goes with --deny")
	case c.Deny && (c.Args != "" || len(c.Grant) > 0):
		return errors.New("--args and --grant do not go with --deny")
	case c.Args != "" && !json.Valid([]byte(c.Args)):
		return errors.New("--args: want a JSON object, in quotes")
	}
	return nil
}

// Run implements the command.
func (c *approveCommand) Run(s *surroundings) error {
	body := protocol.Approve{V: protocol.Version, Call: events.CallID(c.Call), Decision: protocol.DecideApprove, Reason: c.Reason, Stop: c.Stop}
	switch {
	case c.Deny:
		body.Decision = protocol.DecideDeny
	case c.ForChat:
		body.Decision = protocol.DecideApproveForChat
	}
	if c.Args != "" {
		body.Args = json.RawMessage(c.Args)
	}
	if len(c.Grant) > 0 {
		body.Permissions = &events.Permissions{Grants: c.Grant}
	}
	return c.to(s, c.Chat, body)
}

// setModeCommand is `everturn set-mode`.
type setModeCommand struct {
	instruction

	Chat     chatName `arg:"" help:"Which chat."`
	Approval string   `arg:"" optional:"" enum:",ask,auto,full" default:"" help:"Which calls need somebody: ask (all that are not read-only), auto (those whose tool wants it) or full (none)."`
	Plan     *bool    `negatable:"" help:"From the next turn on the model only plans: it has no tool that would change something."`
}

// Validate is called by kong.
func (c *setModeCommand) Validate() error {
	if c.Approval == "" && c.Plan == nil {
		return errors.New("want ask, auto or full, or --plan, or --no-plan")
	}
	return nil
}

// Run implements the command.
func (c *setModeCommand) Run(s *surroundings) error {
	return c.to(s, c.Chat, protocol.SetMode{V: protocol.Version, Approval: events.ApprovalMode(c.Approval), Plan: c.Plan})
}

// approving are the calls of a turn that wait for somebody, the oldest first.
type approving struct {
	open   []events.ApprovalRequested
	called map[events.CallID]events.Part

	// put is the call that the next line is about: the one that was asked about
	// when there was none. If that is decided elsewhere, whoever types may not have
	// seen which question stands there now.
	put events.CallID
}

// see notes what a commit says, and reports whether there is another question to
// put.
func (q *approving) see(sight client.Sight) (another bool) {
	if sight.Commit == nil {
		return false
	}
	first := q.first()
	for _, e := range sight.Commit.Events {
		if e, ok := e.(events.StepCompleted); ok {
			q.called = map[events.CallID]events.Part{}
			for _, p := range e.Parts {
				if p.Type == events.PartCall {
					q.called[events.CallID{Turn: e.Step.Turn, Step: e.Step.Step, Ordinal: p.Ordinal}] = p
				}
			}
		}
		if e, ok := e.(events.ApprovalRequested); ok {
			q.close(e.Call) // whoever came late was told of it already
			q.open = append(q.open, e)
		}
		if e, ok := e.(events.ApprovalResolved); ok {
			q.close(e.Call)
		}
	}
	return q.first() != first && len(q.open) > 0
}

// close forgets a question that is decided.
func (q *approving) close(call events.CallID) {
	q.open = slices.DeleteFunc(q.open, func(r events.ApprovalRequested) bool { return r.Call == call })
}

// first is the call to be asked about now; the zero id if there is none.
func (q *approving) first() events.CallID {
	if len(q.open) == 0 {
		return events.CallID{}
	}
	return q.open[0].Call
}

// ask puts the question about the first call.
func (q *approving) ask(out io.Writer) {
	if q.put == (events.CallID{}) {
		q.put = q.first()
	}
	fmt.Fprint(out, q.text())
}

// misses reports whether the line that was read was about another call than the
// first, which is asked about again then.
func (q *approving) misses(out io.Writer) bool {
	if q.put == q.first() {
		return false
	}
	fmt.Fprintf(out, "call %s was decided elsewhere, so this is taken for no answer about call %s\n", q.put, q.first())
	q.put = events.CallID{}
	q.ask(out)
	return true
}

// maxAskedChars is how much of a call's arguments is shown to who decides about it.
const maxAskedChars = 4000

const answersHelp = "y: yes; a: yes, and always in this chat; n [why]: no; s [why]: no, and stop; or other arguments, as {…}"

// text is the question about the first call.
func (q *approving) text() string {
	r := q.open[0]
	part := q.called[r.Call]
	arguments := part.Arguments
	switch {
	case arguments == "" && part.Blob != "":
		arguments = "…"
	case arguments == "":
		arguments = "{}"
	}
	return events.VisibleText(fmt.Sprintf("? call %s wants to run: %s %s%s%s\n  %s\n",
		r.Call, r.Tool, events.Shorten(arguments, maxAskedChars), unseen(arguments, part.Blob), reviewOf(r), answersHelp))
}

// unseen tells who decides about arguments that these go on: what is approved is
// all of them.
func unseen(arguments string, whole events.Digest) string {
	chars := utf8.RuneCountInString(arguments)
	switch {
	case whole != "":
		return fmt.Sprintf("\n  ! only the beginning of the arguments is shown; the whole is stored as %s", whole)
	case chars > maxAskedChars:
		return fmt.Sprintf("\n  ! only the beginning of the arguments is shown; %d characters more are not", chars-maxAskedChars+1)
	}
	return ""
}

// reviewOf is what a model said about a call before a person is asked.
func reviewOf(e events.ApprovalRequested) string {
	if e.Review == nil {
		return ""
	}
	return " (reviewed: " + e.Review.Reason + ")"
}

// answerIn is the decision that a line means about the first call.
func (q *approving) answerIn(text string) (protocol.Approve, bool) {
	r := q.open[0]
	b := protocol.Approve{V: protocol.Version, Call: r.Call, Arguments: r.Arguments, Decision: protocol.DecideApprove}
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") {
		b.Args = json.RawMessage(text)
		return b, json.Valid(b.Args)
	}
	word, why, _ := strings.Cut(text, " ")
	why = strings.TrimSpace(why)
	switch strings.ToLower(word) {
	case "y", "yes":
		return b, why == ""
	case "a", "always":
		b.Decision = protocol.DecideApproveForChat
		return b, why == ""
	case "n", "no":
		b.Decision, b.Reason = protocol.DecideDeny, why
		return b, true
	case "s", "stop":
		b.Decision, b.Reason, b.Stop = protocol.DecideDeny, why, true
		return b, true
	}
	return b, false
}

// hear takes a line that comes while a turn runs: it answers what waits for one.
func (t *talk) hear(ctx context.Context, l line, ok bool) error {
	over := !ok || l.err != nil
	switch {
	case over, l.text == "/quit":
		return errors.Join(l.err, t.unanswered())
	case t.asking != nil:
		return t.answer(ctx, l.text)
	}
	return t.decide(ctx, l.text)
}

// decide tells the chat what a line says about the first question, and asks again
// if it says nothing about it or was turned down.
func (t *talk) decide(ctx context.Context, text string) error {
	q := &t.approving
	if q.misses(t.s.stderr) {
		return nil
	}
	b, ok := q.answerIn(text)
	if !ok {
		q.ask(t.s.stderr)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(t.c.Wait))
	defer cancel()
	_, err := t.client.Command(ctx, t.chat, b)
	rejected, isRejected := errors.AsType[*client.RejectedError](err)
	switch {
	case err != nil && !isRejected:
		return err
	case err == nil, rejected.Code == events.CodeAlreadyResolved: // or somebody else was first: the commit says what was decided
		q.put = events.CallID{}
		q.close(b.Call) // before the next line is read, which is no answer to it
	default:
		fmt.Fprintln(t.s.stderr, "everturn:", events.VisibleText(err.Error()))
	}
	if len(q.open) > 0 {
		q.ask(t.s.stderr)
	}
	return nil
}
