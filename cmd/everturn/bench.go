package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/internal/bench"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/toolrunner"
)

// benchCommand is `everturn bench`.
type benchCommand struct {
	JSON    bool   `help:"Print the whole report as one JSON object."`
	Sync    string `enum:"always,default" default:"always" help:"When the server syncs: always, or as it does by default, every two minutes."`
	Seconds count  `default:"10" help:"Length of each run with many chats."`
	Turns   count  `default:"500" help:"Turns of each run with one chat."`
	Pairs   count  `default:"5" help:"Runs of Everturn and of the floor, in turns."`
	Growth  bool   `default:"true" negatable:"" help:"Also measure turns 2, 50 and 200 of a chat."`
	Profile string `placeholder:"FILE" help:"Write a CPU profile of the first run of Everturn, for go tool pprof."`
	Others  int    `default:"1000000" help:"Also measure loading a chat among so many other events; 0 does not."`
}

// Run implements the command.
func (c *benchCommand) Run(s *surroundings) error {
	if c.Others < 0 {
		return cli.Exit(cli.ExitUsage, fmt.Errorf("--others: %d events cannot be", c.Others))
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	var profile io.Writer
	if c.Profile != "" {
		f, err := os.Create(c.Profile)
		if err != nil {
			return cli.Exit(cli.ExitUsage, fmt.Errorf("--profile: %w", err))
		}
		defer func() { _ = f.Close() }() // the profile is a by-product
		profile = f
	}
	report, err := bench.Measure(s.ctx, bench.Options{
		Always: c.Sync == "always", Pairs: int(c.Pairs), Turns: int(c.Turns), Seconds: time.Duration(c.Seconds) * time.Second,
		Growth: c.Growth, Others: c.Others, Profile: profile,
		Tool: func(ctx context.Context, url string, floor bool) *exec.Cmd {
			return exec.CommandContext(ctx, self, "bench-tool", "--url", url, fmt.Sprintf("--floor=%v", floor))
		},
		Progress: func(what string) { fmt.Fprintln(s.stderr, "bench:", what) },
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(s.stdout).Encode(report)
	}
	return report.Print(s.stdout)
}

// benchToolCommand is the tool process of a bench.
type benchToolCommand struct {
	URL   string `required:""`
	Floor bool
}

// Run implements the command.
func (c *benchToolCommand) Run(s *surroundings) error {
	nc, err := nats.Connect(c.URL, nats.Name("bench tool"))
	if err != nil {
		return fmt.Errorf("bench tool: %w", err)
	}
	defer nc.Close()
	if c.Floor {
		return bench.FloorTools(s.ctx, nc)
	}
	cfg := toolrunner.Config{Group: bench.Group, Concurrency: bench.Concurrency, Log: s.log.Logger(s.stderr)}
	return parts.RunTools(s.ctx, nc, cfg, []toolrunner.Tool{bench.Tool()})
}
