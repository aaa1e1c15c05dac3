package chat_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// asking is a story in which a model has called tools, the first of which needs a
// person.
func asking(t *testing.T, calls ...events.Part) *story {
	t.Helper()
	s := begin(t)
	s.send("a")
	s.answer(append([]events.Part{call("ask", `{"path":"a"}`)}, calls...)...)
	return s
}

func approve(call events.CallID) protocol.Approve {
	return protocol.Approve{V: 1, Call: call, Decision: protocol.DecideApprove}
}

func deny(call events.CallID, reason string) protocol.Approve {
	return protocol.Approve{V: 1, Call: call, Decision: protocol.DecideDeny, Reason: reason}
}

// refusal fails unless the command is turned down with that code and status.
func refusal(t *testing.T, s *story, b protocol.Body, code events.Code, status string) events.CommandRejected {
	t.Helper()
	_, list := s.command(b)
	r := find[events.CommandRejected](t, list)
	if r.Code != code || r.Status != status {
		t.Errorf("rejected with %s, status %q: %s; want %s, %q", r.Code, r.Status, r.Message, code, status)
	}
	return r
}

// owedTimers are the names of the timers that are owed.
func owedTimers(s chat.State) []string {
	var names []string
	for _, w := range chat.Owed(s) {
		if timer, ok := w.(protocol.Timer); ok {
			names = append(names, timer.Name)
		}
	}
	return names
}

func owedTools(s chat.State) []protocol.ToolWork {
	var list []protocol.ToolWork
	for _, w := range chat.Owed(s) {
		if work, ok := w.(protocol.ToolWork); ok {
			list = append(list, work)
		}
	}
	return list
}

func TestS7_1_CallsThatNeedNobodyRunWhileOthersWait(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.send("a")
	list := s.answer(call("ask", `{"path":"a"}`), call("pay", "{}"), call("ask", `{"path":"b"}`), call("save", "{}"), call("look", "{}"))
	wants(t, list, "step.completed", "approval.requested", "approval.requested", "tool.requested")
	r := find[events.ApprovalRequested](t, list)
	if r.Mode != events.ApprovalAuto || r.Policy != events.PolicyAsk || r.Tool != "ask" || r.Due != noon.Add(24*time.Hour) ||
		r.Arguments != events.DigestOf([]byte(`{"path":"a"}`)) {
		t.Errorf("asked %+v", r)
	}
	if got := find[events.ToolRequested](t, list).Call; got != id(1, 1, 2) {
		t.Fatalf("%s is handed out first", got)
	}
	if list := s.result(id(1, 1, 2), events.ToolOK, "paid"); find[events.ToolRequested](t, list).Call != id(1, 1, 4) {
		t.Errorf("after the payment %v", list)
	}
	wants(t, second(s.command(approve(id(1, 1, 1)))), "approval.resolved") // approved, but "save" runs alone
	if list := s.bareResult(id(1, 1, 4), events.ToolOK, "saved"); find[events.ToolRequested](t, list).Call != id(1, 1, 1) {
		t.Errorf("approved, and its turn has come: %v", list)
	}
	wants(t, s.result(id(1, 1, 1), events.ToolOK, "a"), "tool.completed", "tool.requested")
	wants(t, s.bareResult(id(1, 1, 5), events.ToolOK, "seen"), "tool.completed")
	wants(t, second(s.command(approve(id(1, 1, 3)))), "approval.resolved", "tool.requested")
	wants(t, s.result(id(1, 1, 3), events.ToolOK, "b"), "tool.completed", "step.requested")
	results := chat.Prompt(s.state).Messages[2].Results
	for i, want := range []string{"a", "paid", "b", "saved", "seen"} {
		if results[i].Parts[0].Text != want {
			t.Errorf("result %d is %q, want %q: they are shown in the order of the calls", i+1, results[i].Parts[0].Text, want)
		}
	}
}

func second[A, B any](_ A, b B) B { return b }

func TestS7_1_EditedArgumentsAreCheckedAgainAndBothVersionsKept(t *testing.T) {
	t.Parallel()
	s := asking(t)
	edit := approve(id(1, 1, 1))
	edit.Args = json.RawMessage(`{"path":3}`)
	if r := refusal(t, s, edit, events.CodeInvalidAnswer, "waiting"); !strings.Contains(r.Message, "path") {
		t.Errorf("told %q", r.Message)
	}
	edit.Args = json.RawMessage(`["b"]`)
	refusal(t, s, edit, events.CodeInvalidAnswer, "waiting")
	edit.Args = json.RawMessage(` {"path": "b"} `)
	_, list := s.command(edit)
	wants(t, list, "approval.resolved", "tool.requested")
	decided, requested := find[events.ApprovalResolved](t, list), find[events.ToolRequested](t, list)
	old, now := events.DigestOf([]byte(`{"path":"a"}`)), events.DigestOf([]byte(`{"path":"b"}`))
	if decided.Arguments != old || len(decided.Edited) != 1 || decided.Edited[0].Arguments != `{"path":"b"}` || requested.Arguments != now {
		t.Errorf("decided %+v, handed out %s", decided, requested.Arguments)
	}
	if said := every[events.StepCompleted](s)[0].Parts[0].Arguments; said != `{"path":"a"}` {
		t.Errorf("the model's arguments became %s", said)
	}
	if work := owedTools(s.state); len(work) != 1 || string(work[0].Arguments) != `{"path":"b"}` {
		t.Errorf("work %+v", work)
	}
	s.result(id(1, 1, 1), events.ToolOK, "done")
	messages := chat.Prompt(s.state).Messages
	if p := messages[1].Parts[0]; p.Arguments != `{"path":"a"}` {
		t.Errorf("the model is shown that it wrote %s", p.Arguments)
	}
	if told := messages[2].Results[0].Parts; len(told) != 2 || !strings.Contains(told[0].Text, `{"path":"b"}`) {
		t.Errorf("the model is not told what ran: %+v", told)
	}
}

func TestS7_1_LargeEditedArgumentsLieOutsideOfTheLog(t *testing.T) {
	t.Parallel()
	s := asking(t)
	edit := approve(id(1, 1, 1))
	edit.Args = json.RawMessage(`{"path":"` + strings.Repeat("x", events.MaxInlineBytes) + `"}`)
	d := chat.Handle(s.state, chat.Command{ID: "c", Sequence: 99, Body: edit, Schemas: schemas(t)}, noon, live())
	s.commit(chat.Command{ID: "c", Sequence: 99, Body: edit}, d.Events)
	if len(d.Large) != 1 || d.Large[0].Digest != events.DigestOf(edit.Args) {
		t.Fatalf("stored %d contents", len(d.Large))
	}
	work := owedTools(s.state)
	if len(work) != 1 || work[0].Blob != d.Large[0].Digest || len(work[0].Arguments) != 0 ||
		find[events.ToolRequested](t, d.Events).Arguments != d.Large[0].Digest {
		t.Errorf("work %+v", work)
	}
	s.result(id(1, 1, 1), events.ToolOK, "done")
}

func TestS7_1_AYesForTheChatIsRemembered(t *testing.T) {
	t.Parallel()
	s := asking(t, call("ask", `{"path":"a"}`), call("ask", `{"path":"b"}`))
	forChat := approve(id(1, 1, 1))
	forChat.Decision = protocol.DecideApproveForChat
	_, list := s.command(forChat)
	wants(t, list, "approval.resolved", "approval.resolved", "tool.requested") // the same call beside it needs no second answer
	if other := list[1].(events.ApprovalResolved); other.Call != id(1, 1, 2) || other.By != events.ResolvedByRule {
		t.Errorf("decided %+v", other)
	}
	s.command(deny(id(1, 1, 3), ""))
	s.result(id(1, 1, 1), events.ToolOK, "")
	s.result(id(1, 1, 2), events.ToolOK, "")
	list = s.answer(call("ask", `{"path":"a"}`), call("ask", `{"path":"c"}`))
	wants(t, list, "step.completed", "approval.requested", "approval.requested", "approval.resolved", "tool.requested")
	if r := find[events.ApprovalResolved](t, list); r.By != events.ResolvedByRule || r.Call != id(1, 2, 1) || r.User != "" {
		t.Errorf("decided %+v", r)
	}
	s.command(deny(id(1, 2, 2), ""))
	s.result(id(1, 2, 1), events.ToolOK, "")
	for i := range events.MaxRemembered {
		s.answer(call("ask", fmt.Sprintf(`{"path":"p%d"}`, i)))
		forChat.Call = id(1, 3+i, 1)
		s.command(forChat)
		s.result(forChat.Call, events.ToolOK, "")
	}
	s.answer(call("ask", `{"path":"p0"}`), call("ask", `{"path":"a"}`))
	if waits := s.state.AwaitingApproval(); len(waits) != 1 || waits[0].Ordinal != 2 {
		t.Errorf("%v wait: the oldest yes is forgotten, and no other", waits)
	}
	if fork := s.state.Inherit(); len(fork.AwaitingApproval()) == 0 {
		t.Error("the history of a fork is another one")
	}
}

func TestS7_2_ANoIsAResultAndTheTurnGoesOn(t *testing.T) {
	t.Parallel()
	s := asking(t)
	_, list := s.command(deny(id(1, 1, 1), "not today"))
	wants(t, list, "approval.resolved", "tool.completed", "step.requested")
	r := find[events.ToolCompleted](t, list)
	if r.Status != events.ToolDenied || !r.IsError || !strings.Contains(r.Parts[0].Text, "not today") {
		t.Errorf("result %+v", r)
	}
	s.answer(events.Text("very well"))
	s.answers()
}

func TestS7_2_ANoCanStopTheTurn(t *testing.T) {
	t.Parallel()
	s := asking(t, call("pay", "{}"), call("ask", `{"path":"b"}`))
	s.tell(claim(id(1, 1, 2), "k", 1))
	stop := deny(id(1, 1, 1), "enough")
	stop.Stop = true
	_, list := s.command(stop)
	wants(t, list, "approval.resolved", "tool.completed", "turn.interrupt_requested", "approval.resolved", "tool.completed")
	if r := list[2].(events.TurnInterruptRequested); r.Reason != "enough" {
		t.Errorf("reason %q", r.Reason)
	}
	if other := list[3].(events.ApprovalResolved); other.Call != id(1, 1, 3) || other.Decision != events.ApprovalCancelled {
		t.Errorf("the other waiting call: %+v", other)
	}
	list = s.bareResult(id(1, 1, 2), events.ToolOK, "paid")
	wants(t, list, "tool.completed", "turn.interrupted")
	s.answers()
}

func TestS7_4_WithoutAnAnswerInTimeItIsANo(t *testing.T) {
	t.Parallel()
	s := begin(t)
	limits := &events.Limits{ApprovalMS: 60_000}
	s.command(protocol.Configure{V: 1, Settings: events.Settings{Limits: limits}})
	s.send("a")
	s.answer(call("ask", "{}"))
	timer := protocol.TimerName{Kind: protocol.TimerApproval, Call: id(1, 1, 1)}
	if names := owedTimers(s.state); len(names) != 1 || names[0] != timer.String() {
		t.Fatalf("owed timers %v", names)
	}
	b, err := chat.Encode(s.state)
	if err != nil {
		t.Fatal(err)
	}
	restarted, err := chat.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	owed := chat.Owed(restarted)[0].(protocol.Timer)
	if owed.Name != timer.String() || owed.Due != noon.Add(time.Minute) {
		t.Errorf("after a restart it owes %+v", owed)
	}
	list := s.tell(due(timer))
	wants(t, list, "approval.resolved", "tool.completed", "step.requested")
	if r := find[events.ApprovalResolved](t, list); r.By != events.ResolvedByDeadline || r.Decision != events.ApprovalDenied || r.Reason != "no answer" {
		t.Errorf("decided %+v", r)
	}
	if r := find[events.ToolCompleted](t, list); r.Status != events.ToolDenied || !strings.Contains(r.Parts[0].Text, "no answer") {
		t.Errorf("result %+v", r)
	}
	if list := s.tell(due(timer)); len(list) > 0 {
		t.Errorf("the timer once more: %v", types(list))
	}
	refusal(t, s, approve(id(1, 1, 1)), events.CodeAlreadyResolved, "denied")
}

func TestS7_5_TheFirstDecisionWins(t *testing.T) {
	t.Parallel()

	t.Run("B17 a second one is told what was decided", func(t *testing.T) {
		t.Parallel()
		s := asking(t)
		s.command(approve(id(1, 1, 1)))
		refusal(t, s, deny(id(1, 1, 1), "too late"), events.CodeAlreadyResolved, "approved")
		refusal(t, s, approve(id(1, 1, 1)), events.CodeAlreadyResolved, "approved")
		s.result(id(1, 1, 1), events.ToolOK, "done")
		refusal(t, s, deny(id(1, 1, 1), ""), events.CodeAlreadyResolved, "ok")
		s.answer(events.Text("done"))
		refusal(t, s, deny(id(1, 1, 1), ""), events.CodeAlreadyResolved, "ok") // of an ended turn
		if n := len(every[events.ApprovalResolved](s)); n != 1 {
			t.Errorf("%d decisions", n)
		}
	})
	t.Run("one about other arguments is turned down", func(t *testing.T) {
		t.Parallel()
		s := asking(t)
		seen := events.DigestOf([]byte(`{"path":"a"}`))
		edit := approve(id(1, 1, 1))
		edit.Arguments, edit.Args = events.DigestOf([]byte(`{}`)), json.RawMessage(`{"path":"b"}`)
		refusal(t, s, edit, events.CodeArgumentsChanged, "waiting")
		edit.Arguments = seen
		s.command(edit)
		late := deny(id(1, 1, 1), "")
		late.Arguments = seen
		refusal(t, s, late, events.CodeArgumentsChanged, "approved")
	})
	t.Run("one for a call that was cancelled is turned down", func(t *testing.T) {
		t.Parallel()
		s := asking(t)
		s.command(protocol.Interrupt{V: 1, Turn: 1})
		refusal(t, s, approve(id(1, 1, 1)), events.CodeAlreadyResolved, "cancelled")
	})
	t.Run("one for no call, or for one that needs nobody, is turned down", func(t *testing.T) {
		t.Parallel()
		s := asking(t, call("look", "{}"))
		refusal(t, s, approve(id(1, 1, 9)), events.CodeUnknownCall, "")
		refusal(t, s, approve(id(7, 1, 1)), events.CodeUnknownCall, "")
		refusal(t, s, approve(id(1, 1, 2)), events.CodeAlreadyResolved, "running")
	})
	t.Run("one that makes no sense is turned down", func(t *testing.T) {
		t.Parallel()
		s := asking(t)
		for _, b := range []protocol.Approve{
			{V: 1, Call: id(1, 1, 1), Decision: "maybe"},
			{V: 1, Decision: protocol.DecideApprove},
			{V: 1, Call: id(1, 1, 1), Decision: protocol.DecideApprove, Stop: true},
			{V: 1, Call: id(1, 1, 1), Decision: protocol.DecideDeny, Args: json.RawMessage(`{}`)},
			{V: 1, Call: id(1, 1, 1), Decision: protocol.DecideApprove, Arguments: "sha256:x"},
			{V: 1, Call: id(1, 1, 1), Decision: protocol.DecideApprove, Permissions: &events.Permissions{Grants: []string{""}}},
		} {
			refusal(t, s, b, events.CodeBadCommand, "")
		}
	})
}

func TestS7_6_WhatIsGrantedTravelsWithTheWork(t *testing.T) {
	t.Parallel()
	s := asking(t)
	granting := approve(id(1, 1, 1))
	granting.Permissions = &events.Permissions{Grants: []string{"network", "write:/srv"}}
	s.command(granting)
	work := owedTools(s.state)
	if len(work) != 1 || strings.Join(work[0].Permissions.Grants, " ") != "network write:/srv" {
		t.Errorf("work %+v", work)
	}
}

func TestWhatWaitsIsSettled(t *testing.T) {
	t.Parallel()

	t.Run("S4.9 by an interrupt, at once", func(t *testing.T) {
		t.Parallel()
		s := asking(t)
		_, list := s.command(protocol.Interrupt{V: 1, Turn: 1})
		wants(t, list, "turn.interrupt_requested", "approval.resolved", "tool.completed", "turn.interrupted")
		if r := find[events.ToolCompleted](t, list); r.Status != events.ToolCancelled {
			t.Errorf("status %q", r.Status)
		}
		if len(chat.Owed(s.state)) > 0 {
			t.Errorf("it owes %v", chat.Owed(s.state))
		}
		s.answers()
	})
	t.Run("S5.4 and eats no input that waits", func(t *testing.T) {
		t.Parallel()
		s := asking(t)
		s.send("b")
		if n := len(every[events.TurnStarted](s)); n != 1 {
			t.Fatalf("%d turns", n)
		}
		s.command(deny(id(1, 1, 1), ""))
		wants(t, s.answer(events.Text("no, then")), "step.completed", "turn.completed", "turn.started", "step.requested")
	})
	t.Run("a claim of a call that waits is over", func(t *testing.T) {
		t.Parallel()
		s := asking(t)
		d := chat.Handle(s.state, claim(id(1, 1, 1), "k", 1), noon, live())
		if d.Claim == nil || d.Claim.Answer != protocol.ClaimOver || len(d.Events) > 0 {
			t.Errorf("decision %+v", d)
		}
		d = chat.Handle(s.state, chat.Result{Result: protocol.Result{V: 1, Call: id(1, 1, 1), Status: events.ToolOK}}, noon, live())
		if d.Result == nil || d.Result.Answer != protocol.ResultDropped {
			t.Errorf("decision %+v", d)
		}
	})
}

// A turn that a release without approvals began is gone on with as that one would,
// so that it can be handed back and forth during an upgrade.
func TestATurnOfEarlierRulesDeniesWhatNeedsAPerson(t *testing.T) {
	t.Parallel()
	s := begin(t)
	d := chat.Handle(s.state, chat.Command{ID: "c", Sequence: 9, Body: protocol.Send{V: 1, Parts: []events.Part{events.Text("a")}}}, noon, live())
	for i, e := range d.Events {
		if start, ok := e.(events.TurnStarted); ok {
			start.Rules = 1
			d.Events[i] = start
		}
	}
	s.commit(chat.Command{ID: "c", Sequence: 9}, d.Events)
	list := s.answer(call("ask", "{}"), call("look", "{}"))
	wants(t, list, "step.completed", "tool.completed", "tool.requested")
	if r := find[events.ToolCompleted](t, list); r.Status != events.ToolDenied {
		t.Errorf("status %q", r.Status)
	}
}
