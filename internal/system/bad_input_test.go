package system

import (
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
)

// badInput is one row of docs/BAD_INPUTS.md.
type badInput struct {
	name string // the first column

	// script of the chat's model; empty is one that repeats what it is told.
	script string

	// bring brings the bad input in and checks what one sees of it. What comes
	// afterwards is the same for all: the chat still works.
	bring func(c *chat)
}

// badInputs are those that meet a running system. The others, which need one of
// their own, are in [ownBadInputs].
func badInputs() []badInput {
	return slices.Concat(badCommands(), badAnswers(), badBytes(), badStarts())
}

// Whatever comes in, somebody is told what is wrong, and the chat goes on.
func TestBadInputs(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	for _, in := range badInputs() {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			script := in.script
			if script == "" {
				script = plain
			}
			c := s.chat(t, scripted(t, script))
			in.bring(c)
			c.stillWorks()
		})
	}
}

// says fails unless what was said about something contains the words.
func says(t *testing.T, what, said string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(said, w) {
			t.Errorf("%s is %q, and does not say %q", what, said, w)
		}
	}
}

// results fails unless the calls of the turn have these statuses, and gives
// the text of the last.
func (c *chat) results(h history, want ...events.ToolStatus) string {
	c.Helper()
	var got []events.ToolStatus
	text := ""
	for _, r := range all[events.ToolCompleted](h) {
		got = append(got, r.Status)
		text = textOf(r.Parts)
	}
	if !slices.Equal(got, want) {
		c.Errorf("results are %v, want %v; the log is\n%s", got, want, h)
	}
	return text
}

// notRun fails if any tool ran for the chat, or was to.
func (c *chat) notRun(h history) {
	c.Helper()
	if ran, asked := c.s.tools.of(c.key), all[events.ToolRequested](h); len(ran)+len(asked) > 0 {
		c.Errorf("a call that must not run was handed out %d times and ran %d times", len(asked), len(ran))
	}
}
