package main

import (
	"errors"
	"fmt"
)

// devCommand is `everturn dev`.
type devCommand struct {
	storeFlags
	everythingFlags
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
	fmt.Fprintf(s.stdout, `Everturn is running. In another terminal:

  export NATS_URL=%s
  everturn send "what time is it?"

Stop it with Ctrl-C; what it was doing goes on at the next start.
`, address(server))
	select {
	case <-s.ctx.Done():
	case <-all.ended:
	}
	return errors.Join(all.stop(), server.Close())
}
