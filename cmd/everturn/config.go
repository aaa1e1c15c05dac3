package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/yamlfile"
	"github.com/everturn/everturn/streams"
)

// configCommand is `everturn config`.
type configCommand struct {
	Check configCheck `cmd:"" help:"Check variables, connection settings and files. Nothing is touched."`
	Print configPrint `cmd:"" help:"Show the settings that count, and where each comes from."`
}

// configFlags are all that can also be set by a variable, a context or a file.
type configFlags struct {
	remote
	storeFlags
	everythingFlags
	doorFlags

	Streams string `type:"existingfile" placeholder:"FILE" help:"A streams.yaml in place of the one in this binary."`
}

// doorFlags are those of the gateways: the one of a process of its own, and the one in dev.
type doorFlags struct {
	gateway.Quotas
	gatewayFlags

	Listen string `env:"EVERTURN_LISTEN" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address that everturn gateway answers HTTP on."`
}

type configCheck struct {
	configFlags

	JSON bool `help:"Print each check, or each problem it has found, as one JSON object."`
}

// checked is a check that found nothing, or one problem that it found.
type checked struct {
	Check   string `json:"check"` // variables, connection, streams or models
	OK      bool   `json:"ok"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message,omitempty"`
}

// Run implements the command.
func (c *configCheck) Run(s *surroundings) error {
	_, streamsErr := streams.LoadTopology(c.Streams)
	_, modelsErr := c.Load()
	problems := 0
	for _, check := range []struct {
		name, file string
		err        error
	}{
		{"variables", "", unknownVariables(s.parsed.Model, os.Environ())},
		{"connection", "", c.Check()},
		{"streams", c.Streams, streamsErr},
		{"models", c.ModelsFile, modelsErr},
	} {
		found := findings(check.name, check.file, check.err)
		if check.err != nil {
			problems += len(found)
		}
		if err := s.configChecked(check.err, found, c.JSON); err != nil {
			return err
		}
	}
	if problems > 0 {
		return cli.Exit(cli.ExitUsage, fmt.Errorf("problems in the configuration: %d", problems))
	}
	return nil
}

// findings is what a check has come to: one that is fine, or all its problems.
func findings(name, file string, err error) []checked {
	if err == nil {
		return []checked{{Check: name, OK: true, File: file}}
	}
	bad, ok := errors.AsType[*yamlfile.Error](err)
	if !ok {
		return []checked{{Check: name, File: file, Message: err.Error()}}
	}
	var found []checked
	for _, p := range bad.Problems {
		found = append(found, checked{Check: name, File: bad.Name, Line: p.Line, Column: p.Column, Message: p.Message})
	}
	return found
}

func (s *surroundings) configChecked(problem error, found []checked, asJSON bool) (err error) {
	switch {
	case asJSON:
		out := json.NewEncoder(s.stdout)
		for _, f := range found {
			err = errors.Join(err, out.Encode(f))
		}
	case problem != nil:
		_, err = fmt.Fprintln(s.stdout, problem)
	default:
		_, err = fmt.Fprintln(s.stdout, strings.TrimRight("ok  "+found[0].Check+"  "+found[0].File, " "))
	}
	return err
}

// variablePrefix is how the names of our own variables begin.
const variablePrefix = "EVERTURN_"

// unknownVariables are those in the environment that look like ours and that
// nothing reads: a slip would pass unnoticed.
func unknownVariables(app *kong.Application, environment []string) error {
	known := knownVariables(app.Node)
	var errs []error
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, variablePrefix) && !slices.Contains(known, name) {
			errs = append(errs, fmt.Errorf("%s: nothing reads this variable; there are %s", name, strings.Join(known, ", ")))
		}
	}
	return errors.Join(errs...)
}

// knownVariables are ours, sorted.
func knownVariables(node *kong.Node) []string {
	var known []string
	for _, flag := range node.Flags {
		for _, name := range flag.Tag.Envs {
			if strings.HasPrefix(name, variablePrefix) {
				known = append(known, name)
			}
		}
	}
	for _, child := range node.Children {
		known = append(known, knownVariables(child)...)
	}
	slices.Sort(known)
	return slices.Compact(known)
}
