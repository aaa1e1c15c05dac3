package main

import (
	"fmt"
	"io"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// liveView shows a turn while it happens.
type liveView struct {
	out     io.Writer
	step    events.StepID
	attempt int
	kind    string // of the delta shown last
	failed  string // why the turn failed
}

// see shows one thing and reports whether more is to come.
func (v *liveView) see(s client.Sight) bool {
	switch {
	case s.Delta != nil:
		v.delta(*s.Delta)
	case s.Progress != nil:
		fmt.Fprintf(v.out, "  %s: %s\n", s.Progress.Call, s.Progress.Text)
	case s.Commit != nil:
		for _, e := range s.Commit.Events {
			if !v.event(e) {
				return false
			}
		}
	}
	return true
}

// delta writes a piece of the answer. A new attempt starts over.
func (v *liveView) delta(d protocol.Delta) {
	if v.step == d.Step && v.attempt > d.Attempt {
		return // of an attempt that was given up
	}
	if v.step == d.Step && v.attempt != 0 && d.Attempt > v.attempt {
		fmt.Fprintf(v.out, "\n[attempt %d]\n", d.Attempt)
	}
	v.step, v.attempt = d.Step, d.Attempt
	if d.Kind == string(events.PartCall) {
		return // the commit shows the whole call
	}
	if v.kind != d.Kind && d.Kind == string(events.PartReasoning) {
		fmt.Fprint(v.out, "(thinking) ")
	} else if v.kind == string(events.PartReasoning) && v.kind != d.Kind {
		fmt.Fprintln(v.out)
	}
	v.kind = d.Kind
	fmt.Fprint(v.out, d.Text)
}

// event shows a fact and reports whether the turn goes on.
func (v *liveView) event(e events.Event) bool {
	switch e := e.(type) {
	case events.StepCompleted:
		for _, p := range e.Parts {
			if p.Type == events.PartCall {
				fmt.Fprintf(v.out, "\n→ %s %s", p.Name, shorten(p.Arguments))
			}
		}
	case events.StepFailed:
		fmt.Fprintf(v.out, "\n! %s: %s", e.Class, e.Message)
	case events.ToolCompleted:
		fmt.Fprintf(v.out, "\n← %s", e.Status)
		for _, p := range e.Parts {
			fmt.Fprintf(v.out, " %s", shorten(p.Text))
		}
		fmt.Fprintln(v.out)
	case events.TurnFailed:
		v.failed = fmt.Sprintf("the turn failed: %s: %s", e.Class, e.Message)
		return false
	case events.TurnCompleted, events.TurnInterrupted:
		return false
	case events.ChatCreated, events.ChatConfigured, events.ChatTitled, events.ChatArchived, events.ChatUnarchived,
		events.CommandRejected, events.CommandNoted, events.InputAccepted, events.InputWithdrawn,
		events.TurnStarted, events.TurnInterruptRequested, events.StepRequested, events.StepInterrupted,
		events.ToolRequested, events.ToolStarted:
	}
	return true
}
