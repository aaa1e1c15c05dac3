// Package agents reads and writes the files in which operators keep agents: named
// settings that chats refer to.
package agents

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/yamlfile"
)

// maxFileBytes bounds a file of agents.
const maxFileBytes = 4 << 20

// maxAgentBytes bounds one agent: the bucket takes no larger value.
const maxAgentBytes = 200 << 10

// file is a whole file. docs/AGENTS.md explains every key.
type file struct {
	Agents []Agent `yaml:"agents"`
}

// Agent is what a file says about one agent. Every setting may be missing.
type Agent struct {
	Name     string              `yaml:"name"`
	Model    string              `yaml:"model,omitempty"`
	System   string              `yaml:"system,omitempty"`
	Tools    *[]string           `yaml:"tools,omitempty"`  // nil: all that are offered
	Skills   *[]string           `yaml:"skills,omitempty"` // nil: all, if tools do not bar them
	Approval events.ApprovalMode `yaml:"approval,omitempty"`
	Reviewer string              `yaml:"reviewer,omitempty"` // the model that judges calls
	Titler   string              `yaml:"titler,omitempty"`   // the model that proposes titles
	Limits   *Limits             `yaml:"limits,omitempty"`

	Budget     *Budget `yaml:"budget,omitempty"`      // of a turn
	ChatBudget *Budget `yaml:"chat_budget,omitempty"` // of all turns of a chat
}

// Budget is what may be spent, as [events.Budget] says; nil is nothing said of a bound.
type Budget struct {
	Tokens     *int64 `yaml:"tokens,omitempty"`
	CostMicros *int64 `yaml:"cost_micros,omitempty"`
	TimeMS     *int64 `yaml:"time_ms,omitempty"`
}

// check refuses a bound of 0: elsewhere that says nothing of it, and whoever writes it
// down means something.
func (b *Budget) check(read *yamlfile.File, path, place string) {
	if b == nil {
		return
	}
	for _, bound := range []struct {
		name string
		of   *int64
	}{{"tokens", b.Tokens}, {"cost_micros", b.CostMicros}, {"time_ms", b.TimeMS}} {
		if bound.of != nil && *bound.of == 0 {
			read.Wrong(path+"."+bound.name, "%s.%s: 0 is no bound: %d is none, and without the key others say", place, bound.name, events.Unlimited)
		}
	}
}

// settings is the budget as chats have it; nil if it says nothing.
func (b *Budget) settings() *events.Budget {
	if b == nil {
		return nil
	}
	said := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	budget := events.Budget{Tokens: said(b.Tokens), CostMicros: said(b.CostMicros), TimeMS: said(b.TimeMS)}
	if budget == (events.Budget{}) {
		return nil
	}
	return &budget
}

// budgetOf is a budget as files have it; nil if it says nothing.
func budgetOf(b *events.Budget) *Budget {
	if b == nil || *b == (events.Budget{}) {
		return nil
	}
	said := func(n int64) *int64 {
		if n == 0 {
			return nil
		}
		return &n
	}
	return &Budget{Tokens: said(b.Tokens), CostMicros: said(b.CostMicros), TimeMS: said(b.TimeMS)}
}

// Limits bound a turn, as [events.Limits] do.
type Limits struct {
	Steps        int   `yaml:"steps,omitempty"`
	OutputTokens int   `yaml:"output_tokens,omitempty"`
	ApprovalMS   int64 `yaml:"approval_ms,omitempty"`
}

// Settings are the agent's settings as chats have them.
func (a Agent) Settings() events.Settings {
	s := events.Settings{Model: a.Model, System: a.System, Tools: a.Tools, Skills: a.Skills, Approval: a.Approval, Reviewer: a.Reviewer, Titler: a.Titler}
	if a.Limits != nil {
		s.Limits = new(events.Limits(*a.Limits))
	}
	s.Budget, s.ChatBudget = a.Budget.settings(), a.ChatBudget.settings()
	return s
}

// Of is the agent of that name with those settings.
func Of(name string, s events.Settings) Agent {
	a := Agent{Name: name, Model: s.Model, System: s.System, Tools: s.Tools, Skills: s.Skills, Approval: s.Approval, Reviewer: s.Reviewer, Titler: s.Titler}
	if s.Limits != nil {
		a.Limits = new(Limits(*s.Limits))
	}
	a.Budget, a.ChatBudget = budgetOf(s.Budget), budgetOf(s.ChatBudget)
	return a
}

// Load reads a file. The error names every problem with its line and column.
func Load(path string) ([]Agent, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("agents: %w", err)
	}
	return Parse(path, source)
}

// Parse reads the text of a file of that name.
func Parse(name string, source []byte) ([]Agent, error) {
	if len(source) > maxFileBytes {
		return nil, fmt.Errorf("agents: %s is larger than %d bytes", name, maxFileBytes)
	}
	var f file
	read, err := yamlfile.Read(name, source, &f, nil)
	if err != nil {
		return nil, err
	}
	if len(f.Agents) == 0 {
		read.Wrong("$", "there are no agents")
	}
	for i, a := range f.Agents {
		check(read, fmt.Sprintf("$.agents[%d]", i), a)
		if first := slices.IndexFunc(f.Agents, func(other Agent) bool { return other.Name == a.Name }); first < i {
			read.Wrong(fmt.Sprintf("$.agents[%d].name", i), "the name is taken by an agent above")
		}
	}
	return f.Agents, read.Err()
}

// check says what is wrong with an agent.
func check(read *yamlfile.File, path string, a Agent) {
	if err := events.ValidateAgent(a.Name); err != nil {
		read.Wrong(path+".name", "%v", err)
	}
	for _, wrong := range chat.WrongSettings(a.Settings()) {
		place, _, _ := strings.Cut(wrong, ": ")
		read.Wrong(path+"."+place, "%s", wrong)
	}
	a.Budget.check(read, path+".budget", "budget")
	a.ChatBudget.check(read, path+".chat_budget", "chat_budget")
	if b, err := Format([]Agent{a}); err != nil || len(b) > maxAgentBytes {
		read.Wrong(path, "larger than %d bytes", maxAgentBytes)
	}
}

// Format is a file with those agents.
func Format(list []Agent) ([]byte, error) {
	return yaml.MarshalWithOptions(file{Agents: list}, yaml.IndentSequence(true), yaml.UseLiteralStyleIfMultiline(true))
}
