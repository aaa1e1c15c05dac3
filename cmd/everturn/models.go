package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/connect"
	"github.com/everturn/everturn/internal/models"
	"github.com/everturn/everturn/model"
)

// modelsCommand is `everturn models`.
type modelsCommand struct {
	List modelsList `cmd:"" default:"withargs" help:"Show the models there are, and whether their keys are."`
	Test modelsTest `cmd:"" help:"Ask a model something small, and say what came of it."`
}

type modelsList struct {
	models.Source

	JSON bool `help:"Print each model as one JSON object."`
}

// listedModel is a line of the list.
type listedModel struct {
	Name      string          `json:"name"`
	Default   bool            `json:"default"`
	Provider  models.Provider `json:"provider"`
	Model     string          `json:"model,omitempty"`
	BaseURL   string          `json:"base_url,omitempty"`
	KeyEnv    string          `json:"api_key_env,omitempty"`
	Key       string          `json:"key"` // set, missing or none
	Window    int64           `json:"window,omitempty"`
	Priced    bool            `json:"priced"`
	Pool      string          `json:"pool,omitempty"`
	Fallbacks []string        `json:"fallbacks,omitempty"`
}

func listed(s *models.Set, m models.Listed) listedModel {
	base, _ := connect.WithoutLogin(m.BaseURL)
	l := listedModel{
		Name: m.Name, Default: m.Name == s.Default, Provider: m.Provider, Model: m.Model, BaseURL: base,
		KeyEnv: m.APIKeyEnv, Window: m.Window, Priced: m.Price != nil, Pool: m.Pool,
	}
	switch {
	case m.APIKeyEnv == "":
		l.Key = "none"
	case m.KeySet:
		l.Key = "set"
	default:
		l.Key = "missing"
	}
	for _, f := range m.Fallbacks {
		l.Fallbacks = append(l.Fallbacks, f.Model)
	}
	return l
}

// Run implements the command.
func (c *modelsList) Run(s *surroundings) error {
	set, err := c.Load()
	if err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	if set.Note != "" {
		fmt.Fprintln(s.stderr, "everturn:", set.Note)
	}
	if c.JSON {
		out := json.NewEncoder(s.stdout)
		for _, m := range set.List() {
			if err := out.Encode(listed(set, m)); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tPROVIDER\tMODEL\tKEY\tWINDOW\tPRICE\tPOOL\tFALLBACKS")
	for _, m := range set.List() {
		l := listed(set, m)
		name, key, price, window := l.Name, l.Key, "unknown", "-"
		if l.Default {
			name += " *"
		}
		if l.KeyEnv != "" {
			key += " (" + l.KeyEnv + ")"
		}
		if l.Priced {
			price = "known"
		}
		if l.Window > 0 {
			window = fmt.Sprint(l.Window)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			name, l.Provider, orDash(l.Model), key, window, price, orDash(l.Pool), orDash(strings.Join(l.Fallbacks, ",")))
	}
	return table.Flush()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

type modelsTest struct {
	models.Source

	Name string   `arg:"" optional:"" help:"Which model. Default: that of chats that name none."`
	Say  string   `default:"Reply with the single word: ready" help:"What to say."`
	Wait patience `default:"60s" help:"How long the answer may take."`
	JSON bool     `help:"Print the outcome as one JSON object."`
}

// testedModel is what came of asking.
type testedModel struct {
	Name       string            `json:"name"`
	OK         bool              `json:"ok"`
	Text       string            `json:"text,omitempty"`
	Answered   string            `json:"answered_by,omitempty"` // the model that really did
	Stop       events.Stop       `json:"stop,omitempty"`
	FirstMS    int64             `json:"first_ms"` // to the first content
	TotalMS    int64             `json:"total_ms"`
	Usage      *events.Usage     `json:"usage,omitempty"`
	CostMicros *int64            `json:"cost_micros,omitempty"`
	Class      events.ErrorClass `json:"class,omitempty"`
	Message    string            `json:"message,omitempty"`
	Status     int               `json:"status,omitempty"` // of HTTP
}

// Run implements the command.
func (c *modelsTest) Run(s *surroundings) error {
	set, err := c.Load()
	if err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	name := c.Name
	if name == "" {
		name = set.Default
	}
	m, ok := set.Find(name)
	if !ok {
		return cli.Exit(cli.ExitNotFound, fmt.Errorf("there is no model %.80q; `everturn models list` shows those there are", name))
	}
	ctx, cancel := context.WithTimeout(s.ctx, time.Duration(c.Wait))
	defer cancel()
	t := tryModel(ctx, m, name, c.Say)
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if c.JSON {
		err = json.NewEncoder(s.stdout).Encode(t)
	} else if t.OK {
		_, err = fmt.Fprint(s.stdout, t.text())
	}
	if err == nil && !t.OK {
		err = cli.Exit(cli.ExitProvider, fmt.Errorf("model %s: %s: %s", name, t.Class, t.Message))
	}
	return err
}

func tryModel(ctx context.Context, m model.Model, name, say string) testedModel {
	t := testedModel{Name: name}
	begun := time.Now()
	request := model.Request{Model: name, Messages: []model.Message{{Role: model.RoleUser, Parts: []events.Part{events.Text(say)}}}}
	for d, err := range m.Stream(ctx, request) {
		t.TotalMS = time.Since(begun).Milliseconds()
		if failure, ok := errors.AsType[*model.Error](err); ok {
			t.Class, t.Message, t.Status = failure.Class, failure.Message, failure.Status
		} else if err != nil {
			t.Class, t.Message = events.ClassUnknown, err.Error()
		}
		if t.FirstMS == 0 && d.Text != "" {
			t.FirstMS = t.TotalMS
		}
		if d.Answer == nil {
			continue
		}
		t.OK, t.Answered, t.Stop = true, d.Answer.Provider.Model, d.Answer.Stop
		t.Usage, t.CostMicros = &d.Answer.Usage, d.Answer.CostMicros
		for _, p := range d.Answer.Parts {
			if p.Type == events.PartText {
				t.Text += p.Text
			}
		}
	}
	return t
}

func (t testedModel) text() string {
	cost := "of unknown cost: the model has no price"
	if t.CostMicros != nil {
		cost = fmt.Sprintf("for %d millionths", *t.CostMicros)
	}
	return fmt.Sprintf("%s answers (as %s): %s\nfirst content after %d ms, all of it after %d ms\n%d tokens in, %d out, %s\n",
		t.Name, orDash(t.Answered), shorten(events.VisibleText(t.Text)), t.FirstMS, t.TotalMS,
		t.Usage.Input+t.Usage.CacheRead+t.Usage.CacheWrite, t.Usage.Output, cost)
}
