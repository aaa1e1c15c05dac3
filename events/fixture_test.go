package events_test

import (
	"encoding/json"

	"github.com/everturn/everturn/events"
)

// example is an event twice: with every field set, and with as few as can be.
type example struct {
	full    events.Event
	minimal events.Event
}

var (
	noon    = events.Time(1795953600123) // 2026-11-29T12:00:00.123Z
	step    = events.StepID{Turn: 3, Step: 2}
	call    = events.CallID{Turn: 3, Step: 2, Ordinal: 1}
	digest  = events.DigestOf([]byte("content"))
	another = events.DigestOf([]byte("other content"))
)

const (
	ulidOfInput  = "01KB6Q3Z8V0000000000000001"
	ulidOfClaim  = "01KB6Q3Z8V0000000000000002"
	nameOfRunner = "files.01KB6Q3Z8V0000000000000003"
	ulidOfCommit = "01KB6Q3Z8V0000000000000004"
	keyOfCall    = "3b6f3a52-8f0e-5d3b-9a64-2c1f7f3f9a11"
)

// everyPart is one part of each type, with every field its type may have.
func everyPart() []events.Part {
	return []events.Part{
		{Type: events.PartText, Text: "Hello, <wörld> & all"},
		{Type: events.PartText, Blob: digest, Bytes: 70000},
		{Type: events.PartReasoning, Text: "hm", Opaque: []byte{0, 1, 0xff}, Provider: "anthropic", Model: "m-1"},
		{Type: events.PartCall, Ordinal: 1, Name: "read_file", Arguments: `{"path":"a"`, ProviderID: "toolu_1"},
		{Type: events.PartImage, MediaType: "image/png", Name: "a.png", Bytes: 12, Blob: digest},
		{Type: events.PartFile, MediaType: "application/pdf", Name: "a.pdf", Bytes: 13, Blob: another},
		{Type: events.PartSource, URL: "https://example.org/", Title: "Example"},
		{Type: events.PartProviderCall, Opaque: []byte("x"), Provider: "openai", Model: "m-2"},
		{Type: events.PartProviderResult, Opaque: []byte("y"), Provider: "openai", Model: "m-2"},
		{Type: events.PartData, JSON: `{"rows": [1, 2]}`},
	}
}

func everySetting() events.Settings {
	return events.Settings{
		Model: "script/demo", System: "Be brief.", Tools: new([]string{"read_file"}),
		Approval: events.ApprovalAuto, Limits: &events.Limits{Steps: 10, OutputTokens: 2000},
	}
}

func everyTotal() events.Totals {
	return events.Totals{Steps: 2, Attempts: 3, Calls: 1, Usage: everyUsage()}
}

func everyUsage() events.Usage {
	return events.Usage{Input: 100, Output: 20, CacheRead: 30, CacheWrite: 40, Reasoning: 5}
}

// examples has one entry for each event type.
func examples() map[events.Type]example {
	return map[events.Type]example{
		"chat.created.v1": {
			events.ChatCreated{Settings: everySetting(), Title: "Trip to Oslo", By: "user:ann"},
			events.ChatCreated{},
		},
		"chat.created.v2": {
			events.ChatInherited{
				Origin:  events.Origin{Tenant: "acme", Chat: "oslo", Rev: 17, Hash: digest.Hex()},
				History: another, Bytes: 70000, Settings: everySetting(), Title: "Trip to Bergen", By: "user:ann",
			},
			events.ChatInherited{Origin: events.Origin{Tenant: "acme", Chat: "oslo", Rev: 1, Hash: digest.Hex()}, History: another, Bytes: 400},
		},
		"chat.configured.v1": {
			events.ChatConfigured{Settings: everySetting()},
			events.ChatConfigured{Settings: events.Settings{Tools: &[]string{}}},
		},
		"chat.titled.v1":     {events.ChatTitled{Title: "Trip", By: "user:ann"}, events.ChatTitled{}},
		"chat.archived.v1":   {events.ChatArchived{}, events.ChatArchived{}},
		"chat.unarchived.v1": {events.ChatUnarchived{}, events.ChatUnarchived{}},
		"chat.erase_requested.v1": {
			events.ChatEraseRequested{By: "user:ann", Due: noon}, events.ChatEraseRequested{Due: noon},
		},
		"chat.erased.v1": {
			events.ChatErased{Command: ulidOfInput, By: "user:ann", Requested: 17, Turn: 3, Due: noon},
			events.ChatErased{Command: ulidOfInput, Requested: 17, Due: noon},
		},
		"content.deleted.v1": {events.ContentDeleted{}, events.ContentDeleted{}},
		"command.rejected.v1": {
			events.CommandRejected{Verb: "interrupt", Code: events.CodeAlreadyFinished, Message: "turn 3 has ended", Status: "complete"},
			events.CommandRejected{Verb: "send", Code: events.CodeBusy},
		},
		"command.noted.v1": {events.CommandNoted{Verb: "interrupt", Turn: 3}, events.CommandNoted{Verb: "archive"}},
		"input.accepted.v1": {
			events.InputAccepted{Input: ulidOfInput, Parts: everyPart(), Mode: events.ModeReject, By: "user:ann", Settings: new(everySetting())},
			events.InputAccepted{Input: ulidOfInput, Parts: []events.Part{events.Text("hi")}, Mode: events.ModeQueue},
		},
		"input.edited.v1": {
			events.InputEdited{Input: ulidOfInput, Parts: everyPart(), By: "user:ann"},
			events.InputEdited{Input: ulidOfInput, Parts: []events.Part{events.Text("hi")}},
		},
		"input.promoted.v1": {
			events.InputPromoted{Input: ulidOfInput, Place: 2, Interrupt: true, By: "user:ann"},
			events.InputPromoted{Input: ulidOfInput, Place: 1},
		},
		"input.steered.v1": {
			events.InputSteered{Step: step, Inputs: []string{ulidOfInput, ulidOfClaim}},
			events.InputSteered{Step: events.StepID{Turn: 1, Step: 2}, Inputs: []string{ulidOfInput}},
		},
		"input.withdrawn.v1": {events.InputWithdrawn{Input: ulidOfInput}, events.InputWithdrawn{Input: ulidOfInput}},
		"branch.selected.v1": {
			events.BranchSelected{Turn: 2, Again: 3, Input: ulidOfInput, Replaces: ulidOfClaim, By: "user:ann"},
			events.BranchSelected{},
		},
		"turn.started.v1": {
			events.TurnStarted{
				Turn: 3, Parent: 2, Cause: events.CauseInput, Inputs: []string{ulidOfInput},
				Settings: events.RecordedSettings{Digest: digest, Body: everyEffective()},
				Rules:    1, PromptRules: 1, At: noon,
			},
			events.TurnStarted{
				Turn: 1, Cause: events.CauseRetry, Settings: events.RecordedSettings{Digest: digest}, Rules: 1, PromptRules: 1, At: noon,
			},
		},
		"turn.interrupt_requested.v1": {
			events.TurnInterruptRequested{Turn: 3, Reason: "changed my mind", By: "user:ann", Due: noon},
			events.TurnInterruptRequested{Turn: 3, Due: noon},
		},
		"turn.completed.v1": {
			events.TurnCompleted{Turn: 3, Finish: events.FinishMaxSteps, Totals: everyTotal()},
			events.TurnCompleted{Turn: 1, Finish: events.FinishComplete},
		},
		"turn.failed.v1": {
			events.TurnFailed{Turn: 3, Class: events.ClassQuota, Message: "no credit left", Totals: everyTotal()},
			events.TurnFailed{Turn: 1, Class: events.ClassUnknown},
		},
		"turn.interrupted.v1": {
			events.TurnInterrupted{Turn: 3, Reason: "changed my mind", Totals: everyTotal()},
			events.TurnInterrupted{Turn: 1},
		},
		"step.requested.v1": {
			events.StepRequested{
				Step: step, Purpose: events.PurposeAnswer, Attempt: 2, Model: "script/demo", Pool: "default", Prompt: digest, Bytes: 4096,
			},
			events.StepRequested{Step: events.StepID{Turn: 1, Step: 1}, Purpose: events.PurposeAnswer, Attempt: 1},
		},
		"step.completed.v1": {
			events.StepCompleted{
				Step: step, Attempt: 2, Parts: everyPart(), Stop: events.StopCalls, RawStop: "tool_use", Usage: everyUsage(),
				Provider:   events.Provider{Name: "anthropic", RequestID: "req_1", ResponseID: "msg_1", Model: "m-1"},
				Timing:     events.Timing{FirstMS: 300, LastMS: 900, Deltas: 17, LongestGapMS: 120},
				CostMicros: new(int64(1234)),
			},
			events.StepCompleted{Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1, Stop: events.StopEnd},
		},
		"step.failed.v1": {
			events.StepFailed{
				Step: step, Attempt: 2, Class: events.ClassRateLimit, Message: "slow down", RetryAt: noon, Usage: everyUsage(),
			},
			events.StepFailed{Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1, Class: events.ClassCrashed},
		},
		"step.interrupted.v1": {
			events.StepInterrupted{Step: step, Attempt: 2, Parts: []events.Part{events.Text("Once upon")}, Usage: everyUsage()},
			events.StepInterrupted{Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1},
		},
		"context.compacted.v1": {
			events.ContextCompacted{
				Step: &step, Boundary: events.Boundary{Turn: 2, Step: 5}, Summary: []events.Part{events.Text("They want a boat.")},
				Masked: []events.CallID{call}, Before: 70_000, After: 30_000,
			},
			events.ContextCompacted{Boundary: events.Boundary{Turn: 2}},
		},
		"context.compaction_failed.v1": {
			events.ContextCompactionFailed{Step: step, Class: events.ClassQuota, Message: "no credit left"},
			events.ContextCompactionFailed{Step: step, Class: events.ClassCancelled},
		},
		"context.cleared.v1": {
			events.ContextCleared{Boundary: events.Boundary{Turn: 2, Step: 5}, By: "user:ann"},
			events.ContextCleared{Boundary: events.Boundary{Turn: 2}},
		},
		"context.restored.v1": {
			events.ContextRestored{Boundary: events.Boundary{Turn: 2, Step: 5}, By: "user:ann"},
			events.ContextRestored{Boundary: events.Boundary{Turn: 2}},
		},
		"tool.requested.v1": {
			events.ToolRequested{
				Call: call, Tool: "read_file", Group: "files", Manifest: digest, Arguments: another, Key: keyOfCall,
				Idempotent: true, ReadOnly: true, TimeoutMS: 120000, Deadline: noon,
			},
			events.ToolRequested{Call: call, Tool: "append_ledger", Group: "ledger", Manifest: digest, Arguments: another, Key: keyOfCall, TimeoutMS: 5000, Deadline: noon},
		},
		"tool.started.v1": {
			events.ToolStarted{Call: call, Claim: ulidOfClaim, Delivery: 2, Runner: nameOfRunner, At: noon},
			events.ToolStarted{Call: call, Claim: ulidOfClaim, Delivery: 1, Runner: nameOfRunner, At: noon},
		},
		"tool.completed.v1": {
			events.ToolCompleted{
				Call: call, Status: events.ToolError, Parts: everyPart(), IsError: true, Truncated: true, Blob: digest,
				Runner: nameOfRunner, Timing: events.ToolTiming{RanMS: 42},
			},
			events.ToolCompleted{Call: call, Status: events.ToolUnknown},
		},
		"action.requested.v1": {
			events.ActionRequested{Step: step, Calls: []events.CallID{call}, Due: noon},
			events.ActionRequested{Step: step, Calls: []events.CallID{call}, Due: noon},
		},
		"question.asked.v1": {
			events.QuestionAsked{Call: call, Questions: everyQuestion(), TimeoutMS: 90000, Due: noon},
			events.QuestionAsked{Call: call, Questions: everyQuestion()[:1], TimeoutMS: 120000, Due: noon},
		},
		"question.held.v1": {
			events.QuestionHeld{Call: call, Held: true, LeftMS: 45000, Due: noon, By: "user:ann"},
			events.QuestionHeld{Call: call, LeftMS: 45000, Due: noon},
		},
		"question.answered.v1": {
			events.QuestionAnswered{
				Call: call, Answers: []events.Answer{{Question: "color", Text: "red"}, {Question: "size", Text: "as large as can be"}},
				Expired: true, By: "user:ann",
			},
			events.QuestionAnswered{Call: call, Answers: []events.Answer{{Question: "color", Text: "red"}}},
		},
		"approval.requested.v1": {
			events.ApprovalRequested{
				Call: call, Tool: "write_file", Arguments: digest, Mode: events.ApprovalAuto, Policy: events.PolicyAsk, Due: noon,
			},
			events.ApprovalRequested{Call: call, Tool: "write_file", Arguments: digest, Mode: events.ApprovalAsk, Policy: events.PolicyAllow, Due: noon},
		},
		"approval.resolved.v1": {
			events.ApprovalResolved{
				Call: call, Arguments: digest, Decision: events.ApprovalApproved, By: events.ResolvedByUser, User: "user:ann",
				Scope: events.ScopeChat, Reason: "but not that file",
				Edited:      []events.Part{{Type: events.PartCall, Ordinal: 1, Name: "write_file", Arguments: `{"path":"b"}`}},
				Permissions: events.Permissions{Grants: []string{"network"}},
			},
			events.ApprovalResolved{Call: call, Arguments: digest, Decision: events.ApprovalDenied, By: events.ResolvedByDeadline},
		},
		"mode.set.v1": {events.ModeSet{Approval: events.ApprovalFull, By: "user:ann"}, events.ModeSet{}},
		"budget.reached.v1": {
			events.BudgetReached{
				Turn: 3, Scope: events.BudgetOfTurn, Bound: events.BoundCost, At: noon,
				Budget: events.Budget{Tokens: 100_000, CostMicros: 2_000_000, TimeMS: 600_000},
				Spent:  events.Spending{Tokens: 70_000, CostMicros: 1_500_000, Unpriced: 1},
			},
			events.BudgetReached{Turn: 1, Scope: events.BudgetOfChat, Bound: events.BoundTokens, Budget: events.Budget{Tokens: 1}, Spent: events.Spending{Tokens: 1}},
		},
		"budget.extended.v1": {
			events.BudgetExtended{
				Turn: 3, Scope: events.BudgetOfTurn, Unpriced: 1, By: "user:ann", At: noon,
				Budget: events.Budget{Tokens: 200_000, CostMicros: events.Unlimited, TimeMS: 900_000},
			},
			events.BudgetExtended{Scope: events.BudgetOfChat, Budget: events.Budget{Tokens: 2}},
		},
		"skill.activated.v1": {
			events.SkillActivated{Step: events.StepID{Turn: 3, Step: 2}, Skill: "pdf-forms", Digest: another, Bytes: 4096},
			events.SkillActivated{Step: events.StepID{Turn: 1, Step: 1}, Skill: "a", Digest: another, Bytes: 1},
		},
		"agent.named.v1": {events.AgentNamed{Agent: "reviewer"}, events.AgentNamed{Agent: "a"}},
		"chat.created.v3": {
			events.ChatSpawned{Parent: events.Parent{Chat: "oslo", Call: call}, Depth: 2, Settings: newestSettings(), Title: "Look it up", Granted: everyBudget()},
			events.ChatSpawned{Parent: events.Parent{Chat: "oslo", Call: call}, Depth: 1},
		},
		"child.spawned.v1": {
			events.ChildSpawned{Call: call, Child: keyOfCall, Depth: 2, Due: noon, Granted: everyBudget()},
			events.ChildSpawned{Call: call, Child: keyOfCall, Depth: 1, Due: noon},
		},
		"child.ended.v1": {
			events.ChildEnded{
				Call: call, Child: keyOfCall, Outcome: events.ChildCompleted, Totals: everyTotal(),
				Spent: events.Spending{Tokens: 160, CostMicros: 1234, Unpriced: 1},
			},
			events.ChildEnded{Call: call, Child: keyOfCall, Outcome: events.ChildUnknown},
		},
	}
}

// everyGrown are the examples of events that have more fields than they began with, a
// set for each time that some grew.
func everyGrown() []map[events.Type]events.Event {
	return []map[events.Type]events.Event{grown(), grownAgain(), titled(), grownCosts(), kept(), skilled()}
}

// grown has the events that have got fields since the first release, with all of
// them set. The frozen file of such an event stays what it is; here it has another.
func grown() map[events.Type]events.Event {
	completed := examples()["step.completed.v1"].full.(events.StepCompleted)
	completed.RawUsage = []string{`{"input_tokens":100,"service_tier":"standard"}`, `{"output_tokens": 20}`}
	created := examples()["chat.created.v1"].full.(events.ChatCreated)
	created.Settings = grownSettings()
	inherited := examples()["chat.created.v2"].full.(events.ChatInherited)
	inherited.Settings = grownSettings()
	accepted := examples()["input.accepted.v1"].full.(events.InputAccepted)
	accepted.Settings = new(grownSettings())
	started := examples()["turn.started.v1"].full.(events.TurnStarted)
	started.Turn, started.Cause, started.Again = 4, events.CauseEdit, 3
	started.Settings.Body = everyEffective()
	started.Settings.Body.Limits = *grownSettings().Limits
	started.Settings.Body.ClientTools = *grownSettings().ClientTools
	started.Settings.Body.Tools[0].Client = true
	started.Settings.Body.Window, started.Settings.Body.CompactAt, started.Settings.Body.Plan = 200_000, 80, true
	started.Settings.Body.Reviewer, started.Settings.Body.ReviewerPool = "script/judge", "small"
	requested := examples()["step.requested.v1"].full.(events.StepRequested)
	requested.Purpose, requested.Until = events.PurposeSummary, &events.Boundary{Turn: 2, Step: 5}
	requested.Call, requested.Due = &events.CallID{Turn: 3, Step: 1, Ordinal: 2}, noon
	failed := examples()["step.failed.v1"].full.(events.StepFailed)
	failed.Class, failed.AfterCompaction = events.ClassContextTooLarge, true
	asked := examples()["approval.requested.v1"].full.(events.ApprovalRequested)
	asked.Policy, asked.Review = events.PolicyReview, &events.Review{Step: events.StepID{Turn: 3, Step: 2}, Reason: "it deletes", Class: events.ClassTimeout}
	all := map[events.Type]events.Event{}
	for _, e := range []events.Event{
		completed, created, inherited, accepted, started, requested, failed,
		events.ChatConfigured{Settings: grownSettings()},
		asked,
		events.ModeSet{Approval: events.ApprovalFull, Plan: new(true), By: "user:ann"},
	} {
		all[e.EventType()] = e
	}
	return all
}

// grownAgain has those of [grown] that have got fields after its files were made.
func grownAgain() map[events.Type]events.Event {
	settings := agentSettings()
	created := grown()["chat.created.v1"].(events.ChatCreated)
	created.Settings = settings
	inherited := grown()["chat.created.v2"].(events.ChatInherited)
	inherited.Settings = settings
	accepted := grown()["input.accepted.v1"].(events.InputAccepted)
	accepted.Settings = &settings
	started := grown()["turn.started.v1"].(events.TurnStarted)
	started.Settings.Body.Agent, started.Settings.Body.NoAgent = "reviewer", true
	all := map[events.Type]events.Event{}
	for _, e := range []events.Event{created, inherited, accepted, started, events.ChatConfigured{Settings: settings}} {
		all[e.EventType()] = e
	}
	return all
}

// titled has those of [grown] and [grownAgain] that have got fields for titles.
func titled() map[events.Type]events.Event {
	settings := titledSettings()
	created := grown()["chat.created.v1"].(events.ChatCreated)
	created.Settings = settings
	inherited := grown()["chat.created.v2"].(events.ChatInherited)
	inherited.Settings = settings
	accepted := grown()["input.accepted.v1"].(events.InputAccepted)
	accepted.Settings = &settings
	started := grownAgain()["turn.started.v1"].(events.TurnStarted)
	started.Settings.Body.Titler, started.Settings.Body.TitlerPool = "script/namer", "small"
	named := events.ChatTitled{Title: "Trip", By: "user:ann", Step: &events.StepID{Turn: 0, Step: 2}}
	all := map[events.Type]events.Event{}
	for _, e := range []events.Event{created, inherited, accepted, started, named, events.ChatConfigured{Settings: settings}} {
		all[e.EventType()] = e
	}
	return all
}

// grownCosts has those that have got what budgets are counted with.
func grownCosts() map[events.Type]events.Event {
	failed := grown()["step.failed.v1"].(events.StepFailed)
	failed.CostMicros = new(int64(1234))
	interrupted := examples()["step.interrupted.v1"].full.(events.StepInterrupted)
	interrupted.CostMicros = new(int64(1234))
	created := titled()["chat.created.v1"].(events.ChatCreated)
	inherited := titled()["chat.created.v2"].(events.ChatInherited)
	configured := titled()["chat.configured.v1"].(events.ChatConfigured)
	accepted := titled()["input.accepted.v1"].(events.InputAccepted)
	started := titled()["turn.started.v1"].(events.TurnStarted)
	for _, s := range []*events.Settings{&created.Settings, &inherited.Settings, &configured.Settings, accepted.Settings} {
		withBudgets(s)
	}
	started.Settings.Body.Budget, started.Settings.Body.ChatBudget = *created.Settings.Budget, *created.Settings.ChatBudget
	all := map[events.Type]events.Event{}
	for _, e := range []events.Event{failed, interrupted, created, inherited, configured, accepted, started} {
		all[e.EventType()] = e
	}
	return all
}

// kept has those of [examples] that have got fields for artifacts.
func kept() map[events.Type]events.Event {
	e := examples()["tool.completed.v1"].full.(events.ToolCompleted)
	e.Artifacts = []events.Artifact{{Title: "Trip to Oslo", Version: 2, Type: "text/markdown", Digest: another, Bytes: 1200}}
	return map[events.Type]events.Event{e.EventType(): e}
}

// newestSettings have every field there is.
func newestSettings() events.Settings {
	s := titledSettings()
	withBudgets(&s)
	return s
}

func withBudgets(s *events.Settings) {
	s.Budget = &events.Budget{Tokens: 100_000, CostMicros: 2_000_000, TimeMS: 600_000}
	s.ChatBudget = &events.Budget{Tokens: 1_000_000, CostMicros: events.Unlimited, TimeMS: 1}
}

func titledSettings() events.Settings {
	s := agentSettings()
	s.Titler = "script/namer"
	return s
}

func everyBudget() events.Budget {
	return events.Budget{Tokens: 100_000, CostMicros: 2_000_000, TimeMS: 600_000}
}

func agentSettings() events.Settings {
	s := grownSettings()
	s.Agent = "reviewer"
	return s
}

func grownSettings() events.Settings {
	s := everySetting()
	s.Limits.ApprovalMS, s.Reviewer = 60_000, "script/judge"
	s.ClientTools = &[]events.ClientTool{{Name: "show_map", Description: "Shows a map.", Schema: json.RawMessage(`{"type":"object"}`)}}
	return s
}

func everyEffective() *events.Effective {
	return &events.Effective{
		Model: "script/demo", Pool: "default", System: "Be brief.",
		Tools: []events.Tool{{
			Name: "read_file", Group: "files", Manifest: digest, ReadOnly: true, Idempotent: true, Parallel: true,
			Exclusive: true, StopAfter: true, TimeoutMS: 120000, Policy: events.PolicyAllow,
		}},
		Approval: events.ApprovalAuto,
		Limits:   events.Limits{Steps: 10, OutputTokens: 2000},
	}
}

func everyQuestion() []events.Question {
	return []events.Question{
		{ID: "color", Header: "Color", Text: "Which color?", Options: []events.Option{
			{Label: "red", Description: "like a rose"}, {Label: "blue", Description: "like the sea"},
		}},
		{ID: "size", Header: "Size", Text: "Which size?", Options: []events.Option{
			{Label: "small", Description: "fits anywhere"}, {Label: "large", Description: "fits all"},
		}},
	}
}
