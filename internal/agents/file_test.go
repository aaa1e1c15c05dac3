package agents_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/agents"
	"github.com/everturn/everturn/internal/deptest"
)

func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("events", "chat", "internal/yamlfile")...)
}

const whole = `agents:
  - name: reviewer
    model: sonnet
    system: |
      You review code.
      Be brief.
    tools: [read_file, ask_user]
    skills: [pdf-forms]
    approval: ask
    reviewer: haiku
    titler: flash
    limits:
      steps: 20
      output_tokens: 4000
      approval_ms: 600000
    budget:
      tokens: 100000
      time_ms: 60000
    chat_budget:
      cost_micros: 5000000
  - name: mute_1
    tools: []
`

func TestAFileIsReadAndWrittenAgain(t *testing.T) {
	t.Parallel()
	list, err := agents.Parse("a.yaml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	want := []events.Settings{
		{
			Model: "sonnet", System: "You review code.\nBe brief.\n", Tools: &[]string{"read_file", "ask_user"}, Skills: &[]string{"pdf-forms"}, Approval: events.ApprovalAsk, Reviewer: "haiku", Titler: "flash",
			Limits: &events.Limits{Steps: 20, OutputTokens: 4000, ApprovalMS: 600_000},
			Budget: &events.Budget{Tokens: 100_000, TimeMS: 60_000}, ChatBudget: &events.Budget{CostMicros: 5_000_000},
		},
		{Tools: &[]string{}},
	}
	if len(list) != 2 || list[0].Name != "reviewer" || list[1].Name != "mute_1" {
		t.Fatalf("read %+v", list)
	}
	for i, a := range list {
		if diff := cmp.Diff(want[i], a.Settings()); diff != "" {
			t.Errorf("agent %s (-want +got):\n%s", a.Name, diff)
		}
		if diff := cmp.Diff(a, agents.Of(a.Name, a.Settings())); diff != "" {
			t.Errorf("and back (-want +got):\n%s", diff)
		}
	}
	text, err := agents.Format(list)
	if err != nil {
		t.Fatal(err)
	}
	again, err := agents.Parse("b.yaml", text)
	if diff := cmp.Diff(list, again); err != nil || diff != "" {
		t.Errorf("written again it is (-want +got): %v\n%s\n%s", err, diff, text)
	}
}

func TestWhatIsWrongIsToldWithItsPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, file, want string }{
		{"no agents", "", "a.yaml:1:1: there are no agents"},
		{"an unknown key", "agents:\n  - name: a\n    modell: b\n", "a.yaml:3:5: unknown field \"modell\""},
		{"no name", "agents:\n  - model: b\n", "a.yaml:2:5: want 1 to 64 of a-z"},
		{"a name that is none", "agents:\n  - name: A b\n", "a.yaml:2:11: want 1 to 64 of a-z"},
		{"a name that is taken", "agents:\n  - name: a\n  - name: a\n", "a.yaml:3:11: the name is taken"},
		{"no such mode", "agents:\n  - name: a\n    approval: maybe\n", "a.yaml:3:15: approval: \"maybe\", want ask, auto or full"},
		{"a skill that is none", "agents:\n  - name: a\n    skills: [../x]\n", "a.yaml:3:14: skills: \"../x\": want 1 to 64 of"},
		{"a limit that is none", "agents:\n  - name: a\n    limits:\n      steps: -1\n", "a.yaml:4:14: limits.steps: want 0 to"},
		{"too much of it", "agents:\n  - name: a\n    system: " + strings.Repeat("x", 70_000) + "\n", "a.yaml:3:13: system: 70000 bytes, at most"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := agents.Parse("a.yaml", []byte(tt.file)); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got  %.200v\nwant %s", err, tt.want)
			}
		})
	}
}

// Who applies a file gets to know all that is wrong with it, by the keys.
func TestEachWrongBoundIsTold(t *testing.T) {
	t.Parallel()
	_, err := agents.Parse("a.yaml", []byte("agents:\n  - name: a\n    approval: maybe\n    budget: {tokens: -2, cost_micros: 0, time_ms: 99999999999}\n    chat_budget: {tokens: -3, time_ms: 5}\n"))
	if err == nil {
		t.Fatal("taken")
	}
	for _, want := range []string{
		`3:15: approval: "maybe", want ask, auto or full`, "4:22: budget.tokens: want 1 to 9007199254740992, or -1 for none", "budget.cost_micros: 0 is no bound",
		"budget.time_ms: want 1 to 2592000000, or -1 for none", "chat_budget.time_ms: a chat has no bound of time", "chat_budget.tokens: want 1 to",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("said %v\nwant %s", err, want)
		}
	}
}

func TestABudgetThatSaysNothingIsNone(t *testing.T) {
	t.Parallel()
	list, err := agents.Parse("a.yaml", []byte("agents:\n  - name: a\n    budget: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s := list[0].Settings(); s.Budget != nil {
		t.Errorf("read as %+v", s.Budget)
	}
	if text, err := agents.Format([]agents.Agent{agents.Of("a", events.Settings{Budget: &events.Budget{}})}); err != nil || strings.Contains(string(text), "budget") {
		t.Errorf("%v: %s", err, text)
	}
}
