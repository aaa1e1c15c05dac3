package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everturn/everturn/protocol"
)

// decided prints a command's outcome: the chat's id on standard output, what
// became of it on standard error; or all of it as JSON.
func (s *surroundings) decided(chat string, r protocol.Reply, err error, asJSON bool) error {
	if asJSON && r.ID != "" {
		line := struct {
			Chat string `json:"chat"`
			protocol.Reply
		}{chat, r}
		return errors.Join(err, json.NewEncoder(s.stdout).Encode(line))
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(s.stdout, chat)
	switch {
	case r.Turn != 0:
		fmt.Fprintf(s.stderr, "turn %d, rev %d\n", r.Turn, r.Rev)
	case r.Input != "":
		fmt.Fprintf(s.stderr, "waiting as input %s, rev %d\n", r.Input, r.Rev)
	default:
		fmt.Fprintf(s.stderr, "rev %d\n", r.Rev)
	}
	return nil
}
