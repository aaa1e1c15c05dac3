package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
	"github.com/nats-io/nats.go"
)

// Outcome is how a turn has ended.
type Outcome struct {
	Turn    int                   `json:"turn"`
	Status  transcript.TurnStatus `json:"status"`
	Finish  events.Finish         `json:"finish,omitempty"`  // of a completed turn
	Class   events.ErrorClass     `json:"class,omitempty"`   // of a failed one
	Message string                `json:"message,omitempty"` // of a failed one, for people
	Reason  string                `json:"reason,omitempty"`  // of an interrupted one
	Totals  events.Totals         `json:"totals"`
}

// Say says a text, shows what happens until the turn that takes it has ended,
// and gives that turn. See may be nil. That the turn failed is no error; its
// status says it.
//
// If ctx ends first the turn goes on all the same: only [Client.Interrupt] stops
// one. Attachments go along with the text as in [Client.Send].
func (c *Client) Say(ctx context.Context, chat, text string, see func(Sight), attachments ...Attachment) (Outcome, error) {
	w, err := c.OpenWatcher(ctx, chat)
	if err != nil {
		return Outcome{}, err
	}
	defer w.Close()
	r, err := c.Send(ctx, chat, text, attachments...)
	if err != nil {
		return Outcome{}, err
	}
	return w.Until(ctx, r, see)
}

// ErrWithdrawn means that a sent input was taken back before a turn took it.
var ErrWithdrawn = errors.New("the input was withdrawn before its turn")

// ErrNotBegun means that a turn which was to begin when another one has ended does
// not: the chat goes on elsewhere.
var ErrNotBegun = errors.New("another branch was selected before the turn began")

// Until shows what happens until the turn that takes a sent input has ended, and
// gives its outcome, or [ErrWithdrawn]; of a turn that a reply only names it may
// be [ErrNotBegun]. Reply is what [Client.Send] gave after the watching began; see
// may be nil.
func (w *Watcher) Until(ctx context.Context, reply protocol.Reply, see func(Sight)) (Outcome, error) {
	turn := reply.Turn
	if turn != 0 && reply.Rev > w.rev {
		w.open = true // so that its end is asked for if nothing is heard of it
	}
	due := turn != 0 && reply.Rev > w.rev // for all that was heard of it
	for {
		s, err := w.Next(ctx)
		if err != nil {
			return Outcome{}, err
		}
		if see != nil {
			see(s)
		}
		due = due && (s.Missed == nil || s.Missed.To < reply.Rev) // it may have begun
		if s.Missed != nil && !s.Missed.Running {
			found, err := w.turn(ctx, turn, reply)
			if err == nil && found.Turn == 0 && turn != 0 && s.Missed.To >= reply.Rev {
				err = ErrNotBegun // nothing runs that it could wait for
			}
			if err != nil || found.Status != transcript.TurnRunning {
				return found, err
			}
		}
		if s.Commit == nil {
			continue
		}
		for _, e := range s.Commit.Events {
			if due, err = stillDue(due, e, turn); err != nil && s.Commit.Rev > reply.Rev {
				return Outcome{}, err
			}
			if taking, ok := takes(e, reply.Input); ok {
				turn = taking
			}
			if end, ok := endOf(e); ok && end.Turn == turn {
				return end, nil
			}
			if e, ok := e.(events.InputWithdrawn); ok && e.Input == reply.Input {
				return Outcome{}, ErrWithdrawn
			}
		}
	}
}

// stillDue reports whether a turn that was due is so after e, or gives [ErrNotBegun].
func stillDue(due bool, e events.Event, turn int) (bool, error) {
	if e, ok := e.(events.BranchSelected); ok && due && e.Again == 0 {
		return true, ErrNotBegun
	}
	start, ok := e.(events.TurnStarted)
	return due && (!ok || start.Turn != turn), nil
}

// takes is the turn that e gives an input to, if it does.
func takes(e events.Event, input string) (turn int, ok bool) {
	if e, ok := e.(events.TurnStarted); ok && slices.Contains(e.Inputs, input) {
		return e.Turn, true
	}
	if e, ok := e.(events.InputSteered); ok && slices.Contains(e.Inputs, input) {
		return e.Step.Turn, true
	}
	return 0, false
}

// endOf is how a turn has ended, if e says that it has.
func endOf(e events.Event) (Outcome, bool) {
	if e, ok := e.(events.TurnCompleted); ok {
		return Outcome{Turn: e.Turn, Status: transcript.TurnCompleted, Finish: e.Finish, Totals: e.Totals}, true
	}
	if e, ok := e.(events.TurnFailed); ok {
		return Outcome{Turn: e.Turn, Status: transcript.TurnFailed, Class: e.Class, Message: e.Message, Totals: e.Totals}, true
	}
	if e, ok := e.(events.TurnInterrupted); ok {
		return Outcome{Turn: e.Turn, Status: transcript.TurnInterrupted, Reason: e.Reason, Totals: e.Totals}, true
	}
	return Outcome{}, false
}

// turn is what the transcript says about a turn, or about the one that takes the
// input. One that is not there yet counts as running. It waits for somebody who
// answers.
func (w *Watcher) turn(ctx context.Context, number int, reply protocol.Reply) (Outcome, error) {
	for {
		found := Outcome{Status: transcript.TurnRunning}
		waits := false
		r := transcript.Request{Chat: w.key.Chat, MinRev: max(w.rev, reply.Rev), Branch: number} // others may select another branch
		err := w.c.Pages(ctx, r, func(page transcript.Page) error {
			for _, m := range page.Messages {
				if number == 0 && reply.Input != "" && m.Input == reply.Input {
					number = m.Turn
				}
			}
			waits = waits || slices.ContainsFunc(page.Waiting, func(in transcript.Waiting) bool { return in.Input == reply.Input })
			for _, t := range page.Turns {
				if t.Turn == number {
					found = Outcome{
						Turn: t.Turn, Status: t.Status, Finish: t.Finish, Class: t.Class,
						Message: t.Message, Reason: t.Reason, Totals: t.Totals,
					}
				}
			}
			return nil
		})
		query, isQuery := errors.AsType[*QueryError](err)
		if isQuery && query.Code == events.CodeUnknownTurn {
			return found, nil
		}
		if err == nil && number == 0 && reply.Input != "" && !waits {
			return found, ErrWithdrawn
		}
		if err == nil || isQuery && query.Code != events.CodeUnavailable {
			return found, err
		}
		if w.c.nc.IsClosed() { // for good: nobody will answer
			return found, fmt.Errorf("watch: %w", nats.ErrConnectionClosed)
		}
		select {
		case <-ctx.Done():
			return found, fmt.Errorf("watch: %w", err)
		case <-time.After(storeWait):
		}
	}
}
