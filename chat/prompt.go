package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// Prompt is what the model of the turn at the tip gets to read: the path of turns
// that leads to it, in order. A step whose calls do not all have their results
// is left out: whenever a chat is looked at, calls and results come in pairs.
func Prompt(s State) model.Request {
	if s.tip() == nil {
		return model.Request{}
	}
	r := promptHead(s)
	v := s.scope()
	messages := 0
	for _, past := range v.turns {
		messages += len(past.messages(r.Model))
	}
	c := newView(r.Model)
	c.messages = make([]model.Message, 0, messages+roomForTurn)
	v.opening(c)
	for _, past := range v.turns {
		c.messages = append(c.messages, past.messages(r.Model)...)
	}
	v.ending(c)
	c.messages = append(c.messages, instructed(s.effective(s.tip()))...)
	r.Messages = c.messages
	return r
}

// promptHead is the request without messages.
func promptHead(s State) model.Request {
	settings := s.effective(s.tip())
	r := model.Request{Model: settings.Model, System: systemOf(settings), MaxOutputTokens: settings.Limits.OutputTokens}
	r.Tools = slices.Grow(r.Tools, len(settings.Tools))
	for _, tool := range settings.Tools {
		shown := model.Tool{Name: tool.Name, Manifest: tool.Manifest}
		if own, ok := clientToolOf(settings, tool.Name); ok && tool.Client {
			shown.Description, shown.Schema = own.Description, own.Schema // the log has them
		}
		r.Tools = append(r.Tools, shown)
	}
	return r
}

// roomForTurn is how many messages the open turn mostly has at least.
const roomForTurn = 4

// shown is what an ended turn looks like to a model, made when first needed and
// then shared by every state that has the turn.
type shown struct {
	mu       sync.Mutex
	model    string // for which it was made last
	messages []model.Message
	tokens   int64 // of the messages, as far as can be estimated
}

// messages is the view that a model has of an ended turn. It is shared: only to
// be read.
func (t *turn) messages(name string) []model.Message {
	messages, _ := t.seen(name)
	return messages
}

// tokens estimates those messages.
func (t *turn) tokens(name string) int64 {
	_, tokens := t.seen(name)
	return tokens
}

func (t *turn) seen(name string) ([]model.Message, int64) {
	t.shown.mu.Lock()
	defer t.shown.mu.Unlock()
	if t.shown.messages == nil || t.shown.model != name {
		v := view{model: name, messages: []model.Message{}}
		v.part(t, wholeTurn, maxNumber)
		t.shown.model, t.shown.messages, t.shown.tokens = name, v.messages, tokensOf(v.messages)
	}
	return t.shown.messages, t.shown.tokens
}

// jsonText is a plain struct as a model reads it: <, > and & stay as they are, since
// nobody puts it into HTML.
func jsonText(plain any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(plain); err != nil {
		panic(fmt.Sprintf("chat: no JSON of %T: %v", plain, err)) // plain structs only
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// view collects messages.
type view struct {
	model    string
	messages []model.Message
}

// wholeTurn stands for the step behind which all of a turn is, its inputs too.
const wholeTurn = -1

// firstStep is the number of a turn's first step. Skills that it is given stand before
// the inputs of the turn.
const firstStep = 1

// part shows what is in a turn behind one step and up to another.
func (v *view) part(t *turn, after, to int) {
	if after == wholeTurn {
		v.skills(t.activeBefore(firstStep))
		v.inputs(t.Inputs)
	}
	for _, st := range t.Steps {
		if st.Number > after && st.Number <= to {
			v.steered(t, st.Number)
			v.step(st)
		}
	}
	if next := len(t.Steps) + 1; next > after && next <= to {
		v.steered(t, next) // the step that is about to be asked for
	}
}

// behind shows what is in a turn behind a step's answer, the results of its calls
// first.
func (v *view) behind(t *turn, step int) {
	for _, st := range t.Steps {
		if st.Number == step {
			v.step(st)
			v.messages = slices.DeleteFunc(v.messages, func(m model.Message) bool { return m.Role != model.RoleTool })
		}
	}
	v.part(t, step, maxNumber)
}

// steered shows what people said to a turn right before a step, behind the skills that
// they named with it.
func (v *view) steered(t *turn, step int) {
	if step > firstStep {
		v.skills(t.activeBefore(step))
	}
	v.inputs(t.steeredBefore(step))
}

func (v *view) inputs(list []input) {
	for _, in := range list {
		parts := visible(in.Parts)
		if len(parts) == 0 {
			parts = []events.Part{events.Text(placeholderInput)}
		}
		v.messages = append(v.messages, model.Message{Role: model.RoleUser, Parts: parts})
	}
}

func (v *view) step(st *step) {
	if st.Purpose != events.PurposeAnswer {
		return // nobody was told
	}
	switch st.Phase {
	case phaseCompleted, phaseInterrupted:
	case phaseOpen, phaseWaiting, phaseCrashed, phaseFailed, phaseTooLarge, phaseDone:
		return // it has said nothing
	}
	for i := range st.Calls {
		if st.Calls[i].open() {
			return
		}
	}
	parts := slices.DeleteFunc(visible(st.Parts), func(p events.Part) bool {
		return isOwn(p.Type) && p.Model != "" && p.Model != v.model && st.Model != v.model
	})
	if st.Phase == phaseInterrupted {
		parts = onlyText(parts) // unfinished reasoning is taken back by no provider
	}
	var results []model.Result
	for i := range parts {
		p := &parts[i]
		if p.Type != events.PartCall {
			continue
		}
		c := st.Calls[p.Ordinal-1]
		p.ProviderID = c.WireID
		if p.Blob == "" {
			p.Arguments = normalArguments(p.Arguments)
			if !events.IsObject(p.Arguments) {
				p.Arguments = emptyArguments // the result tells the model what was wrong
			}
		}
		results = append(results, resultOf(c, *p))
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
	if c.Masked {
		parts = []events.Part{events.Text(c.placeholder())}
	}
	if len(parts) == 0 {
		parts = []events.Part{events.Text(placeholderResult)}
	}
	if c.Edited {
		parts = append([]events.Part{events.Text(editedNotice(c))}, parts...)
	}
	return model.Result{WireID: p.ProviderID, Name: p.Name, Parts: parts, IsError: c.Result.IsError}
}

// maxEditedShownBytes bounds how much of edited arguments a model is shown.
const maxEditedShownBytes = 8 << 10

// editedNotice tells the model that its call ran with other arguments than it wrote.
func editedNotice(c call) string {
	const changed = "A person changed the arguments of this call before it ran."
	if c.Blob != "" {
		return changed + " They are too long to be shown."
	}
	return changed + " It ran with: " + events.CutText(c.Arguments, maxEditedShownBytes)
}

// wireID is the call's id towards providers: the provider's own if it is usable
// and no call before it has it, else one made from ours. It is chosen when the
// call is folded, so that it never changes.
func (s *State) wireID(id events.CallID, providers string) string {
	wire := providers
	if !isWireID(wire) || s.usesWireID(wire) {
		wire = "call_" + strconv.Itoa(id.Turn) + "_" + strconv.Itoa(id.Step) + "_" + strconv.Itoa(id.Ordinal)
		for s.usesWireID(wire) { // a provider used ours
			wire += "_"
		}
	}
	return wire
}

func (s *State) usesWireID(wire string) bool {
	if s.f.Current.usesWireID(wire) {
		return true
	}
	return slices.ContainsFunc(s.f.Past, func(t *turn) bool { return t.usesWireID(wire) })
}

func (t *turn) usesWireID(wire string) bool {
	for _, st := range t.Steps {
		for i := range st.Calls {
			if st.Calls[i].WireID == wire {
				return true
			}
		}
	}
	return false
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
