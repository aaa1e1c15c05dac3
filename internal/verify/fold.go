package verify

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// fold is a chat's state, folded twice: as it is, and with every commit's clock
// changed. It serves I16 and the clock's part of I20.
type fold struct {
	state   chat.State
	shifted chat.State
	over    bool // no longer folded: nothing that follows would mean anything
	next    uint64
	rules   int // prompt rules of the newest turn
}

// clockShift is a time no real commit has.
const clockShift events.Time = 1

// read folds the commit and judges what the model is shown where it ends.
func (f *fold) read(h *history, c events.Commit, e Entry) {
	if h.options.SkipFold || f.over {
		return
	}
	defer func() {
		// A fold never judges, so a log that breaks other rules can break it.
		if r := recover(); r != nil {
			f.over = true
			if h.count == 0 {
				h.breaks(RulePrompts, h.last, "the log cannot be folded: %v", r)
			}
		}
	}()
	hash := events.Hash(e.Commit)
	f.state = f.state.Apply(c, hash)
	moved := c
	moved.At = clockShift
	f.shifted = f.shifted.Apply(moved, hash)
	ended := false
	for _, event := range c.Events {
		switch event := event.(type) {
		case events.TurnStarted:
			f.rules = event.PromptRules
		case events.StepRequested:
			f.prompt(h, event)
		case events.TurnCompleted, events.TurnFailed, events.TurnInterrupted:
			ended = true
		default:
			// Nothing that a prompt is asked for at.
		}
	}
	// Hashing costs as much as the state is large, so it is done at ever wider
	// distances, and once more at the end.
	if ended && c.Rev >= f.next {
		f.next = 2 * c.Rev
		f.clock(h)
	}
}

func (f *fold) finish(h *history) {
	if h.options.SkipFold || f.over || h.newer {
		return
	}
	h.here = h.last
	f.clock(h)
}

// clock judges I20: a state knows nothing of when its commits were made.
func (f *fold) clock(h *history) {
	if f.state.Hash() != f.shifted.Hash() {
		h.breaks(RuleBounds, Place{}, "the state depends on the clocks of its commits")
		f.over = true
	}
}

// prompt judges I16 where a step was requested.
func (f *fold) prompt(h *history, e events.StepRequested) {
	request := chat.Prompt(f.state)
	if problem := Promptable(request); problem != "" {
		h.breaks(RulePrompts, Place{}, "what step %s shows the model: %s", e.Step, problem)
	}
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

// Promptable says what is wrong with what a model is to be shown, or nothing:
// every call is followed by its result before anything else, no two calls share
// an id, nothing is empty, and all text is text.
func Promptable(r model.Request) string {
	seen := make(map[string]bool)
	for i := 0; i < len(r.Messages); i++ {
		m := r.Messages[i]
		if problem := whole(m, r.Model); problem != "" {
			return fmt.Sprintf("message %d: %s", i, problem)
		}
		calls := callsIn(m)
		if m.Role == model.RoleTool {
			return fmt.Sprintf("message %d: results without calls", i)
		}
		if len(calls) == 0 {
			continue
		}
		i++
		if i == len(r.Messages) || r.Messages[i].Role != model.RoleTool {
			return fmt.Sprintf("message %d: calls without results", i-1)
		}
		if problem := paired(calls, r.Messages[i].Results, seen); problem != "" {
			return fmt.Sprintf("message %d: %s", i, problem)
		}
	}
	return ""
}

func callsIn(m model.Message) []events.Part {
	var calls []events.Part
	for _, p := range m.Parts {
		if p.Type == events.PartCall {
			calls = append(calls, p)
		}
	}
	return calls
}

// paired judges the results that follow calls.
func paired(calls []events.Part, results []model.Result, seen map[string]bool) string {
	if len(calls) != len(results) {
		return fmt.Sprintf("%d results for %d calls", len(results), len(calls))
	}
	for j, c := range calls {
		r := results[j]
		switch {
		case c.ProviderID != r.WireID:
			return fmt.Sprintf("result %d answers %q, call %d is %q", j, r.WireID, j, c.ProviderID)
		case r.WireID == "":
			return fmt.Sprintf("call %d has no id", j)
		case seen[r.WireID]:
			return fmt.Sprintf("the id %q comes twice", r.WireID)
		case len(r.Parts) == 0:
			return fmt.Sprintf("result %d is empty", j)
		}
		seen[r.WireID] = true
		if problem := readable(r.Parts); problem != "" {
			return fmt.Sprintf("result %d: %s", j, problem)
		}
	}
	return ""
}

// whole judges a message by itself.
func whole(m model.Message, modelName string) string {
	switch m.Role {
	case model.RoleUser, model.RoleAssistant:
		if len(m.Parts) == 0 {
			return "no content"
		}
	case model.RoleTool:
		if len(m.Results) == 0 {
			return "no results"
		}
	default:
		return fmt.Sprintf("role %q", m.Role)
	}
	for j, p := range m.Parts {
		if len(p.Opaque) > 0 && p.Model != "" && p.Model != modelName {
			return fmt.Sprintf("part %d is for the model %s alone", j, p.Model)
		}
	}
	return readable(m.Parts)
}

// readable judges that parts are not empty and that their text is text.
func readable(parts []events.Part) string {
	for j, p := range parts {
		for _, text := range []string{p.Text, p.Arguments, p.JSON, p.Name, p.Title, p.ProviderID} {
			if !utf8.ValidString(text) || events.RepairText(text) != text {
				return fmt.Sprintf("part %d holds characters that no model takes", j)
			}
		}
		switch {
		case p.Blob != "":
		case p.Type == events.PartText && p.Text == "", p.Type == events.PartData && p.JSON == "":
			return fmt.Sprintf("part %d is empty", j)
		case p.Type == events.PartCall && !json.Valid([]byte(p.Arguments)):
			return fmt.Sprintf("part %d has arguments that are no JSON", j)
		}
	}
	return ""
}
