package index

import (
	"cmp"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/listing"
)

// step folds what becomes of asking a model.
func (f *fold) step(e events.Event) {
	c := f.chat
	switch e := e.(type) { //nolint:gochecksumtype // the caller has sorted them
	case events.StepRequested:
		if len(c.Asked) < maxWaiting {
			c.Asked = append(c.Asked, asked{e.Step, e.Attempt, clean(e.Model, maxNameBytes), e.Purpose, f.inherited})
		}
		if e.Purpose == events.PurposeAnswer {
			c.Model = clean(e.Model, maxNameBytes)
		}
	case events.StepCompleted:
		a := f.ended(e.Step, e.Attempt, clean(e.Provider.Model, maxNameBytes), e.Usage, e.CostMicros)
		if a.Purpose == events.PurposeAnswer {
			c.MessageCount++
			f.say(listing.KindAssistant, e.Step.Turn, "", textOf(e.Parts))
		}
	case events.StepFailed:
		f.ended(e.Step, e.Attempt, "", e.Usage, e.CostMicros)
	case events.StepInterrupted:
		a := f.ended(e.Step, e.Attempt, "", e.Usage, e.CostMicros)
		if a.Purpose == events.PurposeAnswer && len(e.Parts) > 0 {
			c.MessageCount++
			f.say(listing.KindAssistant, e.Step.Turn, "", textOf(e.Parts))
		}
	}
}

// ended is an attempt that is over, and counts what it used. The model is the one that
// was to be asked: what the provider calls it counts only where that is not known.
func (f *fold) ended(step events.StepID, attempt int, answered string, u events.Usage, costMicros *int64) asked {
	a, _ := f.chat.takeAsked(step, attempt)
	if f.inherited || a.Inherited {
		return a
	}
	one := listing.Spent{Attempts: 1, Usage: u.Bounded()}
	switch costMicros = events.Cost(costMicros); {
	case costMicros != nil:
		one.CostMicros = *costMicros
	case u.Total() > 0:
		one.Unpriced = 1 // nobody knows, which is not the same as nothing
	}
	as := spentAs{day: day(f.at), model: cmp.Or(a.Model, answered), agent: f.chat.Agent}
	if step.Turn > 0 { // settings that were changed meanwhile are those of the next turn
		as.agent = f.chat.Spender
	}
	if f.spent == nil {
		f.spent = make(map[spentAs]listing.Spent)
	}
	f.spent[as] = plus(f.spent[as], one)
	return a
}

// plus is the sum of both, which never leaves what can be counted.
func plus(a, b listing.Spent) listing.Spent {
	return listing.Spent{
		Attempts: min(a.Attempts+b.Attempts, events.MaxSum), Usage: a.Usage.Plus(b.Usage),
		CostMicros: min(a.CostMicros+b.CostMicros, events.MaxSum), Unpriced: min(a.Unpriced+b.Unpriced, events.MaxSum),
	}
}

// day is the day of a time, in UTC.
func day(t events.Time) string { return t.Time().UTC().Format(time.DateOnly) }

// call folds what a call waits for.
func (f *fold) call(e events.Event) {
	c := f.chat
	switch e := e.(type) { //nolint:gochecksumtype // the caller has sorted them
	case events.ApprovalRequested:
		f.wait(open{Kind: listing.OpenApproval, Due: e.Due, Tool: clean(e.Tool, maxNameBytes)}, e.Call)
	case events.ApprovalResolved:
		c.closeCall(e.Call)
	case events.ActionRequested:
		for _, id := range e.Calls {
			f.wait(open{Kind: listing.OpenClient, Due: e.Due}, id)
		}
	case events.QuestionAsked:
		text := ""
		if len(e.Questions) > 0 {
			text = clean(e.Questions[0].Text, maxOpenBytes)
		}
		f.wait(open{Kind: listing.OpenQuestion, Due: e.Due, Text: text}, e.Call)
	case events.QuestionHeld:
		for i, o := range c.Open {
			if o.Kind == listing.OpenQuestion && *o.Call == e.Call {
				c.Open[i].Due = e.Due
			}
		}
	case events.QuestionAnswered:
		c.closeCall(e.Call)
	case events.ToolCompleted:
		c.closeCall(e.Call)
	}
}

// wait notes that a call waits for somebody from now on.
func (f *fold) wait(o open, call events.CallID) {
	f.chat.closeCall(call)
	o.Since, o.Rev, o.Turn, o.Call = f.at, f.rev, call.Turn, &call
	f.chat.Open = append(f.chat.Open, o)
}
