package verify

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everturn/everturn/events"
)

func (h *history) size(e Entry) {
	if n := len(e.Commit); n > events.MaxCommitBytes {
		h.breaks(RuleBounds, Place{}, "the commit has %d bytes, at most %d may be", n, events.MaxCommitBytes)
	}
}

// eventSize judges what an event holds against the limits of I20.
func (h *history) eventSize(e events.Event) {
	h.parts(events.Parts(e))
	switch e := e.(type) {
	case events.ChatCreated:
		h.title(e.Title)
		h.wishes(&e.Settings)
	case events.ChatSpawned:
		h.title(e.Title)
		h.wishes(&e.Settings)
	case events.ChatConfigured:
		h.wishes(&e.Settings)
	case events.ChatTitled:
		h.title(e.Title)
	case events.InputAccepted:
		if n := len(e.Parts); n > maxInputParts {
			h.breaks(RuleBounds, Place{}, "input %s has %d parts, at most %d may be", e.Input, n, maxInputParts)
		}
		h.wishes(e.Settings)
	case events.InputEdited:
		if n := len(e.Parts); n > maxInputParts {
			h.breaks(RuleBounds, Place{}, "input %s has %d parts, at most %d may be", e.Input, n, maxInputParts)
		}
	case events.TurnInterruptRequested:
		h.message(e.Reason)
	case events.CommandRejected:
		h.message(e.Message)
	case events.TurnFailed:
		h.message(e.Message)
	case events.StepFailed:
		h.message(e.Message)
	case events.ContextCompactionFailed:
		h.message(e.Message)
	case events.StepRequested:
		if e.Attempt > events.MaxAttemptsPerStep {
			h.breaks(RuleBounds, Place{}, "step %s has %d attempts, at most %d may be", e.Step, e.Attempt, events.MaxAttemptsPerStep)
		}
	case events.StepCompleted:
		if n := len(strings.Join(e.RawUsage, "")); n > events.MaxRawUsageBytes {
			h.breaks(RuleBounds, Place{}, "step %s keeps reports of usage of %d bytes, at most %d may be", e.Step, n, events.MaxRawUsageBytes)
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

// Limits that stand nowhere else: what a command may bring into a log.
const (
	maxTitleChars  = 200
	maxInputParts  = 128
	maxSystemBytes = 64 << 10
	maxModelBytes  = 128
	maxTurnTools   = 128
)

func (h *history) title(text string) {
	if n := utf8.RuneCountInString(text); n > maxTitleChars {
		h.breaks(RuleBounds, Place{}, "a title has %d characters, at most %d may be", n, maxTitleChars)
	}
}

// wishes judges settings that came with a command, if any did.
func (h *history) wishes(s *events.Settings) {
	if s == nil {
		return
	}
	if n := len(s.System); n > maxSystemBytes {
		h.breaks(RuleBounds, Place{}, "settings have instructions of %d bytes, at most %d may be", n, maxSystemBytes)
	}
	if n := len(s.Model); n > maxModelBytes {
		h.breaks(RuleBounds, Place{}, "settings name a model with %d bytes, at most %d may be", n, maxModelBytes)
	}
	if s.Tools != nil && len(*s.Tools) > maxTurnTools {
		h.breaks(RuleBounds, Place{}, "settings name %d tools, at most %d may be", len(*s.Tools), maxTurnTools)
	}
	if l := s.Limits; l != nil && (l.Steps < 0 || l.Steps > events.MaxStepsPerTurn || l.OutputTokens < 0) {
		h.breaks(RuleBounds, Place{}, "settings have the limits %+v", *l)
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

// deadline judges when a call that is handed out is settled without its runner.
func (h *history) deadline(e events.ToolRequested) {
	most := time.Duration(e.TimeoutMS)*time.Millisecond + events.Dead
	if d := e.Deadline.Sub(h.at); e.Deadline == 0 || d > most {
		h.breaks(RuleBounds, Place{}, "the deadline of call %s is %s away, at most %s may be", e.Call, d, most)
	}
}
