package replay_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/replay"
	"github.com/everturn/everturn/model"
)

// Whoever asks why a step was asked for learns that outputs were left out before,
// and what brought that about.
func TestS10_5_WhyOutputsWereLeftOut(t *testing.T) {
	t.Parallel()
	log := chatgen.New(ann)
	log.Live.Windows = map[string]chat.Window{"small": {Tokens: 150_000}}
	log.Create(events.Settings{})
	log.Send("look")
	for step := range 3 {
		log.AnswerWith(model.Answer{
			Parts: []events.Part{chatgen.Call(chatgen.ToolRead, "{}")}, Stop: events.StopCalls, Usage: events.Usage{Input: 10},
		})
		id := events.CallID{Turn: 1, Step: step + 1, Ordinal: 1}
		log.Claim(id, 1)
		log.Pictures(id, 30)
	}
	log.AnswerWith(model.Answer{Parts: []events.Part{events.Text("done")}, Stop: events.StopEnd, Usage: events.Usage{Input: 120_000}})
	log.Send("and now?")
	chain, err := replay.Why(log.Commits, "step:2.1")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"13.4 step.requested.v1", "13.3 context.compacted.v1", "13.2 turn.started.v1", "13.1 input.accepted.v1 by command",
	}
	if got := links(chain); !slices.Equal(got, want) {
		t.Errorf("chain %v, want %v", got, want)
	}
}
