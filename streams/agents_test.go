package streams_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
)

type everyAgent = map[string]map[string]events.Settings

func TestAgentsAreFollowedAsTheyChange(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	full := events.Settings{
		Model: "m", System: "s", Tools: &[]string{}, Approval: events.ApprovalAsk, Limits: &events.Limits{Steps: 3, ApprovalMS: 1},
	}
	must(s.Agents.Put(ctx, "acme", "gone", full))
	must(s.Agents.Delete(ctx, "acme", "gone"))
	must(s.Agents.Put(ctx, "acme", "reviewer", events.Settings{System: "old"}))
	must(s.Agents.Put(ctx, "acme", "reviewer", full))
	must(s.Agents.Put(ctx, "other", "reviewer", events.Settings{Model: "other's"}))
	_, err := s.js.Publish(ctx, "$KV.AGENTS.acme.damaged", []byte("{")) // by hand
	must(err)
	_, err = s.js.Publish(ctx, "$KV.AGENTS.alone", []byte("{}"))
	must(err)

	told := make(chan everyAgent, 10)
	watching, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Agents.Watch(watching, func(all everyAgent) { told <- all }) }()
	next := func(want everyAgent) everyAgent {
		t.Helper()
		select {
		case got := <-told:
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			return got
		case <-ctx.Done():
			t.Fatal("nothing is told")
		}
		return nil
	}
	other := map[string]events.Settings{"reviewer": {Model: "other's"}}
	first := next(everyAgent{"acme": {"reviewer": full}, "other": other})
	must(s.Agents.Put(ctx, "acme", "second", events.Settings{}))
	next(everyAgent{"acme": {"reviewer": full, "second": {}}, "other": other})
	must(s.Agents.Delete(ctx, "acme", "reviewer"))
	next(everyAgent{"acme": {"second": {}}, "other": other})
	if diff := cmp.Diff(everyAgent{"acme": {"reviewer": full}, "other": other}, first); diff != "" {
		t.Errorf("what was told has changed since:\n%s", diff)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the watch ended with %v", err)
	}

	list, err := s.Agents.List(ctx, "acme")
	if diff := cmp.Diff(map[string]events.Settings{"second": {}}, list); err != nil || diff != "" {
		t.Errorf("listed (-want +got): %v\n%s", err, diff)
	}
	if list, err := s.Agents.List(ctx, "nobody"); err != nil || len(list) > 0 {
		t.Errorf("nobody has %v, %v", list, err)
	}
}
