package chat_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// What is said while a person is asked is no answer, and one that interrupts ends
// the asking.
func TestS5_4_WaitingForAPersonEatsNoInput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		story func(t *testing.T) *story
		then  []string // behind the request
	}{
		{"an approval", func(t *testing.T) *story {
			s := begin(t)
			s.send("a")
			wants(t, s.answer(call("ask", `{"path":"a"}`)), "step.completed", "approval.requested")
			return s
		}, []string{"approval.resolved", "tool.completed", "turn.interrupted", "turn.started", "step.requested"}},
		{"a question", func(t *testing.T) *story {
			s := beginAsking(t)
			wants(t, s.answer(call(chat.ToolAskUser, questions("", questionOf("q", 2)))), "step.completed", "question.asked")
			return s
		}, []string{"tool.completed", "turn.interrupted", "turn.started", "step.requested"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := tt.story(t)
			steer, list := s.sendAs(events.ModeSteer, "s")
			wants(t, list, "input.accepted", "input.promoted")
			queued, list := s.sendAs(events.ModeQueue, "q")
			wants(t, list, "input.accepted")
			s.waits(steer, queued)
			i, list := s.sendAs(events.ModeInterrupt, "i")
			wants(t, list, append([]string{"input.accepted", "input.promoted", "turn.interrupt_requested"}, insertSteered(tt.then)...)...)
			if got := find[events.TurnStarted](t, list).Inputs; !slices.Equal(got, []string{i}) {
				t.Errorf("inputs %v", got)
			}
			s.waits(queued)
			s.answer(events.Text("ok"))
			s.answer(events.Text("ok"))
			s.answers()
		})
	}
}

// insertSteered is the types with input.steered before the last, which asks for
// the step that reads it.
func insertSteered(types []string) []string {
	return slices.Insert(slices.Clone(types), len(types)-1, "input.steered")
}

// Whatever a turn waits for, what is said meanwhile waits too.
func TestS5_4_WhatATurnWaitsForEatsNoInput(t *testing.T) {
	t.Parallel()
	for _, mode := range []events.SendMode{events.ModeQueue, events.ModeSteer} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			s := begin(t)
			s.send("a")
			s.answer(call("pay", "{}")) // nobody runs it
			b, list := s.sendAs(mode, "b")
			find[events.InputAccepted](t, list)
			s.waits(b)
			i, list := s.sendAs(events.ModeInterrupt, "i")
			wants(t, list, "input.accepted", "input.promoted", "turn.interrupt_requested")
			list = s.tell(endOf(1))
			if r := find[events.ToolCompleted](t, list); r.Status != events.ToolCancelled {
				t.Errorf("the call is %s", r.Status)
			}
			if got := find[events.TurnStarted](t, list).Inputs; !slices.Equal(got, []string{i}) {
				t.Errorf("inputs %v", got)
			}
		})
	}
}
