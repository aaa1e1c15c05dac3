package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
)

// meddles takes a line of a chat apart that does something to the turn that runs;
// the text is empty for every other.
func meddles(line string) (mode events.SendMode, text string) {
	for _, mode := range []events.SendMode{events.ModeSteer, events.ModeInterrupt, events.ModeRollback} {
		if rest, ok := strings.CutPrefix(line, "/"+string(mode)+" "); ok {
			return mode, strings.TrimSpace(rest)
		}
	}
	return "", ""
}

// heldLine is a line that was read too early.
type heldLine struct {
	line line
	ok   bool // false: there is none, and no more
}

// nextLines gives the next line, be it one that was read too early; see unread.
func (t *talk) nextLines() <-chan line {
	if t.held == nil {
		return t.lines
	}
	now := make(chan line)
	close(now)
	return now
}

// unread is a line as it came from nextLines.
func (t *talk) unread(l line, ok bool) (line, bool) {
	if held := t.held; held != nil {
		t.held = nil
		return held.line, held.ok
	}
	return l, ok
}

// during takes a line while a turn runs: it answers what is asked, does something
// to the turn, or waits for its end.
func (t *talk) during(ctx context.Context, asked bool, l line, ok bool) error {
	if asked {
		l, ok = t.unread(l, ok)
	}
	mode, text := meddles(l.text)
	switch {
	case ok && text != "":
	case asked:
		return t.hear(ctx, l, ok)
	default:
		t.held = &heldLine{l, ok}
		return nil
	}
	reply, err := t.send(ctx, mode, text)
	if rejected, is := errors.AsType[*client.RejectedError](err); is {
		fmt.Fprintln(t.s.stderr, "everturn:", events.VisibleText(rejected.Error()))
		return nil
	}
	if err == nil && reply.ID != "" {
		t.said = append(t.said, reply)
	}
	return err
}

// taken notes which turns take the inputs that are still to be shown, and forgets
// those that the turn which is shown takes as it goes.
func (t *talk) taken(s client.Sight) {
	if s.Commit == nil {
		return
	}
	t.rev = s.Commit.Rev
	for _, e := range s.Commit.Events {
		if e, ok := e.(events.InputSteered); ok {
			t.said = slices.DeleteFunc(t.said, func(r protocol.Reply) bool { return slices.Contains(e.Inputs, r.Input) })
		}
		if e, ok := e.(events.TurnStarted); ok {
			for i := range t.said {
				if slices.Contains(e.Inputs, t.said[i].Input) {
					t.said[i].Turn = e.Turn
				}
			}
		}
	}
}

// shown forgets the inputs of turns up to one that was shown to its end.
func (t *talk) shown(turn int) {
	t.said = slices.DeleteFunc(t.said, func(r protocol.Reply) bool { return r.Turn != 0 && r.Turn <= turn })
}

// rests reports whether all that happened in the chat was shown and nothing runs:
// what still waits there waits for a person to speak again.
func (t *talk) rests(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(t.c.Wait))
	defer cancel()
	var head projections.Head
	err := t.client.Query(ctx, projections.QueryChat, projections.ChatRequest{Chat: t.chat, MinRev: t.rev}, &head)
	return err != nil || head.Rev <= t.rev && (head.Status == projections.StatusIdle || head.Status == projections.StatusFailed)
}
