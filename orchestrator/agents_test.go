package orchestrator_test

import (
	"context"
	"errors"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

// lateAgents cannot be read until they are there.
type lateAgents struct {
	there chan map[string]map[string]events.Settings
}

func (a lateAgents) Watch(ctx context.Context, on func(map[string]map[string]events.Settings)) error {
	select {
	case all := <-a.there:
		on(all)
	default:
		return errors.New("nobody lets us")
	}
	<-ctx.Done()
	return ctx.Err()
}

// Without the right to read the agents, or right after a start, nobody knows that an
// agent is missing.
//
// Rule: S1.4.
func TestS1_4_WhoDoesNotKnowTheAgentsDecidesNoChatThatNamesOne(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		other := events.Key{Tenant: chatA.Tenant, Chat: "other"}
		late := lateAgents{make(chan map[string]map[string]events.Settings, 1)}
		o := r.start(answers(says("done"), says("done")), func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Agents = late })
		_, outcome := r.command(chatA, protocol.Create{V: protocol.Version, Settings: events.Settings{Agent: "reviewer"}})
		r.do(other, create())
		r.do(other, send("hello"))
		r.eventually("a chat without an agent goes on", func() bool { return r.has(other, "turn.completed.v1") })
		r.eventually("the other is given back", func() bool { return o.counted("given_back") > 0 })
		if r.has(chatA, "chat.created.v1") {
			t.Error("a chat that names an agent is made")
		}
		late.there <- map[string]map[string]events.Settings{chatA.Tenant: {"reviewer": {System: "You review."}}}
		if made := outcome(); !made.OK {
			t.Errorf("when they are known: %+v", made)
		}
		r.do(chatA, send("hello"))
		r.eventually("it goes on, too", func() bool { return r.has(chatA, "turn.completed.v1") })
		if body := eventsOf[events.TurnStarted](r, chatA)[0].Settings.Body; body.System != "You review." {
			t.Errorf("it runs with %+v", body)
		}
	})
}
