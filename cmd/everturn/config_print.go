package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"
	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/connect"
	"github.com/everturn/everturn/internal/models"
)

type configPrint struct {
	configFlags

	JSON bool `help:"Print each setting as one JSON object."`
}

// Where a setting comes from.
const (
	fromFlag        = "flag"
	fromEnvironment = "environment"
	fromContext     = "context"
	fromFile        = "file"
	fromDefault     = "default"
)

// setting is one that counts.
type setting struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
	Secret bool   `json:"secret,omitempty"` // there is something that is not shown
	Source string `json:"source"`
	From   string `json:"from,omitempty"` // which variable or file
}

// Run implements the command.
func (c *configPrint) Run(s *surroundings) error {
	if err := c.Check(); err != nil {
		return err
	}
	set, err := c.Load()
	if err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	context, err := c.FromContext()
	if err != nil {
		return err
	}
	settings := given(s.parsed)
	for name, value := range context.Values {
		settings = put(settings, setting{Name: name, Value: value, Source: fromContext, From: context.File})
	}
	settings = c.derived(settings, set)
	slices.SortStableFunc(settings, func(a, b setting) int { return cmp.Compare(a.Name, b.Name) })
	for i := range settings {
		settings[i] = settings[i].shown()
	}
	settings = append(settings, c.models(settings, set)...)
	return s.settings(settings, c.JSON)
}

func (s *surroundings) settings(settings []setting, asJSON bool) error {
	if asJSON {
		out := json.NewEncoder(s.stdout)
		for _, one := range settings {
			if err := out.Encode(one); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	for _, one := range settings {
		value := shorten(one.Value)
		switch {
		case one.Secret && value == "":
			value = "(not shown)"
		case one.Secret:
			value += " (login not shown)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s %s\n", one.Name, value, one.Source, one.From)
	}
	return table.Flush()
}

// given are the settings that flags, variables and defaults of flags make. What
// nothing sets is left out.
func given(parsed *kong.Context) []setting {
	typed := map[*kong.Flag]bool{}
	for _, p := range parsed.Path {
		if p.Flag != nil {
			typed[p.Flag] = true
		}
	}
	var settings []setting
	for _, flag := range parsed.Flags() {
		value := valueOf(flag.Target)
		if value == "" || slices.Contains([]string{"help", "version", "json"}, flag.Name) {
			continue
		}
		one := setting{Name: flag.Name, Value: value, Source: fromDefault}
		for _, variable := range flag.Tag.Envs {
			if _, set := os.LookupEnv(variable); set {
				one.Source, one.From = fromEnvironment, variable
				break
			}
		}
		if typed[flag] {
			one.Source, one.From = fromFlag, ""
		}
		settings = append(settings, one)
	}
	return settings
}

// valueOf is the value of a flag. One that can be left out and is empty all the same was
// made so.
func valueOf(target reflect.Value) string {
	if target.Kind() != reflect.Pointer {
		return fmt.Sprint(target.Interface())
	}
	if target.IsNil() {
		return ""
	}
	return cmp.Or(fmt.Sprint(target.Elem().Interface()), "none")
}

// put adds a setting, in place of one with its name.
func put(settings []setting, one setting) []setting {
	settings = slices.DeleteFunc(settings, func(s setting) bool { return s.Name == one.Name })
	return append(settings, one)
}

func get(settings []setting, name string) (setting, bool) {
	i := slices.IndexFunc(settings, func(s setting) bool { return s.Name == name })
	if i < 0 {
		return setting{}, false
	}
	return settings[i], true
}

// derived adds what follows where nothing is said.
func (c *configPrint) derived(settings []setting, set *models.Set) []setting {
	or := func(one setting) {
		if _, there := get(settings, one.Name); !there {
			settings = append(settings, one)
		}
	}
	or(setting{Name: "server", Value: nats.DefaultURL, Source: fromDefault})
	or(setting{Name: "http", Value: "127.0.0.1:8080, or a port near it that is free", Source: fromDefault})
	or(setting{Name: "streams", Value: "those in this binary", Source: fromDefault})
	if store, err := c.place(); err == nil {
		or(setting{Name: "store", Value: store, Source: fromDefault})
	}
	model := setting{Name: "model", Value: set.Default, Source: fromDefault}
	script, scripted := get(settings, "script")
	listed, _ := set.Get(set.Default)
	switch {
	case scripted && set.Default == models.ScriptModel:
		model.Source, model.From = script.Source, script.From
	case c.ModelsFile != "":
		model.Source, model.From = fromFile, c.ModelsFile
	case listed.APIKeyEnv != "":
		model.Source, model.From = fromEnvironment, listed.APIKeyEnv
	}
	or(model)
	return settings
}

// models are those that can be asked, with where their keys are looked for.
func (c *configPrint) models(settings []setting, set *models.Set) []setting {
	var found []setting
	for _, m := range set.List() {
		l := listed(set, m)
		_, hidden := connect.WithoutLogin(m.BaseURL)
		one := setting{Name: "models." + l.Name, Value: strings.TrimSpace(fmt.Sprint(l.Provider, " ", l.Model)), Secret: hidden, Source: fromDefault}
		if l.BaseURL != "" {
			one.Value += " at " + l.BaseURL
		}
		if l.KeyEnv != "" {
			one.Value += fmt.Sprintf(", key in %s: %s", l.KeyEnv, l.Key)
		}
		switch script, scripted := get(settings, "script"); {
		case c.ModelsFile != "":
			one.Source, one.From = fromFile, c.ModelsFile
		case l.KeyEnv != "":
			one.Source, one.From = fromEnvironment, l.KeyEnv
		case scripted:
			one.Source, one.From = script.Source, script.From
		}
		found = append(found, one)
	}
	return found
}

// shown is s without what nobody else may know.
func (s setting) shown() setting {
	switch s.Name {
	case "password", "token":
		s.Value, s.Secret = "", true
	case "server", "socks-proxy":
		s.Value, s.Secret = connect.WithoutLogin(s.Value)
	}
	return s
}
