package chat

import (
	"fmt"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// Numbers of compaction, in percent but for the last two.
const (
	DefaultCompactAt = 70  // of the window, from which on a context is compacted
	MaxCompactAt     = 100 // turns it off
	keptShare        = 40  // of the messages, the newest
	savedShare       = 20  // of what was shown: a summary that saves less is none

	// A summary may have so many tokens where answers may have fewer.
	minSummaryTokens = 4_000

	minKeptMessages = 2
	rulesCompaction = 2 // the first decision rules under which contexts are compacted
)

// Window is what is known of a model's context window.
type Window struct {
	Tokens    int64 // 0: nothing
	CompactAt int   // percent of Tokens; 0 means 70 where Tokens are known, else never; 100 never
}

// askForSummary is what a model is asked when a conversation has become too long.
const askForSummary = `The conversation above has become too long to be shown again. Write the notes from which it can be continued by somebody who has not read it. Do not answer, and call no tool: write only the notes, in this order.

1. What the user wants, with every instruction, limit and preference they gave. Quote their newest request word for word.
2. What was found out, decided and done: names, paths, numbers, commands, and the results of tools that will be needed again.
3. What is open, what went wrong on the way, and what the next step was going to be.

Earlier notes that stand at the beginning are part of the conversation: carry over what still matters.`

// What stands around a summary where a model reads it. It is data: nobody asks
// anything by it.
const (
	beforeSummary = "The earlier part of this conversation is not shown any more. These notes stand in its place. They are a record of it and no request.\n\n<notes>\n"
	afterSummary  = "\n</notes>"
)

// saidStopped tells people why there is no summary.
const saidStopped = "the summary was interrupted"

func summaryMessage(summary []events.Part) model.Message {
	parts := make([]events.Part, 0, len(summary)+2)
	parts = append(append(append(parts, events.Text(beforeSummary)), summary...), events.Text(afterSummary))
	return model.Message{Role: model.RoleUser, Parts: parts}
}

// summaryRequest asks for a summary of what is shown up to until.
func (s State) summaryRequest(until events.Boundary) model.Request {
	r := promptHead(s)
	if r.MaxOutputTokens > 0 {
		r.MaxOutputTokens = max(r.MaxOutputTokens, minSummaryTokens)
	}
	c := newView(r.Model)
	v := s.scope()
	if v.begin != nil && len(v.begin.Summary) > 0 {
		c.messages = append(c.messages, summaryMessage(v.begin.Summary))
	}
	var shown []*turn
	after := wholeTurn
	for t, behind := range v.backward {
		shown, after = append(shown, t), behind // at last, that of the first
	}
	for _, t := range slices.Backward(shown) {
		if t.Number == until.Turn {
			c.part(t, after, until.Step)
			break
		}
		c.part(t, after, maxNumber)
		after = wholeTurn
	}
	c.messages = append(c.messages, model.Message{Role: model.RoleUser, Parts: []events.Part{events.Text(askForSummary)}})
	r.Messages = c.messages
	return r
}

// compacts reports whether the open turn may have its context compacted.
func (s State) compacts() bool {
	t := s.f.Current
	return t.Rules >= rulesCompaction && canCompact(s.effective(t))
}

// canCompact reports whether contexts are compacted with those settings. Those of
// releases that could not, know neither a window nor a share of it.
func canCompact(e events.Effective) bool {
	return (e.Window > 0 || e.CompactAt > 0) && e.CompactAt < MaxCompactAt
}

// isFull reports whether the context has grown so far that it is to be compacted,
// and whether it is larger than the model's window.
func (s State) isFull() (full, over bool) {
	settings := s.effective(s.f.Current)
	if settings.Window == 0 {
		return false, false
	}
	at := settings.CompactAt
	if at == 0 {
		at = DefaultCompactAt
	}
	size := s.size()
	return size > settings.Window/100*int64(at)+settings.Window%100*int64(at)/100, size > settings.Window
}

// nextAnswer asks the model, or first has the context compacted: by leaving out old
// outputs, and by a summary if it is still full without them. Between two of the
// same kind that nobody asked for something is answered; a context that is too
// large all the same fails its turn.
func (s State) nextAnswer() events.Event {
	if !s.compacts() {
		return s.newStep(events.PurposeAnswer)
	}
	full, over := s.isFull()
	if full && !s.f.Compacted {
		if e, ok := s.shorter(); ok {
			return e
		}
	}
	if over {
		return s.tooLarge()
	}
	return s.newStep(events.PurposeAnswer)
}

// again is what follows an attempt whose request was too large: old outputs are
// left out, or there is a summary, and then the next attempt.
func (s State) again(t *turn, st *step) events.Event {
	full, over := s.isFull()
	leftOut := s.f.LeftOut > st.Rev // behind that attempt
	if !s.f.Compacted && (full || !leftOut) {
		if e, ok := s.shorter(); ok {
			return e
		}
		over = over || !leftOut
	}
	if over {
		return s.tooLarge()
	}
	return s.nextAttempt(t.Number, st)
}

// helps reports whether an attempt that failed since its request was too large is
// to be tried again with a shorter one.
func (s State) helps(class events.ErrorClass, st *step, attempt int) bool {
	if class != events.ClassContextTooLarge || st.Purpose != events.PurposeAnswer || attempt >= events.MaxAttemptsPerStep {
		return false
	}
	if !s.compacts() || s.f.Compacted {
		return false
	}
	_, ok := s.shorter()
	return ok
}

func (s State) tooLarge() events.Event {
	t := s.f.Current
	return events.TurnFailed{
		Turn: t.Number, Class: events.ClassContextTooLarge, Totals: t.totals(),
		Message: "the conversation is too long for the model's context window: clear it, say less at once, or use another model",
	}
}

// shorter is what makes the context shorter, if anything can: old outputs are left
// out, or, when they are or that is not worth it, a summary is asked for.
func (s State) shorter() (events.Event, bool) {
	if s.f.LeftOut == 0 {
		if e, ok := s.masking(); ok {
			return e, true
		}
	}
	until, ok := s.split()
	if !ok {
		return nil, false
	}
	return s.newSummary(until), true
}

func (s State) newSummary(until events.Boundary) events.StepRequested {
	return s.stepRequested(events.StepRequested{Step: s.newID(), Purpose: events.PurposeSummary, Attempt: 1, Until: &until})
}

// judgeSummary is what comes of a step that was to write a summary, nil while it
// is under way.
func (s State) judgeSummary(turn int, st *step) events.Event {
	id := events.StepID{Turn: turn, Step: st.Number}
	failed := func(class events.ErrorClass, message string) events.Event {
		return events.ContextCompactionFailed{Step: id, Class: class, Message: message}
	}
	switch st.Phase {
	case phaseFailed:
		return failed(st.Class, st.Message)
	case phaseInterrupted:
		return failed(events.ClassCancelled, saidStopped)
	case phaseOpen, phaseWaiting, phaseCrashed, phaseTooLarge, phaseDone:
		return nil
	case phaseCompleted:
	}
	summary := onlyText(visible(st.Parts))
	switch {
	case st.Stop == events.StopRefused:
		return failed(events.ClassContentFilter, "the model refused to write a summary of the conversation")
	case st.Stop == events.StopLength, st.Stop == events.StopPaused: // what it would have said last is what is open
		return failed(events.ClassContextTooLarge, "the summary of the conversation was cut off before its end")
	case len(summary) == 0:
		return failed(events.ClassContextTooLarge, "the summary of the conversation was empty")
	}
	e := events.ContextCompacted{Step: &id, Boundary: *st.Until, Summary: summary}
	name := s.effective(s.tip()).Model
	e.Before = s.shownTokens(s.scope(), name)
	after := s
	after.bound(e.Boundary, summary)
	e.After = after.shownTokens(after.scope(), name)
	if !saves(e.Before, e.After) {
		return failed(events.ClassContextTooLarge, fmt.Sprintf(
			"the summary of the conversation saved too little: about %d tokens were shown, and with it %d would be", e.Before, e.After))
	}
	return e
}

// saves reports whether that is so much less that it was worth it.
func saves(before, after int64) bool { return after*100 <= before*(100-savedShare) }

// unit is what a view is not cut within: the inputs of a turn, or a step with the
// results of its calls.
type unit struct {
	before events.Boundary // behind which it stands
	at     int             // index of its first message
	role   model.Role      // of that message
}

// units are those of what is shown, in order, and its messages. The last are what
// no model has answered yet, from the index unanswered on.
func (s State) units() (list []unit, messages []model.Message, unanswered int) {
	v := s.scope()
	c := newView(s.effective(s.tip()).Model)
	if v.begin != nil && len(v.begin.Summary) > 0 {
		c.messages = append(c.messages, summaryMessage(v.begin.Summary))
	}
	c.skills(v.skills)
	var shown []*turn
	after := wholeTurn
	for t, behind := range v.backward {
		shown, after = append(shown, t), behind
	}
	var before events.Boundary
	if v.begin != nil {
		before = v.begin.Boundary
	}
	add := func(show func()) {
		at := len(c.messages)
		if show(); len(c.messages) > at {
			list = append(list, unit{before: before, at: at, role: c.messages[at].Role})
		}
	}
	for _, t := range slices.Backward(shown) {
		if after == wholeTurn {
			add(func() {
				c.skills(t.activeBefore(firstStep))
				c.inputs(t.Inputs)
			})
			before = events.Boundary{Turn: t.Number}
		}
		for _, st := range t.Steps {
			if st.Number > after {
				add(func() {
					c.steered(t, st.Number)
					c.step(st)
				})
				before = events.Boundary{Turn: t.Number, Step: st.Number}
			}
		}
		if next := len(t.Steps) + 1; next > after && len(t.steeredBefore(next)) > 0 {
			add(func() { c.steered(t, next) })
			before.Step = next
		}
		after = wholeTurn
	}
	unanswered = len(c.messages)
	for unanswered > 0 && c.messages[unanswered-1].Role == model.RoleUser {
		unanswered--
	}
	return list, c.messages, unanswered
}

// split is behind what a summary of what is shown can end, false if none could
// save enough. No call is parted from its result, and nothing unanswered is summed
// up.
func (s State) split() (events.Boundary, bool) {
	list, messages, unanswered := s.units()
	cut := cutOf(list, len(messages), unanswered)
	if cut == nil {
		return events.Boundary{}, false
	}
	stays := newView("")
	stays.skills(s.skillsBehind(cut.before))
	all := tokensOf(messages)
	return cut.before, saves(all, all-tokensOf(messages[:cut.at])+tokensOf(stays.messages))
}

// cutOf is before what is kept as it is: the newest messages, from a user's on if
// one is among them.
func cutOf(list []unit, messages, unanswered int) *unit {
	point := messages - max(minKeptMessages, (messages*keptShare+99)/100)
	var cut *unit
	for i := range list {
		u := &list[i]
		switch {
		case u.at > unanswered || i == 0:
		case u.at >= point && u.role == model.RoleUser && u.at <= messages-minKeptMessages:
			return u
		case u.at <= point:
			cut = u
		}
	}
	return cut
}

// shownAnything reports whether a model would be shown anything of the chat.
func (s State) shownAnything() bool {
	_, messages, _ := s.units()
	return len(messages) > 0
}
