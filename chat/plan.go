package chat

import (
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// GroupMemory is the group of tools that keep something for other chats. A model
// that only plans has none of them, whatever their flags say.
const GroupMemory = "memory"

// planInstruction tells a model that is to plan. It is the last message at each step
// anew: all that stands before it is what it was the step before, so a provider that
// keeps what it has read need not read it again.
const planInstruction = "You are in plan mode: work out a plan, and carry out nothing of it yet. " +
	"Look at whatever you need to know, and ask the user about what only they can decide. " +
	"Tools that would change something are not offered now; a call of one does not run. " +
	"When you know enough, end with the whole plan, step by step, and wait: the user decides whether it is carried out."

// mayPlan reports whether a turn in plan mode may have the tool: it changes nothing,
// or its policy lets it run unasked. Of the core's own tools the table says it.
func mayPlan(t events.Tool) bool {
	if b, ok := builtInOf(t); ok {
		return b.planning
	}
	return t.Group != GroupMemory && (t.ReadOnly || t.Policy == events.PolicyAllow)
}

// planTools are those of the tools that a turn in plan mode has.
func planTools(tools []events.Tool) []events.Tool {
	return slices.DeleteFunc(tools, func(t events.Tool) bool { return !mayPlan(t) })
}

// instructed are the messages behind all others of an answer's prompt. They are no
// part of the conversation: nobody said them, and no summary is about them.
func instructed(settings events.Effective) []model.Message {
	if !settings.Plan {
		return nil
	}
	return []model.Message{{Role: model.RoleUser, Instruction: true, Parts: []events.Part{events.Text(planInstruction)}}}
}

// Plan reports whether the chat's turns are to plan only, from the next one on.
func (s State) Plan() bool { return s.f.Plan }
