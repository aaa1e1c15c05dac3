package verify_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
)

type mutation struct {
	rule   verify.Rule
	name   string
	story  func(*testing.T) *chatgen.Chat // story if nil
	mutate func(log) log
}

func mutations() []mutation {
	return slices.Concat(
		chainMutations(), turnMutations(), outcomeMutations(), stepMutations(), callMutations(), licenceMutations(),
		orderMutations(), resultMutations(), restMutations(), limitMutations(), endMutations(), busyMutations(), inheritMutations(),
		questionMutations(), actionMutations(), contextMutations(), maskingMutations(),
		approvalMutations(),
		agentMutations(), budgetMutations(), grantMutations(),
		branchMutations(), planMutations(), reviewMutations(), titleMutations(), artifactMutations(), skillMutations(),
		erasureMutations(), childMutations(),
	)
}

// Each rule has at least five logs that break it: something is dropped, repeated,
// swapped, changed, or moved past a border. The chain of hashes is good in each.
func TestMutatedLogsAreReported(t *testing.T) {
	t.Parallel()

	for _, tt := range mutations() {
		t.Run(string(tt.rule)+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			tell := tt.story
			if tell == nil {
				tell = story
			}
			c := tell(t)
			found := check(tt.mutate(logOf(c)).chainOf(t, c.Key()), verify.Options{Idle: true, Schema: schema, Blob: blobs(c)})
			if !slices.ContainsFunc(found, func(v verify.Violation) bool { return v.Rule == tt.rule }) {
				t.Errorf("not reported; found: %v", found)
			}
		})
	}
}

func TestTheStoriesAreLegal(t *testing.T) {
	t.Parallel()
	for name, tell := range stories() {
		c := tell(t)
		for _, v := range check(logOf(c).chainOf(t, c.Key()), verify.Options{Idle: true, Schema: schema, Blob: blobs(c)}) {
			t.Errorf("%s: %s", name, v)
		}
	}
}

// A rule without mutations could be one that is never judged.
func TestEachRuleHasMutationsOfEveryKind(t *testing.T) {
	t.Parallel()

	kinds := []string{"dropped", "repeated", "swapped", "changed", "moved"}
	for _, info := range verify.Rules() {
		count, seen := 0, map[string]bool{}
		note := func(name string) {
			kind, _, _ := strings.Cut(name, ": ")
			if !slices.Contains(kinds, kind) {
				t.Errorf("%s: %q is of no kind", info.Rule, name)
			}
			count++
			seen[kind] = true
		}
		for _, m := range mutations() {
			if m.rule == info.Rule {
				note(m.name)
			}
		}
		if info.Rule == verify.RuleReplay {
			for _, m := range snapshotMutations() {
				note(m.name)
			}
		}
		if info.Rule == verify.RuleChildren {
			for _, m := range kinMutations() {
				note(m.name)
			}
		}
		switch {
		case !info.Judged && count > 0:
			t.Errorf("%s does not apply yet and has %d mutations", info.Rule, count)
		case info.Judged && (count < len(kinds) || len(seen) < len(kinds)):
			t.Errorf("%s has %d mutations of the kinds %v, want at least one of each of %v", info.Rule, count, slices.Sorted(maps.Keys(seen)), kinds)
		}
		t.Logf("%s %d", info.Rule, count)
	}
}
