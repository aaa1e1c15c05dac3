package system

import (
	"context"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

// toldAgents tells after each change that the orchestrator knows it.
type toldAgents struct {
	orchestrator.Agents

	told chan map[string]map[string]events.Settings
}

func (a toldAgents) Watch(ctx context.Context, on func(map[string]map[string]events.Settings)) error {
	return a.Agents.Watch(ctx, func(all map[string]map[string]events.Settings) {
		on(all)
		a.told <- all
	})
}

// The settings of an agent stand in the log with the turn that used them. A changed
// agent takes effect with the next turn, a removed one fails it.
//
// Rule: S1.4.
func TestS1_4_AgentsAreFollowedAndRecorded(t *testing.T) {
	t.Parallel()
	s := newSystem(t, options{})
	s.startProjections()
	told := make(chan map[string]map[string]events.Settings, 16)
	s.startOrchestrator(func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Agents = toldAgents{b.Agents, told} })

	c := s.chat(t, scripted(t, plain))
	known := func(holds func(map[string]events.Settings) bool) {
		t.Helper()
		ctx := patient(t)
		for {
			select {
			case all := <-told:
				if holds(all[c.key.Tenant]) {
					return
				}
			case <-ctx.Done():
				t.Fatal("the orchestrator does not learn of it")
			}
		}
	}
	put := func(settings events.Settings) {
		t.Helper()
		if err := s.bus.Agents.Put(patient(t), c.key.Tenant, "reviewer", settings); err != nil {
			t.Fatal(err)
		}
		known(func(all map[string]events.Settings) bool { return all["reviewer"].System == settings.System })
	}
	wish := &events.Settings{Agent: "reviewer"}
	named := send("hello")
	named.Settings = wish
	if no := c.refused(named); no.Code != events.CodeInvalidSettings || !strings.Contains(no.Message, `"reviewer"`) {
		t.Errorf("an agent that is not there: %+v", no)
	}

	put(events.Settings{System: "first", Tools: &[]string{}})
	c.ended(c.do(named).Turn)
	c.do(protocol.Configure{V: protocol.Version, Settings: *wish})
	put(events.Settings{System: "second"})
	c.turn("and now?")
	if err := s.bus.Agents.Delete(patient(t), c.key.Tenant, "reviewer"); err != nil {
		t.Fatal(err)
	}
	known(func(all map[string]events.Settings) bool { return len(all) == 0 })
	c.turn("and without?")
	put(events.Settings{System: "third"})
	h := c.ended(c.do(protocol.Retry{V: protocol.Version}).Turn)

	var systems []string
	for _, start := range all[events.TurnStarted](h) {
		body := start.Settings.Body
		if body == nil || body.Agent != "reviewer" {
			t.Fatalf("turn %d started with %+v", start.Turn, body)
		}
		systems = append(systems, body.System)
		if body.NoAgent != (body.System == "") {
			t.Errorf("turn %d started with %+v", start.Turn, body)
		}
	}
	if got := strings.Join(systems, ","); got != "first,second,,third" {
		t.Errorf("turns had the instructions %s", got)
	}
	failed := all[events.TurnFailed](h)
	if len(failed) != 1 || failed[0].Turn != 3 || !strings.Contains(failed[0].Message, `"reviewer"`) {
		t.Errorf("failed: %+v; the log is\n%s", failed, h)
	}
	c.judge()
}
