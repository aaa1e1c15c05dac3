package chat_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// reviewer has a value for every setting.
func reviewer() events.Settings {
	return events.Settings{
		Model: "agent's", System: "agent's", Tools: &[]string{"look", "pay"}, Approval: events.ApprovalAsk,
		Limits: &events.Limits{Steps: 3, OutputTokens: 300},
	}
}

// under lets the chat handle a command while there are those agents, and gives the
// decision.
func (s *story) under(agents map[string]events.Settings, b protocol.Body) chat.Decision {
	s.t.Helper()
	s.seq++
	now := live()
	now.Defaults = events.Settings{Model: "default", System: "default", Limits: &events.Limits{ApprovalMS: 1000}}
	now.Agents = agents
	m := chat.Command{ID: "named-" + string(rune('a'+s.seq)), By: "user:ann", Sequence: s.seq, Body: b, Schemas: schemas(s.t)}
	d := chat.Handle(s.state, m, s.at, now)
	s.commit(m, d.Events)
	return d
}

func saying(wish *events.Settings) protocol.Send {
	return protocol.Send{V: 1, Parts: []events.Part{events.Text("hello")}, Settings: wish}
}

// started is the start of a turn among events, with its settings.
func started(t *testing.T, list []events.Event) events.Effective {
	t.Helper()
	for _, e := range list {
		if e, ok := e.(events.TurnStarted); ok && e.Settings.Body != nil {
			return *e.Settings.Body
		}
	}
	t.Fatalf("no turn with settings starts: %v", list)
	return events.Effective{}
}

func offeredNames(e events.Effective) []string {
	names := []string{}
	for _, tool := range e.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// Each setting of the send stands above the chat's, that above the agent's, that
// above the defaults; and each is taken by itself.
func TestS1_4_AnAgentStandsBetweenTheDefaultsAndTheChat(t *testing.T) {
	t.Parallel()
	agents := map[string]events.Settings{"reviewer": reviewer(), "short": {System: "be short"}}
	for _, tt := range []struct {
		name string
		chat events.Settings
		send *events.Settings
		want func(*events.Effective)
	}{
		{"the chat's agent gives what nobody else says", events.Settings{Agent: "reviewer"}, nil, func(*events.Effective) {}},
		{
			"the send's agent is taken for the chat's",
			events.Settings{Agent: "short"},
			&events.Settings{Agent: "reviewer"},
			func(*events.Effective) {},
		},
		{
			"the chat says otherwise",
			events.Settings{Agent: "reviewer", Model: "chat's", Limits: &events.Limits{Steps: 5}},
			nil,
			func(e *events.Effective) { e.Model, e.Limits.Steps = "chat's", 5 },
		},
		{
			"the send says otherwise than both",
			events.Settings{Agent: "reviewer", Model: "chat's"},
			&events.Settings{Model: "send's", Approval: events.ApprovalFull},
			func(e *events.Effective) { e.Model, e.Approval = "send's", events.ApprovalFull },
		},
		{
			"the chat's own settings stay above the send's agent",
			events.Settings{System: "chat's"},
			&events.Settings{Agent: "reviewer"},
			func(e *events.Effective) { e.System = "chat's" },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t)
			s.under(agents, protocol.Configure{V: 1, Settings: tt.chat})
			got := started(t, s.under(agents, saying(tt.send)).Events)
			want := events.Effective{
				Agent: "reviewer", Model: "agent's", Pool: chat.DefaultPool, System: "agent's", Approval: events.ApprovalAsk,
				Limits: events.Limits{Steps: 3, OutputTokens: 300, ApprovalMS: 1000}, Tools: got.Tools,
			}
			tt.want(&want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the turn runs with (-want +got):\n%s", diff)
			}
			if names := offeredNames(got); !slices.Equal(names, []string{"look", "pay"}) {
				t.Errorf("the turn has the tools %v, want those of the agent", names)
			}
		})
	}
}

// A turn goes on with what stands in the log, whatever becomes of the agent.
func TestS1_4_AChangedAgentTakesEffectWithTheNextTurn(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.under(map[string]events.Settings{"reviewer": reviewer()}, protocol.Configure{V: 1, Settings: events.Settings{Agent: "reviewer"}})
	s.under(map[string]events.Settings{"reviewer": reviewer()}, saying(nil))
	if e, _ := s.state.Effective(); e.System != "agent's" || e.Agent != "reviewer" {
		t.Errorf("the turn runs with %+v", e)
	}
	s.answer(events.Text("done")) // whoever decides that knows no agent any more
	if _, running := s.state.Running(); running {
		t.Error("the turn goes on")
	}
	changed := map[string]events.Settings{"reviewer": {System: "be kind"}}
	got := started(t, s.under(changed, saying(nil)).Events)
	if got.System != "be kind" || got.Model != "default" {
		t.Errorf("the next turn runs with %+v", got)
	}
}

// Rule: S1.4. Whoever mistypes a name learns of it at once, and nothing changes.
func TestS1_4_AnAgentThatIsNotThereIsRefusedByName(t *testing.T) {
	t.Parallel()
	wish := events.Settings{Agent: "revewer"}
	agents := map[string]events.Settings{"reviewer": reviewer()}
	for _, b := range []protocol.Body{saying(&wish), protocol.Configure{V: 1, Settings: wish}} {
		s := begin(t)
		list := s.under(agents, b).Events
		no, ok := list[0].(events.CommandRejected)
		if !ok || len(list) != 1 || no.Code != events.CodeInvalidSettings || !strings.Contains(no.Message, `"revewer"`) {
			t.Errorf("%s: %+v, want a no that names it", b.Verb(), list)
		}
	}
	s := &story{t: t, at: noon}
	d := s.under(agents, protocol.Create{V: 1, Settings: wish})
	if d.Refused == nil || d.Refused.Code != events.CodeInvalidSettings || len(d.Events) > 0 {
		t.Errorf("create: %+v, want a no without a commit", d)
	}
	s = begin(t)
	list := s.under(agents, protocol.Configure{V: 1, Settings: events.Settings{Agent: "No Name"}}).Events
	if no, ok := list[0].(events.CommandRejected); !ok || no.Code != events.CodeInvalidSettings {
		t.Errorf("a name that cannot be one: %+v", list)
	}
}

// Rule: S1.4. Without the agent's instructions the model would do something that
// nobody asked for; so it is not asked.
func TestS1_4_ATurnWhoseAgentIsGoneFailsAndSaysSo(t *testing.T) {
	t.Parallel()
	agents := map[string]events.Settings{"reviewer": reviewer()}
	s := begin(t)
	s.under(agents, protocol.Configure{V: 1, Settings: events.Settings{Agent: "reviewer"}})
	list := s.under(nil, saying(nil)).Events
	if e := started(t, list); e.Agent != "reviewer" || !e.NoAgent {
		t.Errorf("the turn runs with %+v", e)
	}
	failed, ok := list[len(list)-1].(events.TurnFailed)
	if !ok || failed.Class != events.ClassInvalidRequest || !strings.Contains(failed.Message, `"reviewer"`) || failed.Totals != (events.Totals{}) {
		t.Errorf("it ends with %+v, want a failure that names the agent", list[len(list)-1])
	}
	if owed := chat.Owed(s.state); len(owed) > 0 {
		t.Errorf("%v is owed, want nothing: no model is asked", owed)
	}

	again := s.under(agents, protocol.Retry{V: 1}).Events
	if e := started(t, again); e.NoAgent || e.System != "agent's" {
		t.Errorf("when the agent is back, a retry runs with %+v", e)
	}
	if last, ok := again[len(again)-1].(events.StepRequested); !ok {
		t.Errorf("a retry ends with %+v, want a step", last)
	}
}

// Rule: S1.4. A release that knows no agents must not decide such a chat: it cannot
// read the commit that names one.
func TestS1_4_WhatNamesAnAgentIsLeftAloneByOlderReleases(t *testing.T) {
	t.Parallel()
	agents := map[string]events.Settings{"reviewer": reviewer()}
	wish := events.Settings{Agent: "reviewer"}
	named := func(list []events.Event) bool {
		return slices.Contains(list, events.Event(events.AgentNamed{Agent: "reviewer"}))
	}
	first := &story{t: t, at: noon}
	if d := first.under(agents, protocol.Create{V: 1, Settings: wish}); !named(d.Events) {
		t.Errorf("create: %v", d.Events)
	}
	for _, b := range []protocol.Body{saying(&wish), protocol.Configure{V: 1, Settings: wish}} {
		if d := begin(t).under(agents, b); !named(d.Events) {
			t.Errorf("%s: %v", b.Verb(), d.Events)
		}
	}
	if d := begin(t).under(agents, saying(nil)); named(d.Events) {
		t.Errorf("a chat without an agent: %v", d.Events)
	}
}

func TestWhoMustKnowTheAgents(t *testing.T) {
	t.Parallel()
	agents := map[string]events.Settings{"reviewer": reviewer()}
	wish := &events.Settings{Agent: "reviewer"}
	plain := begin(t)
	if chat.NeedsAgents(plain.state, chat.Command{Body: saying(nil)}) {
		t.Error("a chat without an agent waits for them")
	}
	if !chat.NeedsAgents(plain.state, chat.Command{Body: saying(wish)}) {
		t.Error("a command that names one does not wait for them")
	}
	plain.under(agents, saying(wish))
	if !chat.NeedsAgents(plain.state, chat.Command{Body: protocol.Retry{V: 1}}) {
		t.Error("what follows an input that names one does not wait for them")
	}
	configured := begin(t)
	configured.under(agents, protocol.Configure{V: 1, Settings: *wish})
	if !chat.NeedsAgents(configured.state, chat.Command{Body: saying(nil)}) {
		t.Error("a chat that names one does not wait for them")
	}
	end := chat.TimerDue{Name: protocol.TimerName{Kind: protocol.TimerEnd, Turn: 1}}
	configured.under(agents, saying(nil))
	for _, m := range []chat.Message{end, chat.Recall{}, chat.Command{Body: protocol.Interrupt{V: 1}}} {
		if chat.NeedsAgents(configured.state, m) {
			t.Errorf("%T, by which a turn ends, waits for them", m)
		}
	}
	configured.under(agents, saying(nil))
	if !chat.NeedsAgents(configured.state, end) {
		t.Error("the end of a turn that another one waits for does not wait for them")
	}
}

func TestWhetherAChildThatNamesAnAgentNeedsIt(t *testing.T) {
	t.Parallel()
	birth := chat.Birth{Settings: events.Settings{Agent: "reviewer"}}
	if !chat.NeedsAgents(chat.State{}, birth) {
		t.Error("one that is to work does not wait for the agents")
	}
	if chat.NeedsAgents(begin(t).state, birth) {
		t.Error("one that is there waits for them")
	}
	if birth.Stopped = true; chat.NeedsAgents(chat.State{}, birth) {
		t.Error("one that is made only to have ended waits for them")
	}
}
