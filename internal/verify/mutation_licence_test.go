package verify_test

import (
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
)

// tool changes a tool of the first turn.
func tool(l log, name string, with func(*events.Tool)) log {
	return change(l, 1, func(e *events.TurnStarted) {
		body := *e.Settings.Body
		body.Tools = slices.Clone(body.Tools)
		i := slices.IndexFunc(body.Tools, func(t events.Tool) bool { return t.Name == name })
		with(&body.Tools[i])
		e.Settings.Body = &body
	})
}

// licenceMutations are those of I9 that are about running, and those of I11.
func licenceMutations() []mutation {
	return []mutation{
		{verify.RuleLicence, "dropped: the start of a call", nil, func(l log) log { return l.drop(nth[events.ToolStarted](l, 3)) }},
		{verify.RuleLicence, "dropped: the handing out of a call", lengthStory, func(l log) log { return l.drop(nth[events.ToolRequested](l, 1)) }},
		{verify.RuleLicence, "repeated: a start after the result", nil, func(l log) log {
			return l.insert(nth[events.ToolCompleted](l, 2), l.at(nth[events.ToolStarted](l, 1)))
		}},
		{verify.RuleLicence, "swapped: the handing out of a call and its start", nil, func(l log) log {
			return l.swap(nth[events.ToolRequested](l, 3), nth[events.ToolStarted](l, 3))
		}},
		{verify.RuleLicence, "changed: the claim that a call started under", nil, func(l log) log {
			return change(l, 1, func(e *events.ToolStarted) { e.Claim = "another" })
		}},
		{verify.RuleLicence, "changed: the answer with the call was cut off", nil, func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) { e.Stop = events.StopLength })
		}},
		{verify.RuleLicence, "changed: the arguments are no object", nil, func(l log) log {
			l = change(l, 1, func(e *events.StepCompleted) {
				e.Parts = slices.Clone(e.Parts)
				e.Parts[0].Arguments = chatgen.ArgumentsCut
			})
			return change(l, 1, func(e *events.ToolRequested) { e.Arguments = events.DigestOf([]byte(chatgen.ArgumentsCut)) })
		}},
		{verify.RuleLicence, "changed: the tool needs a person", nil, func(l log) log {
			return tool(l, chatgen.ToolAppend, func(t *events.Tool) { t.Policy = events.PolicyAsk })
		}},
		{verify.RuleLicence, "changed: the tool is called idempotent", nil, func(l log) log {
			return change(l, 3, func(e *events.ToolRequested) { e.Idempotent = true })
		}},
		{verify.RuleLicence, "changed: a call that was running is called cancelled", nil, func(l log) log {
			return change(l, 5, func(e *events.ToolCompleted) { e.Status = events.ToolCancelled })
		}},
		{verify.RuleLicence, "changed: a call that never began is called unknown", nil, func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Status = events.ToolUnknown })
		}},
		{verify.RuleLicence, "changed: the claim that gave a call up is its own", lostStory, func(l log) log {
			start := l.at(nth[events.ToolStarted](l, 1)).(events.ToolStarted)
			l[nth[events.ToolCompleted](l, 1).commit].Cause.ID = start.Claim
			return l
		}},
		{verify.RuleLicence, "changed: a call is given up while it may still begin", lostStory, func(l log) log {
			return change(l, 1, func(e *events.ToolStarted) { e.At = e.At.Add(events.Skew) })
		}},
		{verify.RuleLicence, "moved: a start past the result", nil, func(l log) log {
			return l.move(nth[events.ToolStarted](l, 3), nth[events.ToolCompleted](l, 4))
		}},

		{verify.RuleOnce, "repeated: the start of a call", nil, func(l log) log { return l.repeat(nth[events.ToolStarted](l, 3)) }},
		{verify.RuleOnce, "repeated: the start under another claim", nil, func(l log) log {
			again := l[nth[events.ToolStarted](l, 3).commit]
			again.Cause.ID = "another"
			e := again.Events[0].(events.ToolStarted)
			e.Claim, e.Delivery = "another", 2
			again.ID, again.Events = ulid(2), []events.Event{e}
			return slices.Insert(l, nth[events.ToolStarted](l, 3).commit+1, again)
		}},
		{verify.RuleOnce, "moved: a start past the result unknown", nil, func(l log) log {
			return l.move(nth[events.ToolStarted](l, 4), nth[events.ToolCompleted](l, 5))
		}},
		{verify.RuleOnce, "swapped: a start and the result unknown", nil, func(l log) log {
			return l.swap(nth[events.ToolStarted](l, 4), nth[events.ToolCompleted](l, 5))
		}},
		{verify.RuleOnce, "changed: the call that a start is for", nil, func(l log) log {
			return change(l, 2, func(e *events.ToolStarted) { e.Call.Ordinal = 1 }).move(nth[events.ToolStarted](l, 2), nth[events.ToolStarted](l, 1))
		}},
		{verify.RuleOnce, "dropped: the delivery that a start is for", againStory, func(l log) log {
			return change(l, 1, func(e *events.ToolStarted) { e.Delivery = 0 })
		}},
		{verify.RuleOnce, "changed: the delivery that a second start is for", againStory, func(l log) log {
			return change(l, 2, func(e *events.ToolStarted) { e.Delivery = 2 })
		}},
		{verify.RuleOnce, "changed: the first delivery needs no start", againStory, func(l log) log {
			return change(l, 1, func(e *events.ToolStarted) { e.Delivery = 1 })
		}},
	}
}
