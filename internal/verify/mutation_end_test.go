package verify_test

import (
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/verify"
)

// endMutations are those of I12 and I14 that are about how a turn begins and ends.
func endMutations() []mutation {
	finish := func(f events.Finish) func(log) log {
		return func(l log) log { return change(l, 2, func(e *events.TurnCompleted) { e.Finish = f }) }
	}
	return []mutation{
		{verify.RuleOutcomes, "changed: a finish to one that means nothing", nil, finish("happily")},
		{verify.RuleOutcomes, "changed: a finish to one by a tool, and none ends turns", nil, finish(events.FinishStopAfterTool)},
		{verify.RuleOutcomes, "changed: a finish to a refusal, and nobody refused", nil, finish(events.FinishRefused)},
		{verify.RuleOutcomes, "repeated: a final answer", nil, func(l log) log {
			s := nth[events.StepCompleted](l, 2)
			asked, said := l.at(nth[events.StepRequested](l, 5)).(events.StepRequested), l.at(s).(events.StepCompleted)
			asked.Step = events.StepID{Turn: 1, Step: 3}
			asked.Attempt, said.Step, said.Attempt = 1, asked.Step, 1
			l = l.insert(s, asked)
			return l.insert(spot{s.commit, s.event + 1}, said)
		}},
		{verify.RuleOutcomes, "dropped: what a retry follows", nil, func(l log) log {
			return change(l, 4, func(e *events.TurnStarted) { e.Parent = 0 })
		}},
		{verify.RuleOutcomes, "changed: a retry that takes inputs", nil, func(l log) log {
			return change(l, 4, func(e *events.TurnStarted) { e.Inputs = []string{ulid(1)} })
		}},
		{verify.RuleOutcomes, "changed: the cause of a turn to none that is known", nil, func(l log) log {
			return change(l, 1, func(e *events.TurnStarted) { e.Cause = "boredom" })
		}},
		{verify.RuleOutcomes, "changed: a failure to one that will be tried again", nil, func(l log) log {
			return change(l, 3, func(e *events.StepFailed) { e.Class, e.RetryAt = events.ClassOverloaded, e.RetryAt+1 })
		}},
		{verify.RuleInterrupts, "changed: an interrupted turn to one that is complete", nil, func(l log) log {
			s := nth[events.TurnInterrupted](l, 1)
			l[s.commit].Events[s.event] = events.TurnCompleted{Turn: 2, Finish: events.FinishComplete}
			return l
		}},
		{verify.RuleInterrupts, "changed: an interrupted turn to one that fails", nil, func(l log) log {
			s := nth[events.TurnInterrupted](l, 1)
			l[s.commit].Events[s.event] = events.TurnFailed{Turn: 2, Class: events.ClassUnknown}
			return l
		}},
		{verify.RuleOutcomes, "changed: a turn with a final answer to one that is interrupted", nil, func(l log) log {
			s := nth[events.TurnCompleted](l, 1)
			l[s.commit].Events[s.event] = events.TurnInterrupted{Turn: 1}
			return l
		}},
	}
}
