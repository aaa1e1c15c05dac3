package main

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// versionCommand is `everturn version`.
type versionCommand struct {
	JSON bool `help:"Print one JSON object."`
}

// versions is what it prints.
type versions struct {
	cli.Release

	NATS        string `json:"nats_go"`
	Server      string `json:"embedded_server"`
	Commits     int    `json:"commit_version"`
	Rules       int    `json:"rules"`
	PromptRules int    `json:"prompt_rules"`
}

// Run implements the command.
func (c *versionCommand) Run(s *surroundings) error {
	v := versions{
		Release: cli.Built(),
		NATS:    nats.Version, Server: server.VERSION,
		Commits: events.CommitVersion, Rules: chat.Rules, PromptRules: chat.PromptRules,
	}
	if c.JSON {
		return json.NewEncoder(s.stdout).Encode(v)
	}
	_, err := fmt.Fprintf(s.stdout, "%s %v\nnats.go %s, embedded nats-server %s\ncommit version %d, rules %d, prompt rules %d\n",
		name, v.Release, v.NATS, v.Server, v.Commits, v.Rules, v.PromptRules)
	return err
}
