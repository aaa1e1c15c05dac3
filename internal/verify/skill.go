package verify

import (
	"slices"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// skillActivated judges I6 and I16 for a skill that a model is given to read: before
// a step of its turn, once, and as the turn was offered it.
func (h *history) skillActivated(e events.SkillActivated) {
	if !h.belongs(e.Step.Turn, e) {
		return
	}
	t := h.turn
	if open := t.open(); open != nil {
		h.breaks(RuleSteps, open.requested, "step %s is given a skill before step %s is settled", e.Step, open.id)
	}
	if e.Step.Step != t.steps+1 {
		h.breaks(RuleSteps, t.start, "step %s is given a skill where step %d.%d is the next", e.Step, t.number, t.steps+1)
	}
	if t.settings != nil && !slices.ContainsFunc(t.settings.Skills, func(skill events.Skill) bool {
		return skill.Name == e.Skill && skill.Digest == e.Digest && skill.Bytes == e.Bytes
	}) {
		h.breaks(RulePrompts, t.start, "step %s is given the skill %.80q, which turn %d was not offered so", e.Step, e.Skill, t.number)
	}
	if slices.Contains(t.skills, e) {
		h.breaks(RulePrompts, t.start, "step %s is given the skill %.80q twice", e.Step, e.Skill)
	}
	t.skills = append(t.skills, e)
	if h.skills == nil {
		h.skills = make(map[events.Digest]bool)
	}
	h.skills[e.Digest] = true
	n := 0
	for _, a := range t.skills {
		if a.Step == e.Step {
			n++
		}
	}
	if n > events.MaxActivatedSkills {
		h.breaks(RuleBounds, t.start, "step %s is given %d skills, at most %d may be", e.Step, n, events.MaxActivatedSkills)
	}
}

// showsSkill reports whether the call is one of the tool that shows skills.
func (h *history) showsSkill(c *call) bool {
	if c.name != chat.ToolViewSkill {
		return false
	}
	tool, ok := h.turn.tool(c.name)
	return !ok || tool.Group == "" && !tool.Client
}

// skillShown judges I8 and I9 for a call that shows a skill: it does so with its step,
// and shows what the turn was offered.
func (h *history) skillShown(c *call, e events.ToolCompleted) {
	what := describe(e.Call, "call")
	if _, why := h.barred(c); why != "" {
		h.breaks(RuleLicence, c.asked, "%s shows a skill, though %s", what, why)
	}
	if c.asked != h.here {
		h.breaks(RuleLicence, c.asked, "%s shows a skill later than its step", what)
	}
	if h.turn.settings == nil {
		return
	}
	for _, p := range e.Parts {
		if p.Type == events.PartText && p.Blob != "" && h.offersText(p.Blob, p.Bytes) && len(e.Parts) == 1 {
			return
		}
	}
	h.breaks(RuleResults, c.asked, "%s shows something that is of no skill of turn %d", what, h.turn.number)
}

// offersText reports whether a skill that the turn was offered has that text.
func (h *history) offersText(d events.Digest, bytes int64) bool {
	return slices.ContainsFunc(h.turn.settings.Skills, func(skill events.Skill) bool {
		return skill.Digest == d && skill.Bytes == bytes ||
			slices.ContainsFunc(skill.Files, func(f events.SkillFile) bool { return f.Digest == d && f.Bytes == bytes })
	})
}

// isSkill reports whether a message shows a skill that somebody activated.
func (h *history) isSkill(m model.Message) bool {
	return m.Role == model.RoleUser && len(m.Parts) == 3 && h.skills[m.Parts[1].Blob]
}

// keepsSkills judges I15 for skills: a summary ends none of the newest.
func (h *history) keepsSkills(before, after []model.Message) {
	var active []model.Message // each as it was shown last
	for _, m := range before {
		if h.isSkill(m) {
			active = append(slices.DeleteFunc(active, func(other model.Message) bool { return other.Parts[0].Text == m.Parts[0].Text }), m)
		}
	}
	for _, m := range active[max(0, len(active)-events.MaxActivatedSkills):] {
		if !contains(after, m) {
			h.breaks(RuleCompaction, Place{}, "a skill that was active before a summary is not shown behind it")
		}
	}
}

func contains(list []model.Message, m model.Message) bool {
	return slices.ContainsFunc(list, func(other model.Message) bool { return isSame(other, m) })
}
