package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/toolrunner/declared"
)

// toolsCheck is `everturn tools check`. It asks no server and starts nothing.
type toolsCheck struct {
	Files []string `arg:"" type:"existingfile" name:"file" help:"Files that declare tools."`
	JSON  bool     `help:"Print the manifest of each tool as one JSON object."`
}

// Run implements the command.
func (c *toolsCheck) Run(s *surroundings) error {
	programs, err := declared.Files{Tools: c.Files}.Programs()
	if err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	if c.JSON {
		out := json.NewEncoder(s.stdout)
		for _, p := range programs {
			if err := out.Encode(p.Manifest); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tPOLICY\tIS\tNEEDS\tCOMMAND")
	for _, p := range programs {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", p.Manifest.Name, p.Manifest.Tool().Policy, kindOf(p), needsOf(p), strings.Join(p.Command, " "))
	}
	return table.Flush()
}

// kindOf says whether a program may run again.
func kindOf(p declared.Program) string {
	switch {
	case p.Manifest.ReadOnly:
		return "read-only"
	case p.Manifest.Idempotent:
		return "idempotent"
	}
	return "at most once"
}

// needsOf says what a program needs of its runner, and what of that is missing here.
func needsOf(p declared.Program) string {
	var needs []string
	if p.Network {
		needs = append(needs, "network")
	}
	if p.Unheld {
		needs = append(needs, "--sandbox=off")
	}
	for _, name := range p.PassEnvironment {
		if _, ok := os.LookupEnv(name); !ok {
			name += " (not set here)"
		}
		needs = append(needs, name)
	}
	if len(needs) == 0 {
		return "-"
	}
	return strings.Join(needs, ", ")
}

// declared checks whether the programs are there that files declare as tools, and the
// variables that they are handed: on this machine.
func (d *doctor) declared(context.Context) {
	if len(d.c.Tools) == 0 {
		return
	}
	programs, err := declared.Files{Tools: d.c.Tools}.Programs()
	if err != nil {
		d.fail("tools", err.Error(), "correct the file; `everturn tools check` says the same of it")
		return
	}
	missing := 0
	for _, p := range programs {
		for _, name := range p.PassEnvironment {
			if _, ok := os.LookupEnv(name); !ok {
				missing++
				d.warn("tools", fmt.Sprintf("%s is handed %s, which is not set here", p.Manifest.Name, name), "set it where the runner is started")
			}
		}
	}
	if missing == 0 {
		d.ok("tools", "%d programs are declared, and there", len(programs))
	}
}

// misdeclared makes what is wrong with files of tools an error of usage.
func misdeclared(err error) error {
	if bad, ok := errors.AsType[*declared.FileError](err); ok {
		return cli.Exit(cli.ExitUsage, bad)
	}
	return err
}
