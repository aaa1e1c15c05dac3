package mcp

import (
	"context"
	"errors"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everturn/everturn/events"
)

const (
	// lookEvery is how often a turn is asked after that says nothing: what it waits for
	// may be in another chat, that works for it.
	lookEvery = 3 * time.Second

	// tellEvery is between two notifications of progress, and tellBytes what one has at most.
	tellEvery = 200 * time.Millisecond
	tellBytes = 8 << 10

	kindText = "text" // of a delta
)

// follow begins something and then waits until its turn has ended, or waits for a
// person, or the time is over, and says how it stands. Meanwhile the client is told
// what is said, if it wants to be.
func (c caller) follow(ctx context.Context, r call, k events.Key, p patience, begin func() (target, uint64, error)) (Turn, error) {
	wait, err := p.duration(c.cfg.Wait)
	if err != nil {
		return Turn{}, err
	}
	if err := k.Validate(); err != nil {
		return Turn{}, bad(err.Error())
	}
	sights, err := c.cfg.Feed.Watch(ctx, k)
	if err != nil {
		return Turn{}, err
	}
	defer sights.Close()
	t, rev, err := begin()
	if err != nil {
		return Turn{}, err
	}
	until, tell := time.Now().Add(wait), teller{request: r}
	for {
		turn, err := c.look(ctx, k, t, rev)
		if err != nil || turn.rests() || time.Until(until) <= 0 {
			return turn, err
		}
		t.turn = turn.Turn
		if rev, err = c.untilChanged(ctx, sights, &t, &tell, until); err != nil {
			return Turn{}, err
		}
	}
}

// untilChanged returns when it is worth a look how the turn stands, or the time is
// over, and gives the rev to see.
func (c caller) untilChanged(ctx context.Context, sights Sights, t *target, tell *teller, until time.Time) (uint64, error) {
	look := time.Now().Add(lookEvery)
	if until.Before(look) {
		look = until
	}
	try, cancel := context.WithDeadline(ctx, look)
	defer cancel()
	for {
		s, err := sights.Next(try)
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			return 0, nil
		case err != nil:
			return 0, err
		case s.Delta != nil:
			if s.Delta.Turn == t.turn && s.Delta.Kind == kindText {
				tell.say(ctx, s.Delta.Text)
			}
		case s.Commit == nil: // something was missed
			return 0, nil
		default:
			if c.changes(*s.Commit, t, func(tool string) { tell.say(ctx, "\n["+tool+"]\n") }) {
				return s.Commit.Rev, nil
			}
		}
	}
}

// ending are the events after which a turn may not go on by itself. What is not among
// them a look every few seconds finds.
var ending = map[events.Type]bool{
	events.TurnCompleted{}.EventType(): true, events.TurnFailed{}.EventType(): true, events.TurnInterrupted{}.EventType(): true,
	events.InputWithdrawn{}.EventType(): true, events.ApprovalRequested{}.EventType(): true, events.QuestionAsked{}.EventType(): true,
	events.BudgetReached{}.EventType(): true, events.ActionRequested{}.EventType(): true,
}

// changes reports whether a commit may end the waiting. It finds out which turn it is
// for, and tells which tools that calls.
func (c caller) changes(commit events.Commit, t *target, calls func(tool string)) bool {
	changed := false
	for _, e := range commit.Events {
		changed = changed || ending[e.EventType()]
		if e, ok := e.(events.TurnStarted); ok && t.turn == 0 && slices.Contains(e.Inputs, t.input) {
			t.turn = e.Turn
		}
		if e, ok := e.(events.InputSteered); ok && t.turn == 0 && slices.Contains(e.Inputs, t.input) {
			t.turn = e.Step.Turn
		}
		if e, ok := e.(events.ToolRequested); ok && e.Call.Turn == t.turn {
			calls(e.Tool)
		}
	}
	return changed
}

// teller tells the client of a call what is said.
type teller struct {
	request call
	said    string
	n       int
	last    time.Time
}

// say tells it, now or with what comes next. The result has the whole: what is not
// told is not lost.
func (t *teller) say(ctx context.Context, text string) {
	token := t.request.Params.GetProgressToken()
	if token == nil {
		return
	}
	t.said = events.CutText(t.said+text, tellBytes)
	if time.Since(t.last) < tellEvery {
		return
	}
	t.n++
	_ = t.request.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ // who has gone needs none
		ProgressToken: token, Progress: float64(t.n), Message: t.said,
	})
	t.said, t.last = "", time.Now()
}
