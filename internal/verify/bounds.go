package verify

import (
	"time"
	"unicode/utf8"

	"github.com/everturn/everturn/events"
)

// maxRetryDelay is the longest a retry may wait: what a provider may ask for,
// and the fifth that is added to spread retries.
const maxRetryDelay = events.MaxRetryFor + events.MaxRetryFor/5

func (h *history) size(e Entry) {
	if n := len(e.Commit); n > events.MaxCommitBytes {
		h.breaks(RuleBounds, Place{}, "the commit has %d bytes, at most %d may be", n, events.MaxCommitBytes)
	}
}

// eventSize judges what an event holds against the limits of I20.
func (h *history) eventSize(e events.Event) {
	h.parts(events.Parts(e))
	switch e := e.(type) {
	case events.CommandRejected:
		h.message(e.Message)
	case events.TurnFailed:
		h.message(e.Message)
	case events.StepFailed:
		h.message(e.Message)
	case events.StepRequested:
		if e.Attempt > events.MaxAttemptsPerStep {
			h.breaks(RuleBounds, Place{}, "step %s has %d attempts, at most %d may be", e.Step, e.Attempt, events.MaxAttemptsPerStep)
		}
	case events.StepInterrupted:
		if n := textBytes(e.Parts); n > events.MaxPartialBytes {
			h.breaks(RuleBounds, Place{}, "interrupted step %s keeps %d bytes, at most %d may be", e.Step, n, events.MaxPartialBytes)
		}
	case events.ToolCompleted:
		if n := textBytes(e.Parts); n > events.MaxResultBytes {
			h.breaks(RuleBounds, Place{}, "result of call %s shows %d bytes, at most %d may be", e.Call, n, events.MaxResultBytes)
		}
	}
}

func (h *history) message(text string) {
	if n := utf8.RuneCountInString(text); n > events.MaxErrorChars {
		h.breaks(RuleBounds, Place{}, "a message has %d characters, at most %d may be", n, events.MaxErrorChars)
	}
}

func (h *history) parts(parts []events.Part) {
	for i, p := range parts {
		inline := max(len(p.Text), len(p.Arguments), len(p.JSON), len(p.Opaque))
		if inline > events.MaxInlineBytes {
			h.breaks(RuleBounds, Place{}, "part %d has %d bytes in the log, at most %d may be", i, inline, events.MaxInlineBytes)
		}
		if p.Type == events.PartCall && p.Bytes > events.MaxArgumentsBytes {
			h.breaks(RuleBounds, Place{}, "part %d has arguments of %d bytes, at most %d may be", i, p.Bytes, events.MaxArgumentsBytes)
		}
	}
}

func textBytes(parts []events.Part) int {
	n := 0
	for _, p := range parts {
		n += len(p.Text) + len(p.JSON)
	}
	return n
}

// delay judges how long a retry waits, counted from the failure's commit.
func (h *history) delay(e events.StepFailed) {
	if d := e.RetryAt.Sub(h.at); d > maxRetryDelay {
		h.breaks(RuleBounds, Place{}, "the retry after attempt %d of step %s waits %s, at most %s may be", e.Attempt, e.Step, d, maxRetryDelay)
	}
}

// deadline judges when a call that is handed out is settled without its runner.
func (h *history) deadline(e events.ToolRequested) {
	most := time.Duration(e.TimeoutMS)*time.Millisecond + events.Dead
	if d := e.Deadline.Sub(h.at); e.Deadline == 0 || d > most {
		h.breaks(RuleBounds, Place{}, "the deadline of call %s is %s away, at most %s may be", e.Call, d, most)
	}
}
