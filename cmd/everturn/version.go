package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Set by the linker in a release.
var (
	version = "0.0.0-development"
	commit  = ""
	date    = ""
)

// versionCommand is `everturn version`.
type versionCommand struct {
	JSON bool `help:"Print one JSON object."`
}

// versions is what it prints.
type versions struct {
	Version     string `json:"version"`
	Commit      string `json:"commit,omitempty"`
	Date        string `json:"date,omitempty"`
	Go          string `json:"go"`
	NATS        string `json:"nats_go"`
	Server      string `json:"embedded_server"`
	Commits     int    `json:"commit_version"`
	Rules       int    `json:"rules"`
	PromptRules int    `json:"prompt_rules"`
}

// Run implements the command.
func (c *versionCommand) Run(s *surroundings) error {
	v := versions{
		Version: version, Commit: commit, Date: date, Go: runtime.Version(),
		NATS: nats.Version, Server: server.VERSION,
		Commits: events.CommitVersion, Rules: chat.Rules, PromptRules: chat.PromptRules,
	}
	if info, ok := debug.ReadBuildInfo(); ok && v.Commit == "" {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				v.Commit = setting.Value
			}
		}
	}
	if c.JSON {
		return json.NewEncoder(s.stdout).Encode(v)
	}
	_, err := fmt.Fprintf(s.stdout, "everturn %s %s\n%s, nats.go %s, embedded nats-server %s\ncommit version %d, rules %d, prompt rules %d\n",
		v.Version, v.Commit, v.Go, v.NATS, v.Server, v.Commits, v.Rules, v.PromptRules)
	return err
}
