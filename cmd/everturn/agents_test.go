package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everturn/everturn/internal/cli"
)

func TestAgentsAreKeptAndReferredTo(t *testing.T) {
	t.Parallel()
	b := dev(t)
	file := filepath.Join(t.TempDir(), "agents.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	does := func(code int, words string, args ...string) {
		t.Helper()
		r := b.command("", args...)
		said := r.out
		if r.failure != nil {
			said += r.failure.Error()
		}
		if r.code != code || !strings.Contains(said, words) {
			t.Errorf("%v: exit code %d: %s\nwant %d and %q", args, r.code, said, code, words)
		}
	}
	write("agents:\n  - name: reviewer\n    system: You review.\n    approve: ask\n")
	does(cli.ExitUsage, file+":4:5: unknown field \"approve\"", "agents", "apply", file)
	does(cli.ExitUsage, `there is none named "reviewer"`, "send", "hello", "--chat", "c1", "--agent", "reviewer")
	write("agents:\n  - name: reviewer\n    system: You review.\n    tools: []\n  - name: other\n")
	does(0, "agent reviewer: created\nagent other: created\n", "agents", "apply", file)
	does(0, "agent reviewer: unchanged\nagent other: unchanged\n", "agents", "apply", file)
	write("agents:\n  - name: reviewer\n    system: You review.\n    approval: ask\n")
	does(0, "agent reviewer: changed\n", "agents", "apply", file)
	does(0, "reviewer  -      all    ask       You review.\n", "agents", "list")
	does(0, `{"name":"other","settings":{}}`, "agents", "list", "--json")
	does(0, "agents:\n  - name: reviewer\n    system: You review.\n    approval: ask\n", "agents", "show", "reviewer")
	does(0, `{"name":"reviewer","settings":{"system":"You review.","approval":"ask"}}`, "agents", "show", "reviewer", "--json")
	does(0, "APPROVAL  SYSTEM\n", "agents", "list", "--tenant", "nobody")
	does(cli.ExitNotFound, `there is no agent "revewer"`, "agents", "show", "revewer")

	for b.command("", "configure", "c1", "--agent", "reviewer").code != 0 {
		continue // the orchestrator has not been told of it yet
	}
	does(0, "", "send", "hello", "--chat", "c1")
	b.command("", "tail", "c1", "--until-idle")
	does(0, `"agent":"reviewer"`, "log", "c1", "--json")
	does(0, `agent.named.v1              {"agent":"reviewer"}`, "log", "c1")

	does(0, "agent other: removed\n", "agents", "remove", "other")
	does(cli.ExitNotFound, `there is no agent "other"`, "agents", "remove", "other")
	does(0, "", "verify", "c1")
	does(0, "", "replay", "c1")
}
