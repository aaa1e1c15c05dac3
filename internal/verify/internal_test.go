package verify

import (
	"strconv"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// No log can make a state depend on clocks as long as chat folds none, so the
// rule is tried on two states that differ.
func TestAStateThatDependsOnClocksIsReported(t *testing.T) {
	t.Parallel()

	var found []Violation
	h := newHistory(events.Key{Tenant: "acme", Chat: "ann"}, Options{}, newSchemas(nil), &found)
	created := events.Commit{Key: h.key, Rev: 1, Events: []events.Event{events.ChatCreated{}}}
	archived := events.Commit{Key: h.key, Rev: 2, Events: []events.Event{events.ChatArchived{}}}
	h.fold.state = chat.State{}.Apply(created, "")
	h.fold.shifted = chat.State{}.Apply(created, "").Apply(archived, "")
	h.fold.judge(h)
	if len(found) != 1 || found[0].Rule != RuleBounds {
		t.Errorf("found %v, want one violation of %s", found, RuleBounds)
	}
}

func TestAStateThatDiffersFromItsSnapshotsIsReported(t *testing.T) {
	t.Parallel()

	var found []Violation
	h := newHistory(events.Key{Tenant: "acme", Chat: "ann"}, Options{}, newSchemas(nil), &found)
	created := events.Commit{Key: h.key, Rev: 1, Events: []events.Event{events.ChatCreated{}}}
	archived := events.Commit{Key: h.key, Rev: 2, Events: []events.Event{events.ChatArchived{}}}
	h.fold.state = chat.State{}.Apply(created, "")
	h.fold.shifted = h.fold.state
	h.fold.resumed = h.fold.state.Apply(archived, "")
	h.fold.judge(h)
	if len(found) != 1 || found[0].Rule != RuleReplay {
		t.Errorf("found %v, want one violation of %s", found, RuleReplay)
	}
}

func TestRecentForgetsTheOldest(t *testing.T) {
	t.Parallel()

	const limit = 3
	r := newRecent[int](limit)
	for i := range 1_000 {
		r.put(strconv.Itoa(i), i)
	}
	r.put("999", 7)
	if len(r.at) != limit || len(r.order) != limit || cap(r.order) > 10*limit {
		t.Errorf("%d entries in an order of %d with room for %d, want %d", len(r.at), len(r.order), cap(r.order), limit)
	}
	if _, ok := r.get("996"); ok {
		t.Error("the fourth newest is remembered")
	}
	if v, ok := r.get("999"); !ok || v != 7 {
		t.Errorf("the newest is %d, %t, want what was put last", v, ok)
	}
}
