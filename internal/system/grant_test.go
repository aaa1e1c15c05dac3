package system

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

const (
	manyTasks  = 50
	manyBudget = manyTasks * microsEach // half of what all tasks take, and the parent's own steps
)

// costly has tasks done by sub-agents as splitting does, every other one in a single
// step, and takes money for each step.
func costly() asModel {
	long, short, split := priced(3, nil), priced(1, nil), splitting()
	return func(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
		switch text := textOf(r.Messages[0].Parts); {
		case !strings.HasPrefix(text, "split: ") && text == sayDone:
			return short(ctx, r)
		case !strings.HasPrefix(text, "split: "):
			return long(ctx, r)
		}
		return func(yield func(model.Delta, error) bool) {
			for d, err := range split.Stream(ctx, r) {
				if d.Answer != nil {
					d.Answer.Usage, d.Answer.CostMicros = events.Usage{Output: tokensEach}, new(int64(microsEach))
				}
				if !yield(d, err) {
					return
				}
			}
		}
	}
}

// Fifty children, eight at a time, under one budget that is not enough for all: what
// they cost together is no more than that and one step of each. With more of it their
// parent goes on.
//
// Rules: S1.1.6, S11.
func TestS11_FiftyChildrenCostNoMoreThanTheirBudget(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	c := s.family(t, costly())
	c.do(protocol.Configure{V: protocol.Version, Settings: events.Settings{Tools: &[]string{"delegate", "ping"}}})
	turn := c.sendWith("split:"+strings.Repeat(" work "+sayDone, manyTasks/2), events.Budget{CostMicros: manyBudget}).Turn
	c.waits(1)

	spent := c.spentByAll(c.read())
	if spent > manyBudget+(manyTasks+1)*microsEach {
		t.Errorf("all together cost %d, of %d", spent, manyBudget)
	}
	c.do(protocol.Extend{V: protocol.Version, Turn: turn, Add: events.Budget{CostMicros: events.Unlimited}})
	h := c.ended(turn)
	if n := len(all[events.ChildEnded](h)); n != manyTasks {
		t.Errorf("%d children have ended", n)
	}
	var outcomes []events.ChildOutcome
	for _, e := range all[events.ChildEnded](h) {
		outcomes = append(outcomes, e.Outcome)
	}
	if !slices.Contains(outcomes, events.ChildBudget) || !slices.Contains(outcomes, events.ChildCompleted) {
		t.Errorf("they ended %v", outcomes)
	}
	if !strings.HasPrefix(h.finalText(), "They said: ") {
		t.Errorf("the answer is %q", h.finalText())
	}
	t.Logf("%d micros were spent of %d by the first %d children", spent, manyBudget, len(all[events.ChildSpawned](c.read())))
	c.judgeFamily()
}

// spentByAll is what the steps of a chat and of its children cost, each of which has
// at most what it was granted, and one step.
func (c *chat) spentByAll(h history) (spent int64) {
	c.Helper()
	for _, e := range all[events.StepCompleted](h) {
		spent += *e.CostMicros
	}
	for _, e := range all[events.ChildSpawned](h) {
		of := c.child(e.Call).read()
		took := int64(0)
		for _, step := range all[events.StepCompleted](of) {
			took += *step.CostMicros
		}
		if granted := e.Granted.CostMicros; granted < 1 || took > granted+microsEach {
			c.Errorf("call %s was granted %d, and its child cost %d", e.Call, granted, took)
		}
		spent += took
	}
	return spent
}
