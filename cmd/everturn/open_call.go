package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// openCalls are those that a chat waits with for somebody outside of it: to approve
// them, to answer what they ask, or to run them. Who comes late has not seen the
// commits that said so.
type openCalls struct {
	turn  int
	rev   uint64 // as of which
	calls []transcript.Part
}

// openIn is what a chat in which a turn runs waits for. The calls that are open are
// of the last thing that its model said.
func openIn(ctx context.Context, cl *client.Client, chat string) (openCalls, error) {
	var open openCalls
	head, err := cl.Head(ctx, chat)
	if err != nil {
		return open, err
	}
	request := transcript.Request{Chat: chat, MinRev: head.Rev, After: max(0, head.MessageCount-1)}
	err = cl.Pages(ctx, request, func(page transcript.Page) error {
		open.turn, open.rev = page.Turn, page.Rev
		for _, m := range page.Messages {
			for _, p := range m.Parts {
				if c := p.Call; c != nil && page.Status == transcript.StatusRunning &&
					(c.Status == transcript.CallApproval || c.Status == transcript.CallAsking || c.Status == transcript.CallClient) {
					open.calls = append(open.calls, p)
				}
			}
		}
		return nil
	})
	return open, err
}

// sight is what who watched would have seen of these calls, as one commit.
func (o openCalls) sight() client.Sight {
	var step events.StepCompleted
	var asks []events.Event
	action := events.ActionRequested{}
	for _, p := range o.calls {
		id := p.Call.ID
		step.Step = events.StepID{Turn: id.Turn, Step: id.Step}
		called := p.Part
		called.Ordinal = id.Ordinal
		step.Parts = append(step.Parts, called)
		if a := p.Call.Approval; a != nil && p.Call.Status == transcript.CallApproval {
			asks = append(asks, events.ApprovalRequested{
				Call: id, Tool: p.Name, Arguments: a.Arguments, Mode: a.Mode, Policy: a.Policy, Due: a.Due, Review: a.Review,
			})
		}
		if q := p.Call.Question; q != nil && p.Call.Status == transcript.CallAsking {
			left := q.LeftMS
			if !q.Held {
				left = max(0, time.Until(q.Due.Time()).Truncate(time.Second).Milliseconds())
			}
			asks = append(asks, events.QuestionAsked{Call: id, Questions: q.Questions, TimeoutMS: left, Due: q.Due})
		}
		if p.Call.Status == transcript.CallClient {
			action.Step, action.Due = step.Step, p.Call.Due
			action.Calls = append(action.Calls, id)
		}
	}
	list := append([]events.Event{step}, asks...)
	if len(action.Calls) > 0 {
		list = append(list, action)
	}
	return client.Sight{Commit: &events.Commit{Rev: o.rev, Events: list}}
}

// show shows them. As JSON they are no commit, but the parts of a transcript.
func (o openCalls) show(view viewer, out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(struct {
			Open []transcript.Part `json:"open"`
		}{o.calls})
	}
	view.see(o.sight())
	return nil
}

// resume takes up what the chat waits for already: the next lines answer it.
func (t *talk) resume(ctx context.Context) error {
	if !t.watcher.Running() {
		return nil
	}
	try, cancel := context.WithTimeout(ctx, time.Duration(t.c.Wait))
	open, err := openIn(try, t.client, t.chat)
	cancel()
	if err != nil {
		fmt.Fprintln(t.s.stderr, "everturn:", err, "(if the chat waits for something, it is not shown)")
		return nil
	}
	if len(open.calls) == 0 {
		return nil
	}
	t.open = &open
	return t.follow(ctx, protocol.Reply{Turn: open.turn})
}

// left is why a conversation ends before its turn: it waits for the client's own
// tools, and nothing more is said here.
func (t *talk) left() error {
	h := t.held
	if h == nil || len(t.acting) == 0 || t.asking != nil || len(t.approving.open) > 0 || h.ok && h.line.err == nil && h.line.text != "/quit" {
		return nil
	}
	return errors.Join(h.line.err, t.unanswered())
}

// unanswered is how a conversation ends when a call waits and there are no more
// lines: the turn goes on waiting.
func (t *talk) unanswered() error {
	const more = "and nothing more is said here"
	var why string
	switch {
	case t.asking != nil:
		a := t.asking
		why = fmt.Sprintf("call %s asks somebody, %s: %s", a.call, more, projections.AnswerLine(t.chat, a.call, a.questions, a.answers))
	case len(t.approving.open) > 0:
		call := t.approving.first()
		why = fmt.Sprintf("call %s waits for approval, %s: everturn approve %s %s", call, more, t.chat, call)
	default:
		call := t.acting[0]
		why = fmt.Sprintf("call %s is the client's to run, %s: %s", call, more, projections.ResultLine(t.chat, call))
	}
	return cli.Exit(cli.ExitTool, errors.New(why))
}
