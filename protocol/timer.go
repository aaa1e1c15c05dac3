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
	TimerQuestion TimerKind = "question" // the end of waiting for an answer
	TimerApproval TimerKind = "approval" // of a call that waits for one
	TimerErase    TimerKind = "erase"    // of a chat that is to be erased once nothing is open
	TimerDelete   TimerKind = "delete"   // the content of an erased chat
	TimerAction   TimerKind = "action"   // the end of waiting for a client's results
	TimerBudget   TimerKind = "budget"   // the end of the time that a turn may take
	TimerReview   TimerKind = "review"   // the end of waiting for a model that reviews a call
)

// TimerName is a timer's name taken apart. Which fields are set follows from Kind.
type TimerName struct {
	Kind    TimerKind
	Step    events.StepID // of retry, action and review
	Attempt int           // of retry: the one that failed
	Call    events.CallID // of deadline, approval and question
	Turn    int           // of end and budget

	// Number tells those of one thing apart: of question the timers of the call, of budget
	// those of the turn, from 1; of retry how often the turn had been extended by then.
	Number int
}

// String is the name as it stands in subjects. It is never used twice in a chat.
func (n TimerName) String() string {
	switch n.Kind {
	case TimerRetry:
		name := string(n.Kind) + "-" + n.Step.Token() + "-" + strconv.Itoa(n.Attempt)
		if n.Number > 0 {
			name += "-" + strconv.Itoa(n.Number)
		}
		return name
	case TimerDeadline, TimerApproval:
		return string(n.Kind) + "-" + n.Call.Token()
	case TimerAction, TimerReview:
		return string(n.Kind) + "-" + n.Step.Token()
	case TimerEnd:
		return string(n.Kind) + "-" + strconv.Itoa(n.Turn)
	case TimerBudget:
		return string(n.Kind) + "-" + strconv.Itoa(n.Turn) + "-" + strconv.Itoa(n.Number)
	case TimerQuestion:
		return string(n.Kind) + "-" + n.Call.Token() + "-" + strconv.Itoa(n.Number)
	case TimerErase, TimerDelete:
		return string(n.Kind)
	}
	panic(fmt.Sprintf("protocol: timer of kind %q", n.Kind))
}

// ParseTimerName is the inverse of [TimerName.String].
func ParseTimerName(s string) (TimerName, error) {
	kind, rest, _ := strings.Cut(s, "-")
	n := TimerName{Kind: TimerKind(kind)}
	switch n.Kind {
	case TimerRetry:
		if strings.Count(rest, "-") > 2 { // behind step and attempt
			i := strings.LastIndexByte(rest, '-')
			number, ok := parseNumber(rest[i+1:])
			if !ok || number == 0 {
				return TimerName{}, fmt.Errorf("timer %.70q: want a number above 0 behind the attempt", s)
			}
			n.Number, rest = number, rest[:i]
		}
		id, err := events.ParseCallID(rest, "-")
		n.Step, n.Attempt = id.StepID(), id.Ordinal
		return n, err
	case TimerDeadline, TimerApproval:
		var err error
		n.Call, err = events.ParseCallID(rest, "-")
		return n, err
	case TimerEnd:
		var ok bool
		if n.Turn, ok = parseNumber(rest); !ok {
			return TimerName{}, fmt.Errorf("timer %.70q: want the number of a turn", s)
		}
		return n, nil
	case TimerBudget:
		numbers, err := parseStep(rest) // spelled as a step is
		n.Turn, n.Number = numbers.Turn, numbers.Step
		return n, err
	case TimerAction, TimerReview:
		step, err := parseStep(rest)
		n.Step = step
		return n, err
	case TimerQuestion:
		i := strings.LastIndexByte(rest, '-')
		number, ok := parseNumber(rest[i+1:])
		if i < 0 || !ok {
			return TimerName{}, fmt.Errorf("timer %.70q: want a call and a number", s)
		}
		var err error
		n.Number = number
		n.Call, err = events.ParseCallID(rest[:i], "-")
		return n, err
	case TimerErase, TimerDelete:
		if s != string(n.Kind) {
			return TimerName{}, fmt.Errorf("timer %.70q: want nothing behind the kind", s)
		}
		return n, nil
	}
	return TimerName{}, fmt.Errorf("timer %.70q: unknown kind", s)
}

// parseNumber reads a number that has one spelling.
func parseNumber(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == s
}

// parseStep reads the token of a step.
func parseStep(token string) (events.StepID, error) {
	turn, number, _ := strings.Cut(token, "-")
	id := events.StepID{}
	var ok [2]bool
	id.Turn, ok[0] = parseNumber(turn)
	id.Step, ok[1] = parseNumber(number)
	if !ok[0] || !ok[1] {
		return events.StepID{}, fmt.Errorf("step %.70q: want two numbers separated by %q", token, "-")
	}
	return id, nil
}
