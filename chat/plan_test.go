package chat_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// plans is set-mode for or against planning.
func plans(on bool) protocol.SetMode { return protocol.SetMode{V: 1, Plan: &on} }

// planned is a story of a chat that plans, with its first input said.
func planned(t *testing.T) *story {
	t.Helper()
	s := begin(t)
	wants(t, second(s.command(plans(true))), "mode.set")
	s.send("build me a house")
	return s
}

func toolNames(r model.Request) []string {
	var names []string
	for _, tool := range r.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// isInstruction reports whether a message is what nobody in the chat has said.
func isInstruction(m model.Message) bool {
	return m.Instruction && m.Role == model.RoleUser && strings.Contains(m.Parts[0].Text, "plan mode")
}

func TestS9_OnlyWhatReadsOrIsAllowedIsOffered(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.command(plans(true))
	l := live()
	remembers := protocol.Manifest{Name: "remember", Group: chat.GroupMemory, Schema: manifests()[0].Schema, ReadOnly: true, Policy: events.PolicyAllow}
	reviewed := protocol.Manifest{Name: "review", Group: "g", Schema: manifests()[0].Schema, Policy: events.PolicyReview}
	l.Tools = append(l.Tools, remembers.Tool(), reviewed.Tool())
	m := chat.Command{ID: "c", Sequence: 9, Body: protocol.Send{V: 1, Parts: []events.Part{events.Text("a")}}}
	d := chat.Handle(s.state, m, noon, l)
	s.commit(m, d.Events)
	started := find[events.TurnStarted](t, d.Events)
	if !started.Settings.Body.Plan || started.Rules != chat.Rules {
		t.Errorf("started with %+v by rules %d: plan mode is on record, and told to no release that does not know it", started.Settings.Body, started.Rules)
	}
	want := []string{"alone", chat.ToolAskUser, chat.ToolCreateArtifact, "done", "look", "open", "pay", "save"}
	if got := toolNames(chat.Prompt(s.state)); !slices.Equal(got, want) {
		t.Errorf("offered are %v, want %v", got, want)
	}
}

func TestS9_WhatSettingsNameIsNoWayAroundPlanMode(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.command(protocol.Configure{V: 1, Settings: events.Settings{Tools: &[]string{"ask", "look"}, Approval: events.ApprovalFull}})
	s.command(plans(true))
	s.send("a")
	if got := toolNames(chat.Prompt(s.state)); !slices.Equal(got, []string{chat.ToolAskUser, chat.ToolCreateArtifact, "look"}) {
		t.Errorf("offered are %v: a named tool that changes something is not, and a person can be asked", got)
	}
	list := s.answer(call("ask", "{}"), call("pay", "{}"), call("look", "{}"))
	wants(t, list, "step.completed", "tool.completed", "tool.completed", "tool.requested")
	for i, e := range every[events.ToolCompleted](s) {
		if e.Status != events.ToolNotFound || !e.IsError {
			t.Errorf("call %d of what is not offered is %+v", i+1, e)
		}
	}
	wants(t, s.bareResult(id(1, 1, 3), events.ToolOK, "seen"), "tool.completed", "step.requested")
}

func TestS9_TheInstructionComesLast(t *testing.T) {
	t.Parallel()
	s := planned(t)
	before := chat.Prompt(s.state)
	if n := len(before.Messages); n != 2 || !isInstruction(before.Messages[1]) {
		t.Fatalf("shown %+v", before.Messages)
	}
	s.answer(call("look", "{}"))
	s.bareResult(id(1, 1, 1), events.ToolOK, "a meadow")
	after := chat.Prompt(s.state)
	if n := len(after.Messages); n != 4 || !isInstruction(after.Messages[3]) {
		t.Fatalf("shown %+v", after.Messages)
	}
	// What a provider has read stays what it was: the next request begins with it.
	prefix := func(r model.Request, n int) string {
		r.Messages = r.Messages[:n]
		return strings.TrimSuffix(string(r.Canonical()), "]}")
	}
	if !strings.HasPrefix(string(after.Canonical()), prefix(before, 1)) {
		t.Error("the second request does not begin with what the first one showed before its instruction")
	}
	for _, e := range every[events.StepRequested](s) {
		if e.Step.Step != 2 {
			continue
		}
		if want := events.DigestOf(after.Canonical()); e.Prompt != want || e.Bytes != int64(len(after.Canonical())) {
			t.Errorf("recorded is the prompt %s of %d bytes, shown was %s", e.Prompt, e.Bytes, want)
		}
	}
	s.command(protocol.Send{V: 1, Mode: events.ModeSteer, Parts: []events.Part{events.Text("of wood")}})
	s.answer(call("look", "{}"))
	s.bareResult(id(1, 2, 1), events.ToolOK, "a forest")
	steered := chat.Prompt(s.state).Messages
	if n := len(steered); !isInstruction(steered[n-1]) || steered[n-2].Parts[0].Text != "of wood" {
		t.Errorf("shown at the end is %+v", steered[n-2:])
	}
	s.answer(events.Text("first, a floor"))
	s.answers()
	for i, m := range chat.Prompt(s.state).Messages {
		if m.Instruction && i != len(chat.Prompt(s.state).Messages)-1 {
			t.Errorf("message %d is the instruction of a step before", i)
		}
	}
}

func TestS9_AskingIsOfferedInPlanModeOnly(t *testing.T) {
	t.Parallel()
	s := planned(t)
	list := s.answer(call(chat.ToolAskUser, `{"questions":[{"id":"q","header":"Wood","text":"Which?","options":[`+
		`{"label":"oak","description":"hard"},{"label":"pine","description":"soft"}]}]}`))
	wants(t, list, "step.completed", "question.asked")
	wants(t, second(s.command(protocol.Answer{V: 1, Call: id(1, 1, 1), Answers: []events.Answer{{Question: "q", Text: "pine"}}})),
		"question.answered", "tool.completed", "step.requested")
	s.answer(events.Text("a plan"))
	s.command(plans(false))
	s.send("go on")
	r := chat.Prompt(s.state)
	if names := toolNames(r); slices.Contains(names, chat.ToolAskUser) || !slices.Contains(names, "ask") {
		t.Errorf("offered are %v when the plan is carried out", names)
	}
	if isInstruction(r.Messages[len(r.Messages)-1]) {
		t.Error("the model is still told to plan")
	}
}

func TestS9_PlanModeHoldsFromTheNextTurnOn(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.send("a")
	wants(t, second(s.command(plans(true))), "mode.set")
	wants(t, s.answer(call("ask", "{}")), "step.completed", "approval.requested") // the open turn has its tools
	if m := chat.Prompt(s.state).Messages; isInstruction(m[len(m)-1]) {
		t.Error("the open turn is told to plan")
	}
	wants(t, second(s.command(plans(true))), "command.noted")
	if !s.state.Plan() || every[events.TurnStarted](s)[0].Settings.Body.Plan {
		t.Error("plan mode is not what was set")
	}
	_, list := s.command(protocol.SetMode{V: 1, Approval: events.ApprovalFull, Plan: new(true)})
	if e := find[events.ModeSet](t, list); e.Approval != events.ApprovalFull || e.Plan == nil || !*e.Plan {
		t.Errorf("set %+v", e)
	}
	refusal(t, s, protocol.SetMode{V: 1}, events.CodeInvalidSettings, "")
	s.result(id(1, 1, 1), events.ToolOK, "done")
	s.answer(events.Text("done"))
	for _, again := range []protocol.Body{protocol.Regenerate{V: 1}, protocol.Send{V: 1, Parts: []events.Part{events.Text("b")}}} {
		_, list := s.command(again)
		if e := find[events.TurnStarted](t, list); e.Settings.Body != nil && !e.Settings.Body.Plan {
			t.Errorf("after %s the turn does not plan", again.Verb())
		}
		if m := chat.Prompt(s.state).Messages; !isInstruction(m[len(m)-1]) {
			t.Errorf("after %s the model is not told to plan", again.Verb())
		}
		s.answer(events.Text("a plan"))
	}
	b, err := chat.Encode(s.state)
	if err != nil {
		t.Fatal(err)
	}
	if decoded, err := chat.Decode(b); err != nil || !decoded.Plan() {
		t.Errorf("a snapshot forgets plan mode: %v", err)
	}
}

func TestS9_CompactionKeepsTheInstruction(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.command(plans(true))
	for range 4 {
		s.send(strings.Repeat("a long story ", 100))
		s.answer(events.Text(strings.Repeat("a long answer ", 100)))
	}
	_, list := s.command(protocol.Compact{V: 1})
	requested := find[events.StepRequested](t, list)
	asked := chat.PromptFor(s.state, requested.Step)
	if slices.ContainsFunc(asked.Messages, isInstruction) {
		t.Error("the model is to sum up an instruction that nobody gave")
	}
	compacted := find[events.ContextCompacted](t, s.answer(events.Text("the user tells long stories")))
	if compacted.After >= compacted.Before {
		t.Errorf("compacted from %d tokens to %d", compacted.Before, compacted.After)
	}
	s.send("and now a plan")
	m := chat.Prompt(s.state).Messages
	if !isInstruction(m[len(m)-1]) || m[len(m)-2].Parts[0].Text != "and now a plan" {
		t.Errorf("after the compaction the model is shown %+v at the end", m[len(m)-2:])
	}
	if got := len(toolNames(chat.Prompt(s.state))); got != 8 {
		t.Errorf("%d tools are offered after the compaction", got)
	}
}
