package replay

import (
	"errors"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// known is what the log has said so far that a state does not tell.
type known struct {
	settings map[events.Digest]events.Effective
	starts   map[events.CallID]events.ToolStarted // the newest of each open call
	rules    rules                                // of the newest turn
}

type rules struct{ decisions, prompts int }

func newKnown() known {
	return known{settings: make(map[events.Digest]events.Effective), starts: make(map[events.CallID]events.ToolStarted)}
}

func (k *known) read(c events.Commit) {
	for _, e := range c.Events {
		switch e := e.(type) {
		case events.TurnStarted:
			k.rules = rules{e.Rules, e.PromptRules}
			if e.Settings.Body != nil {
				k.settings[e.Settings.Digest] = *e.Settings.Body
			}
		case events.ToolStarted:
			k.starts[e.Call] = e
		case events.ToolCompleted:
			delete(k.starts, e.Call)
		case events.ChatCreated, events.ChatInherited, events.ChatConfigured, events.ChatTitled, events.ChatArchived, events.ChatUnarchived,
			events.CommandRejected, events.CommandNoted, events.InputAccepted, events.InputEdited,
			events.InputPromoted, events.InputSteered, events.InputWithdrawn, events.BranchSelected,
			events.TurnInterruptRequested, events.TurnCompleted, events.TurnFailed, events.TurnInterrupted,
			events.StepRequested, events.StepCompleted, events.StepFailed, events.StepInterrupted, events.ToolRequested,
			events.QuestionAsked, events.QuestionHeld, events.QuestionAnswered, events.ApprovalRequested, events.ApprovalResolved, events.ModeSet,
			events.ChatEraseRequested, events.ChatErased, events.ContentDeleted, events.ActionRequested, events.AgentNamed, events.SkillActivated, events.BudgetReached, events.BudgetExtended, events.ChatSpawned, events.ChildSpawned, events.ChildEnded,
			events.ContextCompacted, events.ContextCompactionFailed, events.ContextCleared, events.ContextRestored:
			// Nothing that a message is made from.
		}
	}
}

// otherRules reports whether the commit belongs to a turn that ran by rules which
// this release would not run it by.
func (k *known) otherRules(s chat.State, c events.Commit) bool {
	if _, running := s.Running(); running && !k.rules.ours() {
		return true
	}
	for _, e := range c.Events {
		start, ok := e.(events.TurnStarted)
		if !ok {
			continue
		}
		got := k.effective(start)
		if !(rules{start.Rules, start.PromptRules}).ours() || start.Rules != chat.RulesOf(got) {
			return true
		}
	}
	return false
}

// ours reports whether this release can decide by the rules.
func (r rules) ours() bool {
	return r.decisions >= 1 && r.decisions <= chat.Rules && r.prompts == chat.PromptRules
}

// effective is what a turn runs with.
func (k *known) effective(start events.TurnStarted) events.Effective {
	if start.Settings.Body != nil {
		return *start.Settings.Body
	}
	return k.settings[start.Settings.Digest]
}

// live is a configuration under which the turn that the commit starts gets what
// it got. It serves as defaults only, so that what the chat's users have asked
// for must still be in what it comes to.
func (k *known) live(c events.Commit) chat.Live {
	agents := map[string]events.Settings{}
	for _, e := range c.Events {
		if named, ok := e.(events.AgentNamed); ok {
			agents[named.Agent] = events.Settings{}
		}
	}
	for _, e := range c.Events {
		start, ok := e.(events.TurnStarted)
		if !ok {
			continue
		}
		got := k.effective(start)
		limits := got.Limits
		if got.Agent != "" && !got.NoAgent {
			agents[got.Agent] = events.Settings{Tools: namesOf(got.Tools)} // so that it may be what asked for tools of the core
		}
		return chat.Live{
			Defaults: events.Settings{
				Model: got.Model, System: got.System, Approval: got.Approval, Limits: &limits, Reviewer: got.Reviewer, Titler: got.Titler,
				Skills: skillsOf(got.Skills),
				Tools:  namesOf(got.Tools), // those of the core are there only for who names them
				Budget: &got.Budget, ChatBudget: &got.ChatBudget,
			},
			Agents:  agents,
			Tools:   got.Tools,
			Skills:  got.Skills,
			Pools:   map[string]string{got.Model: got.Pool, got.Reviewer: got.ReviewerPool, got.Titler: got.TitlerPool},
			Windows: map[string]chat.Window{got.Model: {Tokens: got.Window, CompactAt: got.CompactAt}},
		}
	}
	return chat.Live{Agents: agents}
}

func namesOf(tools []events.Tool) *[]string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return &names
}

func skillsOf(skills []events.Skill) *[]string {
	names := make([]string, len(skills))
	for i, skill := range skills {
		names[i] = skill.Name
	}
	return &names
}

func isNewer(err error) bool {
	_, newer := errors.AsType[*events.VersionError](err)
	return newer
}
