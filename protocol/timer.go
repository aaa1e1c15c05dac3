package protocol

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/everturn/everturn/events"
)

// TimerKind says what a timer is for.
type TimerKind string

// The kinds of timer.
const (
	TimerRetry    TimerKind = "retry"    // the next attempt of a step
	TimerDeadline TimerKind = "deadline" // a call's
	TimerEnd      TimerKind = "end"      // of a turn that was interrupted
)

// TimerName is a timer's name taken apart. Which fields are set follows from Kind.
type TimerName struct {
	Kind    TimerKind
	Step    events.StepID // of retry
	Attempt int           // of retry: the one that failed
	Call    events.CallID // of deadline
	Turn    int           // of end
}

// String is the name as it stands in subjects. It is never used twice in a chat.
func (n TimerName) String() string {
	switch n.Kind {
	case TimerRetry:
		return string(n.Kind) + "-" + n.Step.Token() + "-" + strconv.Itoa(n.Attempt)
	case TimerDeadline:
		return string(n.Kind) + "-" + n.Call.Token()
	case TimerEnd:
		return string(n.Kind) + "-" + strconv.Itoa(n.Turn)
	}
	panic(fmt.Sprintf("protocol: timer of kind %q", n.Kind))
}

// ParseTimerName is the inverse of [TimerName.String].
func ParseTimerName(s string) (TimerName, error) {
	kind, rest, _ := strings.Cut(s, "-")
	n := TimerName{Kind: TimerKind(kind)}
	switch n.Kind {
	case TimerRetry:
		id, err := events.ParseCallID(rest, "-")
		n.Step, n.Attempt = id.StepID(), id.Ordinal
		return n, err
	case TimerDeadline:
		var err error
		n.Call, err = events.ParseCallID(rest, "-")
		return n, err
	case TimerEnd:
		turn, err := strconv.Atoi(rest)
		if err != nil || turn < 0 || strconv.Itoa(turn) != rest {
			return TimerName{}, fmt.Errorf("timer %.70q: want the number of a turn", s)
		}
		n.Turn = turn
		return n, nil
	}
	return TimerName{}, fmt.Errorf("timer %.70q: unknown kind", s)
}
