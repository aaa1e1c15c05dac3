//go:build processes

package system

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	evolve "github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

const (
	longTurns    = 2_100  // each is a question and an answer
	smallWindow  = 40_000 // tokens: what the chat says is four times as much
	instructions = "Answer in one line."
)

// Compacted again and again, a chat of thousands of messages keeps its instructions
// and never outgrows its model, and its turns take no longer than in its youth.
func TestS10_4_ALongChatIsCompactedAndStaysFast(t *testing.T) {
	t.Parallel()
	s := newSystem(t, options{})
	s.startProjections()
	s.startOrchestrator(func(cfg *orchestrator.Config, _ *orchestrator.Bus) {
		cfg.Windows = map[string]evolve.Window{"small": {Tokens: smallWindow}}
	})
	c := &chat{T: t, s: s, c: client.New(s.nc, "", "user:test"), log: s.bus.Log}
	c.key = c.c.Key(client.NewID())
	c.model = s.models.add("small", asModel(inFewWords))
	c.do(protocol.Create{V: protocol.Version, Settings: events.Settings{Model: "small", System: instructions}})

	took := c.hurry(longTurns)

	summaries := 0
	for _, r := range c.model.asked() {
		if tokens := tokensOf(r); tokens > smallWindow {
			t.Fatalf("the model was shown %d tokens, and its window has %d", tokens, smallWindow)
		}
		if r.System != instructions {
			t.Fatalf("the instructions are %q", r.System)
		}
		if isSummary(r) {
			summaries++
		}
	}
	if summaries < 2 {
		t.Errorf("compacted %d times, want twice at least", summaries)
	}
	early, late := slices.Min(took[100:300]), slices.Min(took[longTurns-200:])
	t.Logf("compacted %d times; turn 200 took %v, turn 2,000 %v", summaries, early, late)
	if late*10 > early*13 {
		t.Errorf("turn 2,000 takes %v, and turn 200 took %v", late, early)
	}
	c.stillWorks()
	c.judge()
}

// hurry takes turns one after the other and gives what each took. It looks at what
// the bus says of each commit: reading the log for each would take longer than they do.
func (c *chat) hurry(turns int) []time.Duration {
	c.Helper()
	commits, err := c.s.nc.SubscribeSync(protocol.FeedCommitSubject(c.key))
	if err != nil {
		c.Fatal(err)
	}
	var took []time.Duration
	for n := range turns {
		began := time.Now()
		c.do(send(fmt.Sprintf("question %d %s", n, strings.Repeat("q ", 50))))
		c.completed(commits)
		took = append(took, time.Since(began))
	}
	if err := commits.Unsubscribe(); err != nil {
		c.Fatal(err)
	}
	return took
}

func (c *chat) completed(commits *nats.Subscription) {
	c.Helper()
	ctx := patient(c.T)
	for {
		m, err := commits.NextMsgWithContext(ctx)
		switch {
		case err != nil:
			c.Fatal(err)
		case bytes.Contains(m.Data, []byte(`"turn.failed.`)):
			c.Fatalf("a turn failed: %s", m.Data)
		case bytes.Contains(m.Data, []byte(`"turn.completed.`)):
			return
		}
	}
}

// isSummary reports whether a model is asked for one. The last message does, all
// others are of this test.
func isSummary(r model.Request) bool {
	return !strings.HasPrefix(textOf(r.Messages[len(r.Messages)-1].Parts), "question")
}

func tokensOf(r model.Request) int64 {
	characters := len(r.System)
	for _, m := range r.Messages {
		characters += len(textOf(m.Parts))
	}
	return int64(characters / 4)
}

func inFewWords(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	text := "answer " + strings.Repeat("a ", 50)
	if isSummary(r) {
		text = "notes " + strings.Repeat("n ", 500)
	}
	return func(yield func(model.Delta, error) bool) {
		yield(model.Delta{Answer: &model.Answer{
			Parts: []events.Part{events.Text(text)}, Stop: events.StopEnd,
			Usage: events.Usage{Input: tokensOf(r), Output: int64(len(text) / 4)},
		}}, nil)
	}
}
