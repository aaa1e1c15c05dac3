package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/everturn/everturn/events"
)

// MaxTools is how many tools a turn may have, and so how many can be on offer:
// they are all written down when a turn starts.
const MaxTools = 128

// maxModelBytes bounds the name of a model.
const maxModelBytes = 128

// InvalidSettings says what is wrong with settings, beginning with the place, or
// nothing. It does not ask whether a model or tool exists: that may change until
// the turn starts.
func InvalidSettings(s events.Settings) string {
	if s.Agent != "" {
		if err := events.ValidateAgent(s.Agent); err != nil {
			return "agent: " + err.Error()
		}
	}
	switch s.Approval {
	case "", events.ApprovalAsk, events.ApprovalAuto, events.ApprovalFull:
	default:
		return fmt.Sprintf("approval: %.20q, want ask, auto or full", s.Approval)
	}
	if len(s.Model) > maxModelBytes || events.RepairText(s.Model) != s.Model {
		return fmt.Sprintf("model: want at most %d bytes of plain text", maxModelBytes)
	}
	if len(s.Reviewer) > maxModelBytes || events.RepairText(s.Reviewer) != s.Reviewer {
		return fmt.Sprintf("reviewer: want at most %d bytes of plain text", maxModelBytes)
	}
	if len(s.Titler) > maxModelBytes || events.RepairText(s.Titler) != s.Titler {
		return fmt.Sprintf("titler: want at most %d bytes of plain text", maxModelBytes)
	}
	if len(s.System) > maxSystemBytes {
		return fmt.Sprintf("system: %d bytes, at most %d are allowed", len(s.System), maxSystemBytes)
	}
	if events.RepairText(s.System) != s.System {
		return "system: has characters that are not text"
	}
	if s.Tools != nil && len(*s.Tools) > MaxTools {
		return fmt.Sprintf("tools: %d names, at most %d are allowed", len(*s.Tools), MaxTools)
	}
	if s.ClientTools != nil {
		if wrong := wrongClientTools(*s.ClientTools); wrong != "" {
			return wrong
		}
	}
	if wrong := wrongBudgets(s); wrong != "" {
		return wrong
	}
	if l := s.Limits; l != nil {
		if l.Steps < 0 || l.Steps > events.MaxStepsPerTurn {
			return fmt.Sprintf("limits.steps: want 0 to %d", events.MaxStepsPerTurn)
		}
		if l.OutputTokens < 0 {
			return "limits.output_tokens: want 0 or more"
		}
		if most := events.MaxApprovalTime.Milliseconds(); l.ApprovalMS < 0 || l.ApprovalMS > most {
			return fmt.Sprintf("limits.approval_ms: want 0 to %d", most)
		}
	}
	return ""
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
	e.Tools = offeredTools(s, live, plan)
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
