package replay

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// ErrNoEvent means that a log has no event of that name.
var ErrNoEvent = errors.New("no such event")

// Link is one event of a chain of causes.
type Link struct {
	Rev   uint64
	Event int // from 1, within the commit
	At    events.Time
	What  events.Event

	// Cause is what brought the event about from outside: the message that its
	// commit answers. Nil means that the next link did, by the rules alone.
	Cause *events.Cause
}

// place is where an event stands: indexes into the commits and their events.
type place struct{ commit, event int }

func (p place) before(q place) bool {
	return p.commit < q.commit || p.commit == q.commit && p.event < q.event
}

// Why follows an event's causes back to the command that everything began with:
// each link was brought about by the next one.
//
// The event is named by its place, "7" or "7.2" for the second event of rev 7; by
// what it is about, "turn:3", "step:3.2", or a call such as "3.2.1", which means
// the newest event about it; or by the id of a commit, a command, an input or a
// claim. The commits are a chat's log from rev 1 on.
func Why(commits []events.Commit, name string) ([]Link, error) {
	at, err := find(commits, name)
	if err != nil {
		return nil, err
	}
	var chain []Link
	for {
		c := commits[at.commit]
		l := Link{Rev: c.Rev, Event: at.event + 1, At: c.At, What: c.Events[at.event]}
		next, outside := because(commits, at)
		if outside {
			l.Cause = &c.Cause
		}
		chain = append(chain, l)
		if !next.before(at) || next.commit < 0 {
			return chain, nil
		}
		at = next
	}
}

// none is no place.
func none() place { return place{commit: -1} }

// because is the event that brought another about, and whether a message from
// outside was between them.
func because(commits []events.Commit, at place) (cause place, outside bool) {
	c := commits[at.commit]
	if start, ok := c.Events[at.event].(events.TurnStarted); ok && start.Again != 0 {
		return newest(commits, at, func(e events.Event) bool {
			b, ok := e.(events.BranchSelected)
			return ok && b.Again == start.Again
		}), false
	}
	if taken := takenBy(c.Events[at.event]); len(taken) > 0 {
		last := taken[len(taken)-1]
		return newest(commits, at, func(e events.Event) bool {
			in, ok := e.(events.InputAccepted)
			return ok && in.Input == last
		}), false
	}
	own := c.Events[at.event].EventType()
	for i := at.event - 1; i >= 0; i-- {
		if c.Events[i].EventType() != own { // those of its kind came about beside it
			return place{at.commit, i}, false
		}
	}
	if decided, ok := c.Events[0].(events.ApprovalResolved); ok && c.Cause.Kind == events.CausedByCommand {
		return newest(commits, place{at.commit, 0}, func(e events.Event) bool { return isQuestionAbout(e, decided.Call) }), true
	}
	return asked(commits, place{at.commit, 0}, c.Cause), true
}

// takenBy are the inputs that an event takes out of those that wait.
func takenBy(e events.Event) []string {
	if e, ok := e.(events.TurnStarted); ok {
		return e.Inputs
	}
	if e, ok := e.(events.InputSteered); ok {
		return e.Inputs
	}
	return nil
}

// asked is the newest event before a place that led to the message which a cause
// names; none for a command, which is where a chain ends.
func asked(commits []events.Commit, at place, cause events.Cause) place {
	switch cause.Kind {
	case events.CausedByAttempt:
		step, attempt, _ := attemptOf(cause.ID)
		return newest(commits, at, func(e events.Event) bool {
			r, ok := e.(events.StepRequested)
			return ok && r.Step == step && r.Attempt == attempt
		})
	case events.CausedByResult:
		call, err := events.ParseCallID(cause.ID, ".")
		if err != nil {
			return none()
		}
		return newest(commits, at, func(e events.Event) bool {
			id, ok := callIn(e)
			return ok && id == call
		})
	case events.CausedByClaim, events.CausedByAsk:
		call, ok := callIn(commits[at.commit].Events[0])
		if !ok {
			return none()
		}
		return newest(commits, at, func(e events.Event) bool { return isRequestOf(e, call) })
	case events.CausedByTimer:
		name, err := protocol.ParseTimerName(cause.ID)
		if err != nil {
			return none()
		}
		return newest(commits, at, func(e events.Event) bool { return sets(e, name) })
	case events.CausedByChat:
		return worksFor(commits, at)
	case events.CausedByCommand, events.CausedByRestore:
	}
	return none()
}

// newest is the last event before a place that is meant.
func newest(commits []events.Commit, at place, meant func(events.Event) bool) place {
	for c := at.commit; c >= 0; c-- {
		last := len(commits[c].Events)
		if c == at.commit {
			last = at.event
		}
		for i := last - 1; i >= 0; i-- {
			if meant(commits[c].Events[i]) {
				return place{c, i}
			}
		}
	}
	return none()
}

func callIn(e events.Event) (events.CallID, bool) {
	a := about(e)
	return a.call, a.call != events.CallID{}
}

// worksFor is what made another chat send the word that a commit answers: a child
// tells how it ended since a call got it, and a parent stops the chat that it made. To
// make it was the parent's own doing, and a chain ends there.
func worksFor(commits []events.Commit, at place) place {
	first := commits[at.commit].Events[0]
	return newest(commits, at, func(e events.Event) bool {
		if ended, ok := first.(events.ChildEnded); ok {
			return isChildOf(e, ended.Call)
		}
		_, made := e.(events.ChatSpawned)
		return made
	})
}

func isRequestOf(e events.Event, call events.CallID) bool {
	r, ok := e.(events.ToolRequested)
	return ok && r.Call == call
}

func isQuestionAbout(e events.Event, call events.CallID) bool {
	r, ok := e.(events.ApprovalRequested)
	return ok && r.Call == call
}

// sets reports whether an event is what a timer was set for.
func sets(e events.Event, name protocol.TimerName) bool {
	switch name.Kind {
	case protocol.TimerRetry:
		f, ok := e.(events.StepFailed)
		return ok && f.Step == name.Step && f.Attempt == name.Attempt
	case protocol.TimerDeadline:
		return isRequestOf(e, name.Call) || isChildOf(e, name.Call)
	case protocol.TimerReview:
		r, ok := e.(events.StepRequested)
		return ok && r.Step == name.Step
	case protocol.TimerAction:
		a, ok := e.(events.ActionRequested)
		return ok && a.Step == name.Step
	case protocol.TimerQuestion:
		return setsQuestion(e, name.Call)
	case protocol.TimerApproval:
		return isQuestionAbout(e, name.Call)
	case protocol.TimerEnd:
		r, ok := e.(events.TurnInterruptRequested)
		return ok && r.Turn == name.Turn
	case protocol.TimerBudget:
		if name.Number == 1 {
			start, ok := e.(events.TurnStarted)
			return ok && start.Turn == name.Turn
		}
		more, ok := e.(events.BudgetExtended)
		return ok && more.Turn == name.Turn
	case protocol.TimerErase:
		_, ok := e.(events.ChatEraseRequested)
		return ok
	case protocol.TimerDelete:
		_, ok := e.(events.ChatErased)
		return ok
	}
	return false
}

// find is the place of an event by its name.
func find(commits []events.Commit, name string) (place, error) {
	end := place{commit: len(commits) - 1}
	if len(commits) > 0 {
		end.event = len(commits[end.commit].Events)
	}
	meant, err := named(name)
	if err != nil {
		return none(), err
	}
	if meant != nil {
		if at := newest(commits, end, meant); at.commit >= 0 {
			return at, nil
		}
		return none(), fmt.Errorf("%w: %s", ErrNoEvent, name)
	}
	rev, number, isPlace := placeIn(name)
	for i, c := range commits {
		switch {
		case isPlace && c.Rev == rev && number <= len(c.Events):
			return place{i, number - 1}, nil
		case !isPlace && (c.ID == name || c.Cause.ID == name):
			return place{commit: i}, nil
		}
	}
	return none(), fmt.Errorf("%w: %s", ErrNoEvent, name)
}

// CheckName says what is wrong with the name of an event, or nil.
func CheckName(name string) error {
	meant, err := named(name)
	if err != nil || meant != nil {
		return err
	}
	if rev, number, ok := placeIn(name); strings.ContainsAny(name, ".:") && !ok || ok && (rev == 0 || number < 1) || name == "" {
		return fmt.Errorf("event %q: want REV.EVENT, a call, turn:N, step:N.M or an id", name)
	}
	return nil
}

// placeIn reads "7" and "7.2".
func placeIn(name string) (rev uint64, number int, ok bool) {
	first, second, both := strings.Cut(name, ".")
	rev, err := strconv.ParseUint(first, 10, 64)
	number = 1
	if both && err == nil {
		number, err = strconv.Atoi(second)
	}
	return rev, number, err == nil && number > 0
}

// named tells the events that a name means; nil if it names a place or an id.
func named(name string) (func(events.Event) bool, error) {
	if call, err := events.ParseCallID(name, "."); err == nil {
		return func(e events.Event) bool { return about(e).call == call }, nil
	}
	kind, id, ok := strings.Cut(name, ":")
	switch {
	case !ok:
		return nil, nil
	case kind == "turn":
		turn, err := strconv.Atoi(id)
		if err != nil {
			return nil, fmt.Errorf("turn %q: want its number", id)
		}
		return func(e events.Event) bool { return about(e).turn == turn }, nil
	case kind == "step":
		var step events.StepID
		if err := step.UnmarshalText([]byte(id)); err != nil {
			return nil, err
		}
		return func(e events.Event) bool { return about(e).step == step }, nil
	}
	return nil, fmt.Errorf("event %q: want turn:N or step:N.M before a colon", name)
}
