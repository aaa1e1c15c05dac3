package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// devCommand is `everturn dev`.
type devCommand struct {
	storeFlags
	everythingFlags

	JSON bool `help:"Print the server's address as one JSON object."`
}

// Run implements the command.
func (c *devCommand) Run(s *surroundings) error {
	server, err := c.storeFlags.start(s.ctx, s, nil)
	if err != nil {
		return err
	}
	all, err := c.everythingFlags.start(s.ctx, s, server)
	if err != nil {
		return errors.Join(err, server.Close())
	}
	if err := c.running(s, address(server)); err != nil {
		return errors.Join(err, all.stop(), server.Close())
	}
	select {
	case <-s.ctx.Done():
	case <-all.ended:
	}
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

// running says where everything can be reached.
func (c *devCommand) running(s *surroundings, url string) error {
	text := fmt.Sprintf(`Everturn is running. In another terminal:

  export NATS_URL=%s
  %s send "what time is it?"

Stop it with Ctrl-C; what it was doing goes on at the next start.
`, url, s.self())
	return s.address(url, text, c.JSON)
}
