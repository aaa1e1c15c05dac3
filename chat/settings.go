package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
)

// MaxTools is how many tools a turn may have, and so how many can be on offer:
// they are all written down when a turn starts.
const MaxTools = 128

// maxModelBytes bounds the name of a model.
const maxModelBytes = 128

// InvalidSettings is what [WrongSettings] says, in one text; empty if nothing is wrong.
func InvalidSettings(s events.Settings) string { return strings.Join(WrongSettings(s), "; ") }

// WrongSettings says everything that is wrong with settings, each beginning with the
// place. It does not ask whether a model or tool exists: that may change until the
// turn starts.
func WrongSettings(s events.Settings) []string {
	var wrong []string
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if s.Agent != "" {
		if err := events.ValidateAgent(s.Agent); err != nil {
			add("agent: %v", err)
		}
	}
	switch s.Approval {
	case "", events.ApprovalAsk, events.ApprovalAuto, events.ApprovalFull:
	default:
		add("approval: %.20q, want ask, auto or full", s.Approval)
	}
	for _, of := range []struct{ place, name string }{{"model", s.Model}, {"reviewer", s.Reviewer}, {"titler", s.Titler}} {
		if len(of.name) > maxModelBytes || events.RepairText(of.name) != of.name {
			add("%s: want at most %d bytes of plain text", of.place, maxModelBytes)
		}
	}
	if len(s.System) > maxSystemBytes {
		add("system: %d bytes, at most %d are allowed", len(s.System), maxSystemBytes)
	} else if events.RepairText(s.System) != s.System {
		add("system: has characters that are not text")
	}
	if s.Tools != nil && len(*s.Tools) > MaxTools {
		add("tools: %d names, at most %d are allowed", len(*s.Tools), MaxTools)
	}
	wrong = append(wrong, wrongSkills(s.Skills)...)
	if s.ClientTools != nil {
		if of := wrongClientTools(*s.ClientTools); of != "" {
			add("%s", of)
		}
	}
	wrong = append(wrong, wrongBudgets(s)...)
	if s.Limits != nil {
		wrong = append(wrong, wrongLimits(*s.Limits)...)
	}
	return wrong
}

// wrongSkills says what is wrong with the names of skills.
func wrongSkills(names *[]string) []string {
	if names == nil {
		return nil
	}
	if len(*names) > events.MaxSkills {
		return []string{fmt.Sprintf("skills: %d names, at most %d are allowed", len(*names), events.MaxSkills)}
	}
	var wrong []string
	for _, name := range *names {
		if err := events.ValidateSkill(name); err != nil {
			wrong = append(wrong, fmt.Sprintf("skills: %.80q: %v", name, err))
		}
	}
	return wrong
}

// wrongLimits says what is wrong with limits.
func wrongLimits(l events.Limits) []string {
	var wrong []string
	if l.Steps < 0 || l.Steps > events.MaxStepsPerTurn {
		wrong = append(wrong, fmt.Sprintf("limits.steps: want 0 to %d", events.MaxStepsPerTurn))
	}
	if l.OutputTokens < 0 {
		wrong = append(wrong, "limits.output_tokens: want 0 or more")
	}
	if most := events.MaxApprovalTime.Milliseconds(); l.ApprovalMS < 0 || l.ApprovalMS > most {
		wrong = append(wrong, fmt.Sprintf("limits.approval_ms: want 0 to %d", most))
	}
	return wrong
}

// invalidWishes is [InvalidSettings] for those of a single input.
func invalidWishes(s events.Settings) string {
	if s.ChatBudget != nil {
		return "chat_budget: it is the chat's, and no input's"
	}
	return InvalidSettings(s)
}

// turnStarted is the start of the next turn, with the settings in force.
func (s State) turnStarted(cause events.TurnCause, inputs []input, at events.Time, live Live) events.TurnStarted {
	e := events.TurnStarted{Turn: s.newest() + 1, Cause: cause, PromptRules: PromptRules, At: at}
	over := s.f.Settings
	if t := s.tip(); t != nil {
		e.Parent = t.Number
		if s.rolledBack(t.Number) {
			e.Parent = t.Parent
		}
	}
	if len(inputs) > 0 {
		over = over.Merge(s.wishedBy(inputs[0]))
	} else {
		over = over.Merge(s.wished()) // what was wished for the turn it goes on with
	}
	for _, in := range inputs {
		e.Inputs = append(e.Inputs, in.ID)
	}
	merged, missing := live.merge(over)
	effective := resolve(merged, live, s.f.Plan)
	effective.NoAgent, effective.Tools = missing, atDepth(effective.Tools, s.depth())
	if p := s.f.Spawned; p != nil && e.Turn == 1 {
		effective.Budget = tighter(effective.Budget, p.Granted)
	}
	e.Rules, e.Settings.Digest = RulesOf(effective), digestOf(effective)
	if !slices.ContainsFunc(s.f.Bodies, func(b body) bool { return b.Digest == e.Settings.Digest }) {
		e.Settings.Body = &effective
	}
	return e
}

// resolve makes settings into what a turn runs with.
func resolve(s events.Settings, live Live, plan bool) events.Effective {
	e := events.Effective{
		Agent: s.Agent, Model: s.Model, System: s.System, Approval: s.Approval, Pool: live.Pools[s.Model], Plan: plan,
	}
	if e.Approval == "" {
		e.Approval = events.ApprovalAuto
	}
	if e.Pool == "" {
		e.Pool = DefaultPool
	}
	if s.Reviewer != events.ReviewerNone {
		e.Reviewer = s.Reviewer
	}
	if e.Reviewer != "" {
		e.ReviewerPool = cmp.Or(live.Pools[e.Reviewer], DefaultPool)
	}
	if s.Titler != events.TitlerNone {
		e.Titler = s.Titler
	}
	if e.Titler != "" {
		e.TitlerPool = cmp.Or(live.Pools[e.Titler], DefaultPool)
	}
	window, ok := live.Windows[s.Model]
	if !ok {
		window = live.Windows[""]
	}
	e.Window, e.CompactAt = window.Tokens, window.CompactAt
	if s.Limits != nil {
		e.Limits = *s.Limits
	}
	if e.Limits.Steps == 0 {
		e.Limits.Steps = events.MaxStepsPerTurn
	}
	e.Budget, e.ChatBudget = limits(s.Budget), limits(s.ChatBudget)
	e.Skills = offeredSkills(s, live)
	e.Tools = offeredTools(s, live, plan, len(e.Skills) > 0)
	if s.ClientTools != nil {
		e.ClientTools = *s.ClientTools
	}
	return e
}

// digestOf is the digest of a value's JSON.
func digestOf(v any) events.Digest {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("chat: %T without JSON: %v", v, err)) // plain structs only
	}
	return events.DigestOf(b)
}
