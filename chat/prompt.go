package chat

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// PromptRules numbers the rules by which a state becomes a request. A release
// that would show a model something else raises it.
const PromptRules = 1

// What stands in place of content that no provider takes.
const (
	placeholderInput  = "(empty message)"
	placeholderResult = "(no output)"
)

// Prompt is what the model of the newest turn gets to read: the path of turns
// that leads to it, in order. A step whose calls do not all have their results
// is left out, so the view of every state, at any time, has exactly one result
// after each call and no result without one.
func Prompt(s State) model.Request {
	t := s.tip()
	if t == nil {
		return model.Request{}
	}
	settings := s.effective(t)
	r := model.Request{Model: settings.Model, System: settings.System, MaxOutputTokens: settings.Limits.OutputTokens}
	for _, tool := range settings.Tools {
		r.Tools = append(r.Tools, model.Tool{Name: tool.Name, Manifest: tool.Manifest})
	}
	v := view{wireIDs: map[string]bool{}}
	for _, past := range s.f.Past {
		v.turn(past)
	}
	if s.f.Current != nil {
		v.turn(s.f.Current)
	}
	r.Messages = v.messages
	return r
}

// view collects messages.
type view struct {
	messages []model.Message
	wireIDs  map[string]bool // in use
}

func (v *view) turn(t *turn) {
	for _, in := range t.Inputs {
		parts := visible(in.Parts)
		if len(parts) == 0 {
			parts = []events.Part{events.Text(placeholderInput)}
		}
		v.messages = append(v.messages, model.Message{Role: model.RoleUser, Parts: parts})
	}
	for _, st := range t.Steps {
		v.step(t, st)
	}
}

func (v *view) step(t *turn, st *step) {
	switch st.Phase {
	case phaseCompleted, phaseInterrupted:
	case phaseOpen, phaseWaiting, phaseCrashed, phaseFailed:
		return // it has said nothing
	}
	for i := range st.Calls {
		if st.Calls[i].open() {
			return
		}
	}
	parts := visible(st.Parts)
	if st.Phase == phaseInterrupted {
		parts = onlyText(parts) // unfinished reasoning is taken back by no provider
	}
	var results []model.Result
	for i := range parts {
		p := &parts[i]
		if p.Type != events.PartCall {
			continue
		}
		p.ProviderID = v.wireID(t, st, *p)
		if p.Blob == "" {
			p.Arguments = normalArguments(p.Arguments)
			if !isObject(p.Arguments) {
				p.Arguments = emptyArguments // the result tells the model what was wrong
			}
		}
		results = append(results, resultOf(st.Calls[p.Ordinal-1], *p))
	}
	if len(parts) > 0 {
		v.messages = append(v.messages, model.Message{Role: model.RoleAssistant, Parts: parts})
	}
	if len(results) > 0 {
		v.messages = append(v.messages, model.Message{Role: model.RoleTool, Results: results})
	}
}

func resultOf(c call, p events.Part) model.Result {
	parts := visible(c.Result.Parts)
	if len(parts) == 0 {
		parts = []events.Part{events.Text(placeholderResult)}
	}
	return model.Result{WireID: p.ProviderID, Name: p.Name, Parts: parts, IsError: c.Result.IsError}
}

// wireID is the call's id towards the provider: the provider's own if it is
// usable and nobody has it yet, else one made from ours.
func (v *view) wireID(t *turn, st *step, p events.Part) string {
	id := p.ProviderID
	if !isWireID(id) || v.wireIDs[id] {
		id = "call_" + strconv.Itoa(t.Number) + "_" + strconv.Itoa(st.Number) + "_" + strconv.Itoa(p.Ordinal)
		for v.wireIDs[id] { // a provider used ours
			id += "_"
		}
	}
	v.wireIDs[id] = true
	return id
}

// maxWireIDBytes is the shortest limit that a provider sets.
const maxWireIDBytes = 64

func isWireID(id string) bool {
	if id == "" || len(id) > maxWireIDBytes {
		return false
	}
	return strings.IndexFunc(id, func(r rune) bool {
		return r != '_' && r != '-' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	}) < 0
}

// visible is parts without those that hold nothing: providers refuse an empty
// block, and refuse it again in every later request.
func visible(parts []events.Part) []events.Part {
	kept := make([]events.Part, 0, len(parts))
	for _, p := range parts {
		if p.Type == events.PartText && p.Blob == "" && isBlank(p.Text) ||
			p.Type == events.PartReasoning && p.Blob == "" && len(p.Opaque) == 0 && isBlank(p.Text) {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

func onlyText(parts []events.Part) []events.Part {
	var kept []events.Part
	for _, p := range parts {
		if p.Type == events.PartText {
			kept = append(kept, p)
		}
	}
	return kept
}

// isBlank reports whether s shows nothing: white space, characters of no width
// and format characters only.
func isBlank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r)
	}) < 0
}
