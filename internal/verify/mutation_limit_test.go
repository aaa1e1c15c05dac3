package verify_test

import (
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
)

// limitMutations are those of I20 that are about one limit each.
func limitMutations() []mutation {
	page := events.Text(strings.Repeat("x", 60<<10))
	return []mutation{
		{verify.RuleBounds, "repeated: the parts of a commit, to more than it may hold", nil, func(l log) log {
			return change(l, 1, func(e *events.InputAccepted) { e.Parts = slices.Repeat([]events.Part{page}, 9) })
		}},
		{verify.RuleBounds, "repeated: what is kept of an interrupted step, to more than may be", nil, func(l log) log {
			return change(l, 1, func(e *events.StepInterrupted) { e.Parts = slices.Repeat([]events.Part{page}, 5) })
		}},
		{verify.RuleBounds, "changed: the size of arguments that lie apart", nil, func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) {
				e.Parts = slices.Clone(e.Parts)
				e.Parts[0].Bytes = events.MaxArgumentsBytes + 1
			})
		}},
		{verify.RuleBounds, "repeated: what a provider said of usage, to more than is kept", nil, func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) {
				e.RawUsage = slices.Repeat([]string{`{"output_tokens":5}`}, events.MaxRawUsageBytes/16)
			})
		}},
		{verify.RuleBounds, "repeated: a call, more often than a step may have", nil, func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) { e.Parts = slices.Repeat(e.Parts, events.MaxCallsPerStep) })
		}},
		{verify.RuleBounds, "repeated: the start of a call that may run again, too often", againStory, func(l log) log {
			s := nth[events.ToolStarted](l, 2)
			e := l.at(s).(events.ToolStarted)
			for range events.MaxStartsIdempotent {
				e.Delivery++
				l = l.insert(s, e)
				s.event++
			}
			return l
		}},
		{verify.RuleBounds, "repeated: an attempt after the last", hopelessStory, func(l log) log {
			last := nth[events.StepFailed](l, events.MaxAttemptsPerStep)
			at := l[last.commit].At
			return change(l, events.MaxAttemptsPerStep, func(e *events.StepFailed) { e.RetryAt = at.Add(time.Minute) })
		}},
		{verify.RuleBounds, "changed: the tools of a chat to more than a turn may have", nil, func(l log) log {
			names := slices.Repeat([]string{chatgen.ToolRead}, 129)
			return change(l, 1, func(e *events.ChatCreated) { e.Settings.Tools = &names })
		}},
	}
}
