package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/gateway/webhook"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/streams"
)

// devCommand is `everturn dev`.
type devCommand struct {
	storeFlags
	everythingFlags
	gatewayFlags
	skillFlags

	Webhooks string `type:"existingfile" env:"EVERTURN_WEBHOOKS" placeholder:"FILE" help:"A webhooks.yaml: whom to tell what happens; see docs/WEBHOOKS.md. Default: nobody."`
	JSON     bool   `help:"Print the server's address as one JSON object."`
}

// Run implements the command.
func (c *devCommand) Run(s *surroundings) error {
	var hooks webhook.File
	if c.Webhooks != "" {
		var err error
		if hooks, err = loadWebhooks(c.Webhooks); err != nil {
			return err
		}
	}
	list, err := c.skillFlags.load(s)
	if err != nil {
		return err
	}
	web, err := c.listen(s.ctx)
	if err != nil {
		return err
	}
	if web != nil {
		defer web.Close() // for where no gateway has come to take it
	}
	server, err := c.storeFlags.start(s.ctx, s, nil)
	if err != nil {
		return err
	}
	all, err := c.everythingFlags.start(s.ctx, s, server, web)
	if err != nil {
		return errors.Join(err, server.Close())
	}
	if err := keepSkills(s.ctx, server, list); err != nil {
		return errors.Join(err, all.stop(), server.Close())
	}
	telling, stopTelling := context.WithCancel(s.ctx)
	defer stopTelling()
	if len(hooks.Hooks) > 0 {
		all.run(telling, server, "webhooks", func(nc *nats.Conn) error {
			return readside.RunWebhooks(telling, nc, streams.Options{}, webhook.Config{File: hooks, Sender: newSender(), Log: s.log.Logger(s.stderr)})
		})
	}
	if err := c.about(s, all.model); err != nil {
		stopTelling()
		return errors.Join(err, all.stop(), server.Close())
	}
	if err := c.running(s, address(server), webURL(web)); err != nil {
		stopTelling()
		return errors.Join(err, all.stop(), server.Close())
	}
	select {
	case <-s.ctx.Done():
	case <-all.ended:
	}
	stopTelling()
	return errors.Join(all.stop(), server.Close())
}

// self is what to type for this binary: it may lie in a folder where no shell
// looks for it.
func (s *surroundings) self() string {
	if strings.ContainsRune(s.called, filepath.Separator) {
		return s.called
	}
	return name
}

// about says what is used by chats that say nothing else. Standard error has it, for
// programs that read the address.
func (c *devCommand) about(s *surroundings, model string) error {
	folder, err := filepath.Abs(c.Workspace)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.stderr, "everturn: workspace %s\neverturn: model %s\n", folder, model)
	return err
}

// running says where everything can be reached. Without web there is no gateway.
func (c *devCommand) running(s *surroundings, url, web string) error {
	if c.JSON {
		said := struct {
			NATS string `json:"nats_url"`
			HTTP string `json:"http_url,omitempty"`
		}{url, web}
		return json.NewEncoder(s.stdout).Encode(said)
	}
	open := ""
	if web != "" {
		open = "Open " + web + " in a browser. "
	}
	_, err := fmt.Fprintf(s.stdout, `Everturn is running. %sIn another terminal:

  export NATS_URL=%s
  %s send "what time is it?"

Stop it with Ctrl-C; what it was doing goes on at the next start.
`, open, url, s.self())
	return err
}
