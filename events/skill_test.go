package events_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
)

// skilled has those of [grownCosts] that have got fields for skills.
func skilled() map[events.Type]events.Event {
	names := &[]string{"pdf-forms"}
	created := grownCosts()["chat.created.v1"].(events.ChatCreated)
	inherited := grownCosts()["chat.created.v2"].(events.ChatInherited)
	configured := grownCosts()["chat.configured.v1"].(events.ChatConfigured)
	spawned := examples()["chat.created.v3"].full.(events.ChatSpawned)
	accepted := grownCosts()["input.accepted.v1"].(events.InputAccepted)
	started := grownCosts()["turn.started.v1"].(events.TurnStarted)
	for _, s := range []*events.Settings{&created.Settings, &inherited.Settings, &configured.Settings, &spawned.Settings, accepted.Settings} {
		s.Skills = names
	}
	started.Settings.Body.Skills = []events.Skill{{
		Name: "pdf-forms", Description: "Fills in forms.", Digest: another, Bytes: 4096,
		Files: []events.SkillFile{{Path: "scripts/fill.py", Digest: another, Bytes: 32_000, Whole: 40_000}},
	}}
	all := map[events.Type]events.Event{}
	for _, e := range []events.Event{created, inherited, configured, spawned, accepted, started} {
		all[e.EventType()] = e
	}
	return all
}

func TestS12_NamesOfSkillsAreThoseOfFolders(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "pdf", "pdf-forms", "2-step-x", strings.Repeat("a", events.MaxSkillNameBytes)} {
		if err := events.ValidateSkill(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "-", "-a", "a-", "a--b", "PDF", "a_b", "a b", "a/b", "..", "é", "a.b", "$a", strings.Repeat("a", events.MaxSkillNameBytes+1)} {
		if events.ValidateSkill(name) == nil {
			t.Errorf("%q is one", name)
		}
	}
}
