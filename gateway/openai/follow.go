package openai

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/protocol"
)

// Reasons why an answer ends, in the words of this API.
const (
	finishStop   = "stop"
	finishLength = "length"
	finishFilter = "content_filter"
	finishCalls  = "tool_calls"
)

// Kinds of delta that are read.
const (
	kindText      = "text"
	kindReasoning = "reasoning"
)

// ending is how an answer has ended.
type ending struct {
	reason string
	usage  events.Usage
}

// sink takes an answer while it grows. An error ends the following.
type sink interface {
	text(s string) error
	reasoning(s string) error
	calls(list []toolCall) error
	alive() error // nothing has happened for a while
}

// follower turns what happens in a chat into an answer.
type follower struct {
	*asking
	taken

	out   sink
	turn  int  // 0 until a turn has taken the input
	said  bool // some text was sent
	steps map[events.StepID]*step
	calls map[events.CallID]toolCall // of the step that was completed last, and open
	usage events.Usage               // of all steps

	waits     map[events.CallID]bool // for a person
	noticed   bool                   // the client was told so
	exhausted bool                   // a budget is used up
}

// step is one that is being answered.
type step struct{ text, reasoning growing }

// follow shows the answer until it ends. Failed turns are problems.
func (a *asking) follow(ctx context.Context, t taken, out sink) (ending, error) {
	f := follower{
		asking: a, taken: t, out: out, turn: t.reply.Turn, steps: map[events.StepID]*step{},
		calls: map[events.CallID]toolCall{}, waits: map[events.CallID]bool{},
	}
	sights, err := a.cfg.Feed.Open(ctx, a.key(t.chat), max(t.reply.Rev, 1)-1)
	if err != nil {
		return ending{}, err
	}
	defer sights.Close()
	var waiting time.Time // since when for a person
	for {
		try, cancel := context.WithTimeout(ctx, a.patience(waiting))
		s, err := sights.Next(try)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ending{}, ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			if err := out.alive(); err != nil {
				return ending{}, err
			}
		case err != nil:
			return ending{}, err
		}
		end, ended, err := f.see(ctx, s)
		if err != nil || ended {
			return end, err
		}
		if !f.stuck() {
			waiting = time.Time{}
			continue
		}
		if waiting.IsZero() {
			waiting = a.cfg.Clock()
			if err := f.notice(); err != nil {
				return ending{}, err
			}
		}
		if a.cfg.Clock().Sub(waiting) >= a.person {
			return ending{finishStop, f.usage}, nil
		}
	}
}

// patience is how long to wait for what happens next.
func (a *asking) patience(waiting time.Time) time.Duration {
	if waiting.IsZero() {
		return a.cfg.KeepAlive
	}
	const least = time.Millisecond
	return max(least, min(a.cfg.KeepAlive, a.person-a.cfg.Clock().Sub(waiting)))
}

// see takes one sight.
func (f *follower) see(ctx context.Context, s Sight) (ending, bool, error) {
	if s.Delta != nil {
		return ending{}, false, f.delta(*s.Delta)
	}
	if s.Commit == nil {
		return ending{}, false, nil
	}
	for _, e := range s.Commit.Events {
		if end, ended, err := f.event(ctx, e); ended || err != nil {
			return end, ended, err
		}
	}
	return ending{}, false, nil
}

func (f *follower) step(id events.StepID) *step {
	if f.steps[id] == nil {
		f.steps[id] = &step{}
	}
	return f.steps[id]
}

func (f *follower) delta(d protocol.Delta) error {
	if d.Turn != f.turn || f.turn == 0 {
		return nil
	}
	s := f.step(d.Step)
	// Deltas of an attempt are counted together, whatever they are of.
	text, reasoning := "", ""
	switch d.Kind {
	case kindText:
		text = d.Text
	case kindReasoning:
		reasoning = d.Text
	}
	if err := f.reason(s.reasoning.add(d.Attempt, d.I, reasoning)); err != nil {
		return err
	}
	first := s.text.sent == ""
	return f.say(first, s.text.add(d.Attempt, d.I, text))
}

// say sends some text, as the first of its step or not.
func (f *follower) say(first bool, s string) error {
	if s == "" {
		return nil
	}
	if f.said && first {
		s = separator + s
	}
	f.said = true
	return f.out.text(s)
}

func (f *follower) reason(s string) error {
	if s == "" {
		return nil
	}
	return f.out.reasoning(s)
}

// event takes what was committed.
func (f *follower) event(ctx context.Context, e events.Event) (ending, bool, error) {
	f.person(e)
	switch e := e.(type) {
	case events.TurnStarted:
		if f.turn == 0 && slices.Contains(e.Inputs, f.reply.Input) {
			f.turn = e.Turn
		}
	case events.InputSteered:
		if f.turn == 0 && slices.Contains(e.Inputs, f.reply.Input) {
			f.turn = e.Step.Turn
		}
	case events.InputWithdrawn:
		if e.Input == f.reply.Input && f.reply.Input != "" {
			return ending{}, false, problem.New(events.CodeUnknownInput, "it was taken back before its turn")
		}
	case events.StepCompleted:
		return ending{}, false, f.completed(ctx, e)
	case events.StepInterrupted:
		return ending{}, false, f.whole(ctx, e.Step, e.Parts)
	case events.ToolCompleted:
		delete(f.calls, e.Call)
	case events.ActionRequested:
		if e.Step.Turn == f.turn {
			return f.action(e)
		}
	case events.TurnCompleted:
		if e.Turn == f.turn {
			return ending{finishes[e.Finish], e.Totals.Usage}, true, nil
		}
	case events.TurnInterrupted:
		if e.Turn == f.turn {
			return ending{finishStop, e.Totals.Usage}, true, nil
		}
	case events.TurnFailed:
		if e.Turn == f.turn {
			return ending{}, false, failed(e)
		}
	case events.AgentNamed, events.SkillActivated, events.ApprovalRequested, events.ApprovalResolved, events.BranchSelected, events.BudgetExtended,
		events.BudgetReached, events.ChatArchived, events.ChatConfigured, events.ChatCreated, events.ChatEraseRequested,
		events.ChatErased, events.ChatInherited, events.ChatSpawned, events.ChatTitled, events.ChatUnarchived, events.ChildEnded,
		events.ChildSpawned, events.CommandNoted, events.CommandRejected, events.ContentDeleted, events.ContextCleared,
		events.ContextCompacted, events.ContextCompactionFailed, events.ContextRestored, events.InputAccepted, events.InputEdited,
		events.InputPromoted, events.ModeSet, events.QuestionAnswered, events.QuestionAsked, events.QuestionHeld, events.StepFailed,
		events.StepRequested, events.ToolRequested, events.ToolStarted, events.TurnInterruptRequested:
		// Nothing that a client of this API is told of.
	}
	return ending{}, false, nil
}

// finishes are the ways in which a turn ends well.
var finishes = map[events.Finish]string{
	events.FinishComplete: finishStop, events.FinishStopAfterTool: finishStop, events.FinishMaxSteps: finishLength,
	events.FinishLength: finishLength, events.FinishRefused: finishFilter,
}

// completed takes the whole answer of a step.
func (f *follower) completed(ctx context.Context, e events.StepCompleted) error {
	if e.Step.Turn != f.turn || f.turn == 0 {
		return nil
	}
	f.usage = f.usage.Plus(e.Usage)
	clear(f.calls)
	for _, p := range e.Parts {
		if p.Type == events.PartCall {
			id := events.CallID{Turn: e.Step.Turn, Step: e.Step.Step, Ordinal: p.Ordinal}
			arguments, err := f.content(ctx, p.Arguments, p)
			if err != nil {
				return err
			}
			f.calls[id] = toolCall{
				ID: callName(f.chat, id), Type: "function", Function: function{Name: p.Name, Arguments: arguments},
			}
		}
	}
	return f.whole(ctx, e.Step, e.Parts)
}

// whole sends what the client does not have yet of a step's answer.
func (f *follower) whole(ctx context.Context, id events.StepID, parts []events.Part) error {
	if id.Turn != f.turn || f.turn == 0 {
		return nil
	}
	s := f.step(id)
	text, reasoning := "", ""
	for _, p := range parts {
		content, err := f.content(ctx, p.Text, p)
		if err != nil {
			return err
		}
		switch p.Type {
		case events.PartText:
			text += content
		case events.PartReasoning:
			reasoning += content
		default: // nothing that is read
		}
	}
	if err := f.reason(s.reasoning.set(reasoning)); err != nil {
		return err
	}
	first := s.text.sent == ""
	return f.say(first, s.text.set(text))
}

// content is what stands in a part, or apart from it.
func (f *follower) content(ctx context.Context, inline string, p events.Part) (string, error) {
	if p.Blob == "" || p.Type != events.PartText && p.Type != events.PartReasoning && p.Type != events.PartCall {
		return inline, nil
	}
	b, err := f.cfg.Chats.Download(ctx, f.key(f.chat), p.Blob)
	return string(b), err
}

// action asks the client to run its tools.
func (f *follower) action(e events.ActionRequested) (ending, bool, error) {
	list := make([]toolCall, 0, len(e.Calls))
	for _, id := range e.Calls {
		if call, ok := f.calls[id]; ok {
			list = append(list, call)
		}
	}
	return ending{finishCalls, f.usage}, true, f.out.calls(list)
}
