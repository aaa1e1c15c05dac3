package orchestrator

import (
	"context"
	"errors"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/turntrace"
)

// traced tells the trace what a commit wrote down: the end of a turn, and a command that
// was decided.
func (o *Orchestrator) traced(ctx context.Context, before, after chat.State, c events.Commit, w proposal) {
	if o.tracer == nil {
		return
	}
	turn, began, open := before.OpenTurn()
	for _, e := range c.Events {
		if e, ok := e.(events.TurnStarted); ok {
			turn, began, open = e.Turn, e.At, true
			continue
		}
		if end, ok := turnEnd(e); ok && open {
			end.Key, end.Number, end.Began, end.Ended = c.Key, turn, began, c.At
			if settings, known := after.Effective(); known {
				end.Agent, end.Model = settings.Agent, settings.Model
			}
			if p, is := after.Parent(); is && turn == 1 {
				end.Parent = &p
			}
			o.tracer.Turn(ctx, end)
		}
	}
	if command, is := w.message.(chat.Command); is {
		o.tracer.Command(ctx, c.Key, command.ID, c.Cause.Verb, w.trace, turn, w.at.Time())
	}
}

// turnEnd is what an event says of how a turn has ended.
func turnEnd(e events.Event) (turntrace.Turn, bool) {
	switch e := e.(type) {
	case events.TurnCompleted:
		return turntrace.Turn{Finish: string(e.Finish), Totals: e.Totals}, true
	case events.TurnFailed:
		return turntrace.Turn{Error: string(e.Class), Totals: e.Totals}, true
	case events.TurnInterrupted:
		return turntrace.Turn{Finish: "interrupted", Totals: e.Totals}, true
	default:
		return turntrace.Turn{}, false
	}
}

// traced is what a trace says of what l has heard.
func (l *listener) traced(err error) turntrace.Outcome {
	switch {
	case errors.Is(err, errStopping):
		return turntrace.Outcome{Error: "stopping"}
	case err != nil:
		return turntrace.Outcome{Error: "unwanted"}
	case l.failed != nil:
		return turntrace.Outcome{Error: string(l.failed.Class), Usage: l.failed.Usage, FirstMS: l.timing.FirstMS}
	case l.answer != nil:
		a := l.answer
		return turntrace.Outcome{Provider: a.Provider, Finish: string(a.Stop), Usage: a.Usage, FirstMS: l.timing.FirstMS}
	}
	return turntrace.Outcome{Finish: "interrupted", FirstMS: l.timing.FirstMS}
}
