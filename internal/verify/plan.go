package verify

import (
	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// planning is whether turns only plan, and where that was said last.
type planning struct {
	since Place // unknown: nobody said it
	on    bool
}

// startsPlanning judges I9 for a turn that starts: it plans if that was wanted, and
// then has no tool that would change something unasked.
func (h *history) startsPlanning(t *turn) {
	if t.settings.Plan != h.planning.on {
		h.breaks(RuleLicence, h.planning.since, "turn %d starts with plan mode %t, wanted is %t", t.number, t.settings.Plan, h.planning.on)
	}
	if !t.settings.Plan {
		return
	}
	asks := false
	for _, tool := range t.settings.Tools {
		asks = asks || tool.Name == chat.ToolAskUser
		switch {
		case tool.Group == chat.GroupMemory, isDelegate(tool), !tool.ReadOnly && tool.Policy != events.PolicyAllow:
			h.breaks(RuleLicence, t.start, "turn %d is to plan, and has the tool %s", t.number, tool.Name)
		}
	}
	if !asks {
		h.breaks(RuleLicence, t.start, "turn %d is to plan, and cannot ask anybody", t.number)
	}
}

// told judges I16 for an answer that is asked for: the instruction of a turn that
// plans stands at the end of what its model reads, and nowhere else.
func (f *fold) told(h *history, e events.StepRequested, messages []model.Message) {
	if h.turn == nil || h.turn.settings == nil || e.Purpose != events.PurposeAnswer || e.Step.Turn != h.turn.number {
		return
	}
	for i, m := range messages {
		last := i == len(messages)-1
		if m.Instruction != (last && h.turn.settings.Plan) {
			h.breaks(RulePrompts, h.turn.start, "message %d of step %s is, or is not, the instruction of a turn that plans", i, e.Step)
		}
	}
}
