package system

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	evolve "github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

const (
	smallTokens = 2_000
	mark        = "MARK OF THE INSTRUCTIONS"
)

// crowded is a chat whose model has a small window. Summary is what it answers when
// it is asked for one; all else it repeats.
func crowded(t *testing.T, summary string) *chat {
	t.Helper()
	s := newSystem(t, options{})
	s.startProjections()
	s.startOrchestrator(func(cfg *orchestrator.Config, _ *orchestrator.Bus) {
		cfg.Windows = map[string]evolve.Window{"small": {Tokens: smallTokens}}
	})
	s.startRunner(nil)
	c := &chat{T: t, s: s, c: client.New(s.nc, "", "user:test"), log: s.bus.Log}
	c.key = c.c.Key(client.NewID())
	c.model = s.models.add("small", asModel(func(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
		if asksForSummary(r) {
			return answers(events.StopEnd, events.Text(summary))
		}
		return answers(events.StopEnd, events.Text("heard"))
	}))
	c.do(protocol.Create{V: protocol.Version, Settings: events.Settings{Model: "small", System: mark}})
	return c
}

// asksForSummary reports whether the last message is not one of these tests.
func asksForSummary(r model.Request) bool {
	text := textOf(r.Messages[len(r.Messages)-1].Parts)
	return text != areYouThere && !strings.HasPrefix(text, "say")
}

// B22: a summary that is no shorter than what it stands for ends the turn visibly.
// It is not asked for again and again, and no model takes it for a task.
func TestB22ASummaryThatDoesNotHelpIsAskedForOnce(t *testing.T) {
	t.Parallel()
	c := crowded(t, strings.Repeat("longer and longer ", 1_000))
	failed := 0
	for n := 1; failed == 0; n++ {
		h := c.turn(fmt.Sprintf("say %d %s", n, strings.Repeat("much ", 200)))
		failed = len(all[events.TurnFailed](h))
	}
	if e := only[events.TurnFailed](c); e.Class != events.ClassContextTooLarge || e.Message == "" {
		t.Errorf("the turn failed with %+v", e)
	}
	only[events.ContextCompactionFailed](c)
	asked := 0
	for _, r := range c.model.asked() {
		if asksForSummary(r) {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("a summary was asked for %d times", asked)
	}
	c.do(protocol.Clear{V: protocol.Version})
	c.stillWorks()
	c.judge()
}

// B24: what a model is told of its task and its tools is the same before and after a
// context was compacted, twice.
func TestB24InstructionsSurviveCompactions(t *testing.T) {
	t.Parallel()
	c := crowded(t, "notes")
	compacted := 0
	for n := 1; compacted < 2; n++ {
		h := c.turn(fmt.Sprintf("say %d %s", n, strings.Repeat("much ", 100)))
		compacted = len(all[events.ContextCompacted](h))
	}
	c.turn("say one thing more")
	asked := c.model.asked()
	first := asked[0]
	if first.System != mark || len(first.Tools) == 0 {
		t.Fatalf("at first the model is told %q, and of %d tools", first.System, len(first.Tools))
	}
	for i, r := range asked {
		if r.System != first.System {
			t.Errorf("request %d says %q", i+1, r.System)
		}
		if diff := cmp.Diff(first.Tools, r.Tools); diff != "" && !asksForSummary(r) {
			t.Errorf("tools of request %d (-first +this):\n%s", i+1, diff)
		}
	}
	last := asked[len(asked)-1].Messages[0]
	if text := textOf(last.Parts); last.Role != model.RoleUser || !strings.Contains(text, "notes") || !strings.Contains(text, "no request") {
		t.Errorf("the summary is shown as %s: %q", last.Role, text)
	}
	c.stillWorks()
	c.judge()
}
