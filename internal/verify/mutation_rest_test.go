package verify_test

import (
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
)

// restMutations are those of I18 and I20.
func restMutations() []mutation {
	long := strings.Repeat("x", events.MaxInlineBytes)
	return []mutation{
		{verify.RuleTenants, "dropped: the digest of a turn's settings", nil, func(l log) log {
			return change(l, 2, func(e *events.TurnStarted) { e.Settings.Digest = "none" })
		}},
		{verify.RuleTenants, "dropped: the settings themselves", nil, func(l log) log {
			return change(l, 1, func(e *events.TurnStarted) { e.Settings.Body = nil })
		}},
		{verify.RuleTenants, "repeated: a commit of another tenant", nil, func(l log) log {
			again := l.repeatCommit(0)
			again[1].Key.Tenant = "other"
			return again
		}},
		{verify.RuleTenants, "swapped: tenant and chat of a commit", nil, func(l log) log {
			l[2].Key = events.Key{Tenant: ann.Chat, Chat: ann.Tenant}
			return l
		}},
		{verify.RuleTenants, "changed: a manifest's digest", nil, func(l log) log {
			return change(l, 1, func(e *events.ToolRequested) { e.Manifest = "sha256:0" })
		}},
		{verify.RuleTenants, "moved: content to a name that is no digest", nil, func(l log) log {
			return change(l, 1, func(e *events.InputAccepted) {
				e.Parts = []events.Part{{Type: events.PartText, Blob: "../other", Bytes: 9}}
			})
		}},

		{verify.RuleTenants, "changed: settings under the same digest", nil, func(l log) log {
			return tool(l, chatgen.ToolAppend, func(t *events.Tool) { t.TimeoutMS++ })
		}},

		{verify.RuleBounds, "dropped: room for the steps of a turn", nil, func(l log) log {
			return change(l, 1, func(e *events.TurnStarted) {
				body := *e.Settings.Body
				body.Limits.Steps = 1
				e.Settings.Body = &body
			})
		}},
		{verify.RuleBounds, "repeated: an input, more often than may wait", nil, func(l log) log {
			s := nth[events.InputAccepted](l, 2)
			for i := range events.MaxWaitingInputs {
				e := l.at(s).(events.InputAccepted)
				e.Input = ulid(uint64(i))
				l = l.insert(s, e)
			}
			return l
		}},
		{verify.RuleBounds, "swapped: an input with one too long for the log", nil, func(l log) log {
			return change(l, 1, func(e *events.InputAccepted) { e.Parts = []events.Part{events.Text(long + "x")} })
		}},
		{verify.RuleBounds, "changed: a result to one too long for the model", nil, func(l log) log {
			return change(l, 2, func(e *events.ToolCompleted) { e.Parts = []events.Part{events.Text(long)} })
		}},
		{verify.RuleBounds, "changed: an error's message to one too long for people", nil, func(l log) log {
			return change(l, 1, func(e *events.TurnFailed) { e.Message = long })
		}},
		{verify.RuleBounds, "changed: the number of an attempt", nil, func(l log) log {
			return change(l, 3, func(e *events.StepRequested) { e.Attempt = events.MaxAttemptsPerStep + 1 })
		}},
		{verify.RuleBounds, "moved: a call's deadline out of sight", nil, func(l log) log {
			return change(l, 1, func(e *events.ToolRequested) { e.Deadline = e.Deadline.Add(time.Hour) })
		}},
		{verify.RuleBounds, "moved: a retry out of sight", nil, func(l log) log {
			return change(l, 1, func(e *events.StepFailed) { e.RetryAt = e.RetryAt.Add(2 * time.Hour) })
		}},
		{verify.RuleBounds, "moved: the end of an interrupt out of sight", nil, func(l log) log {
			return change(l, 1, func(e *events.TurnInterruptRequested) { e.Due = e.Due.Add(time.Second) })
		}},
		{verify.RuleBounds, "moved: a retry into the past", nil, func(l log) log {
			return change(l, 1, func(e *events.StepFailed) { e.RetryAt = e.RetryAt.Add(-time.Minute) })
		}},
		{verify.RuleBounds, "repeated: a quick retry, more often than may be", brokenStory, func(l log) log {
			sixth := nth[events.StepFailed](l, events.MaxQuickRetries+1).commit
			return change(l, events.MaxQuickRetries+1, func(e *events.StepFailed) { e.RetryAt = l[sixth].At.Add(5 * time.Second) })
		}},
		{verify.RuleBounds, "changed: a broken stream to a failure that is not tried again quickly", brokenStory, func(l log) log {
			return change(l, events.MaxQuickRetries, func(e *events.StepFailed) { e.Class = events.ClassOverloaded })
		}},
		{verify.RuleBounds, "moved: the end of an interrupt to the request", nil, func(l log) log {
			at := l[nth[events.TurnInterruptRequested](l, 1).commit].At
			return change(l, 1, func(e *events.TurnInterruptRequested) { e.Due = at })
		}},
		{verify.RuleBounds, "changed: a title to one too long", nil, func(l log) log {
			return change(l, 1, func(e *events.ChatTitled) { e.Title = long })
		}},
		{verify.RuleBounds, "changed: the settings of a chat to what no command may bring", nil, func(l log) log {
			return change(l, 1, func(e *events.ChatCreated) {
				e.Settings = events.Settings{Model: long, System: long + "x", Limits: &events.Limits{Steps: -1}}
			})
		}},
		{verify.RuleBounds, "repeated: the parts of an input, more often than may be", nil, func(l log) log {
			return change(l, 1, func(e *events.InputAccepted) { e.Parts = slices.Repeat(e.Parts, 129) })
		}},
	}
}
