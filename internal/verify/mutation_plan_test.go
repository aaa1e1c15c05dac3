package verify_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// planStory is a chat that plans in its first two turns: what may run does, what
// may not is not found, and a person is asked. The third turn carries it out.
func planStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{})
	c.Command(protocol.SetMode{V: protocol.Version, Plan: new(true)})
	c.Send("one")
	c.Answer(chatgen.Call(chatgen.ToolAppend, ""), chatgen.Call(chatgen.ToolAsk, ""), chatgen.Call(chatgen.ToolRead, ""))
	c.Claim(call(1), 1)
	c.Result(call(1), events.ToolOK, "done")
	c.Claim(call(3), 1)
	c.Result(call(3), events.ToolOK, "done")
	c.Answer(chatgen.Call(chat.ToolAskUser, chatgen.ArgumentsQuestion))
	c.Fire()
	c.Answer(events.Text("a plan"))
	c.Send("two")
	c.Answer(events.Text("a better plan"))
	c.Command(protocol.SetMode{V: protocol.Version, Plan: new(false)})
	c.Send("three")
	c.Answer(events.Text("done"))
	return over(t, c)
}

// planMutations are what plan mode adds to I9 and I16.
func planMutations() []mutation {
	of := func(rule verify.Rule, name string, mutate func(log) log) mutation {
		return mutation{rule, name, planStory, mutate}
	}
	settings := func(with func(*events.Effective)) func(log) log {
		return func(l log) log {
			return change(l, 1, func(e *events.TurnStarted) {
				body := *e.Settings.Body
				body.Tools = slices.Clone(body.Tools)
				with(&body)
				e.Settings.Body = &body
			})
		}
	}
	return []mutation{
		of(verify.RuleLicence, "dropped: the wish for a plan", func(l log) log { return l.drop(nth[events.ModeSet](l, 1)) }),
		of(verify.RuleLicence, "dropped: the end of planning", func(l log) log { return l.drop(nth[events.ModeSet](l, 2)) }),
		of(verify.RuleLicence, "changed: a turn that is to plan has a tool that asks", settings(func(e *events.Effective) {
			e.Tools = append(e.Tools, events.Tool{Name: "write", Group: "test", Manifest: e.Tools[0].Manifest, TimeoutMS: 1, Policy: events.PolicyAsk})
		})),
		of(verify.RuleLicence, "changed: a turn that is to plan has a tool that remembers", settings(func(e *events.Effective) {
			e.Tools = append(e.Tools, events.Tool{
				Name: "write", Group: chat.GroupMemory, Manifest: e.Tools[0].Manifest, TimeoutMS: 1, ReadOnly: true, Policy: events.PolicyAllow,
			})
		})),
		of(verify.RuleLicence, "changed: a turn that is to plan cannot ask", settings(func(e *events.Effective) {
			e.Tools = slices.DeleteFunc(e.Tools, func(tool events.Tool) bool { return tool.Name == chat.ToolAskUser })
		})),
		of(verify.RulePrompts, "changed: a turn that is to plan does not say so", settings(func(e *events.Effective) { e.Plan = false })),
		of(verify.RuleApprovals, "changed: a mode that is none", func(l log) log {
			return change(l, 1, func(e *events.ModeSet) { e.Plan = nil })
		}),
	}
}
