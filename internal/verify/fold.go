package verify

import (
	"slices"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// fold is a chat's state, folded thrice: as it is, with every commit's clock
// changed, and from a snapshot on. It serves I16, I19 and the clock's part of I20.
type fold struct {
	state   chat.State
	shifted chat.State
	resumed chat.State // the zero state until there was a snapshot
	stored  chat.State // the snapshot that is to be compared when its rev is reached
	asked   bool       // for the stored snapshot
	over    bool       // no longer folded: nothing that follows would mean anything
	next    uint64
	rules   int // prompt rules of the newest turn

	// asks is which model the open step asks; others are those that were seen to
	// have answered in place of it. What they thought is given back with its
	// question, and whoever asks leaves it out where it does not belong.
	asks   string
	others map[[2]string]bool
}

// clockShift is a time no real commit has.
const clockShift events.Time = 1

// read folds the commit and judges what the model is shown where it ends.
func (f *fold) read(h *history, c events.Commit, e Entry) {
	if h.options.SkipFold || f.over {
		return
	}
	hash := events.Hash(e.Commit)
	f.buried(c)
	compacts := slices.ContainsFunc(c.Events, func(e events.Event) bool { return e.EventType() == events.ContextCompacted{}.EventType() })
	was := f.state
	f.apply(c, hash)
	if wrong := f.state.Wrong(); wrong != "" {
		f.over = true
		if len(h.count) == 0 { // else it follows from what is reported already
			h.breaks(RulePrompts, h.last, "the log cannot be folded: %s", wrong)
		}
		return
	}
	if compacts {
		f.contextOf(h, c, was, hash)
	}
	ended := false
	for _, event := range c.Events {
		switch event := event.(type) {
		case events.TurnStarted:
			f.rules = event.PromptRules
		case events.StepRequested:
			f.asks = event.Model
			f.prompt(h, event)
		case events.StepCompleted:
			f.answered(event.Parts)
		case events.StepInterrupted:
			f.answered(event.Parts)
		case events.TurnCompleted, events.TurnFailed, events.TurnInterrupted:
			ended = true
		default:
			// Nothing that a prompt is asked for at.
		}
	}
	if h.past.line > 0 {
		return
	}
	f.compare(h, hash)
	// Hashing costs as much as the state is large, so it is done at ever wider
	// distances, and once more at the end.
	if ended && c.Rev >= f.next {
		f.next = 2 * c.Rev
		f.judge(h)
		f.resume(h)
	}
}

func (f *fold) apply(c events.Commit, hash string) {
	f.state = f.state.Apply(c, hash)
	if f.resumed.Exists() {
		f.resumed = f.resumed.Apply(c, hash)
	}
	c.At = clockShift
	f.shifted = f.shifted.Apply(c, hash)
}

// answered notes which models answered in place of the one that was asked.
func (f *fold) answered(parts []events.Part) {
	for _, p := range parts {
		if p.Model != "" && p.Model != f.asks {
			if f.others == nil {
				f.others = make(map[[2]string]bool)
			}
			f.others[[2]string{f.asks, p.Model}] = true
		}
	}
}

func (f *fold) finish(h *history) {
	if h.options.SkipFold || f.over || h.newer {
		return
	}
	h.here = h.last
	f.judge(h)
	if f.stored.Exists() && h.options.Idle {
		h.breaks(RuleReplay, Place{}, "the snapshot is of rev %d, and the log does not reach it", f.stored.Rev())
	}
}

// judge compares the states. What differs is followed no further.
func (f *fold) judge(h *history) {
	want := f.state.Hash()
	if f.shifted.Hash() != want {
		h.breaks(RuleBounds, Place{}, "the state depends on the clocks of its commits")
		f.over = true
	}
	if f.resumed.Exists() && f.resumed.Hash() != want {
		h.breaks(RuleReplay, Place{}, "folded from a snapshot on, the log gives another state")
		f.over = true
	}
}

// resume makes a snapshot here, from which the rest is folded once more; unless
// a stored one serves.
func (f *fold) resume(h *history) {
	if f.stored.Exists() || f.resumed.Exists() && h.options.Snapshot != nil {
		return
	}
	b, err := chat.Encode(f.state)
	if err == nil {
		f.resumed, err = chat.Decode(b)
	}
	if err != nil {
		h.breaks(RuleReplay, Place{}, "the state cannot be made a snapshot: %v", err)
		f.over = true
	}
}

// compare judges the stored snapshot where its rev is reached, and folds what
// follows from it, too.
func (f *fold) compare(h *history, hash string) {
	if !f.asked {
		f.asked = true
		f.load(h)
	}
	if !f.stored.Exists() || f.stored.Rev() > f.state.Rev() {
		return
	}
	switch {
	case f.stored.Prev() != hash:
		h.breaks(RuleReplay, Place{}, "the snapshot is of another commit than the one of its rev")
	case f.stored.Key() != h.key:
		h.breaks(RuleReplay, Place{}, "the snapshot is of chat %s", f.stored.Key())
	case f.stored.Hash() != f.state.Hash():
		h.breaks(RuleReplay, Place{}, "the snapshot is not the state that the log gives")
	default:
		f.resumed = f.stored
	}
	f.stored = chat.State{}
}

func (f *fold) load(h *history) {
	if h.options.Snapshot == nil {
		return
	}
	b := h.options.Snapshot(h.key)
	if len(b) == 0 {
		return
	}
	var err error
	if f.stored, err = chat.Decode(b); err != nil {
		h.breaks(RuleReplay, Place{}, "the snapshot cannot be read: %v", err)
	}
}

// prompt judges I16 where a step was requested.
func (f *fold) prompt(h *history, e events.StepRequested) {
	request := chat.PromptFor(f.state, e.Step)
	if problem := promptable(request, func(name string) bool { return f.others[[2]string{request.Model, name}] }); problem != "" {
		h.breaks(RulePrompts, Place{}, "what step %s shows the model: %s", e.Step, problem)
	}
	f.told(h, e, request.Messages)
	if f.rules != chat.PromptRules {
		return // it was shown by the rules of another release
	}
	canonical := request.Canonical()
	if d := events.DigestOf(canonical); d != e.Prompt {
		h.breaks(RulePrompts, Place{}, "step %s recorded the prompt %s; today the model is shown %s", e.Step, e.Prompt, d)
	} else if n := int64(len(canonical)); n != e.Bytes {
		h.breaks(RulePrompts, Place{}, "step %s recorded a prompt of %d bytes; it has %d", e.Step, e.Bytes, n)
	}
}
