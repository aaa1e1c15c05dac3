package verify_test

import (
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
)

// skillStory is a chat in which one skill is named and another is viewed.
func skillStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Live.Windows = nil
	c.Live.Skills, _ = chatgen.Skills()
	c.Create(events.Settings{})
	c.Send("use $csv")
	c.Answer(chatgen.Call(chat.ToolViewSkill, `{"name":"pdf"}`))
	c.Answer(events.Text("That is all."))
	return over(t, c)
}

func skillMutations() []mutation {
	activated := func(do func(*events.SkillActivated)) func(log) log {
		return func(l log) log {
			return change(l, 1, do)
		}
	}
	return []mutation{
		{verify.RulePrompts, "changed: a skill is activated that was not offered", skillStory, activated(func(e *events.SkillActivated) { e.Skill = "xls" })},
		{verify.RulePrompts, "changed: it is activated with another text", skillStory, activated(func(e *events.SkillActivated) { e.Digest = events.DigestOf([]byte("x")) })},
		{verify.RuleSteps, "changed: it is activated for a later step", skillStory, activated(func(e *events.SkillActivated) { e.Step.Step = 2 })},
		{verify.RuleBelonging, "changed: it is activated in another turn", skillStory, activated(func(e *events.SkillActivated) { e.Step.Turn = 2 })},
		{verify.RuleResults, "changed: what is viewed is of no skill", skillStory, func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Parts = []events.Part{events.Text("x")} })
		}},
	}
}
