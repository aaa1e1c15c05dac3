package replay

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// answers are those a model may have given. What it said is in the log; how its
// calls' arguments were judged depends on schemas, which need not be at hand.
func (h *History) answers(c events.Commit, e events.StepCompleted, ended chat.AttemptEnded) []guess {
	settled := settledIn(c.Events[1:])
	parts, _ := h.filled(c.Key, e.Parts, false)
	parts = tooLong(parts, e.Step, settled)
	ended.Timing = e.Timing
	ended.Answer = &model.Answer{
		Parts: parts, Stop: e.Stop, RawStop: e.RawStop, Usage: e.Usage, CostMicros: e.CostMicros, Provider: e.Provider,
		RawUsage: e.RawUsage,
	}
	tools := h.called(parts)
	known := make(map[events.Digest]*chat.Schema)
	for _, t := range tools {
		if s := h.schema(t.tool.Manifest); s != nil {
			known[t.tool.Manifest] = s
		}
	}
	for _, t := range tools {
		if t.part.Blob != "" { // its arguments cannot be had
			delete(known, t.tool.Manifest)
		}
	}
	all, fewer := maps.Clone(known), maps.Clone(known)
	for _, t := range tools {
		switch {
		case known[t.tool.Manifest] == nil:
			all[t.tool.Manifest], fewer[t.tool.Manifest] = anything(), anything()
		case t.rejectedIn(settled, e.Step): // what can be read now could perhaps not be read then
			delete(fewer, t.tool.Manifest)
		}
	}
	ended.Schemas = all
	list := []guess{{message: ended}}
	if len(known) < len(all) {
		list[0].verdicts = h.believing(ended, known, c.Events[1:])
	}
	if len(fewer) < len(all) {
		ended.Schemas = fewer
		list = append(list, guess{message: ended, verdicts: list[0].verdicts})
	}
	return list
}

// settledIn are the results that the rules gave, by call.
func settledIn(list []events.Event) map[events.CallID]events.ToolCompleted {
	settled := make(map[events.CallID]events.ToolCompleted)
	for _, e := range list {
		if e, ok := e.(events.ToolCompleted); ok {
			settled[e.Call] = e
		}
	}
	return settled
}

// tooLong is parts with arguments of the length for which a call was turned
// down: they were not kept, as nobody needs to read them.
func tooLong(parts []events.Part, step events.StepID, settled map[events.CallID]events.ToolCompleted) []events.Part {
	const maxTold = 64 << 20
	full := parts
	for i, p := range parts {
		if p.Type != events.PartCall || p.Arguments != "" || p.Blob != "" {
			continue
		}
		r, ok := settled[callOf(step, p)]
		if !ok || r.Status != events.ToolInvalid || len(r.Parts) == 0 {
			continue
		}
		if n, ok := firstNumber(r.Parts[0].Text); ok && n > events.MaxArgumentsBytes && n <= maxTold {
			if &full[0] == &parts[0] {
				full = slices.Clone(parts)
			}
			full[i].Arguments = strings.Repeat(" ", n)
		}
	}
	return full
}

func callOf(step events.StepID, p events.Part) events.CallID {
	return events.CallID{Turn: step.Turn, Step: step.Step, Ordinal: p.Ordinal}
}

// called is a tool with a call of it.
type called struct {
	tool events.Tool
	part events.Part
}

// called are the tools of the open turn that an answer calls.
func (h *History) called(parts []events.Part) []called {
	settings, _ := h.state.Effective()
	var list []called
	for _, p := range parts {
		if p.Type != events.PartCall {
			continue
		}
		for _, t := range settings.Tools {
			if t.Name == p.Name {
				list = append(list, called{t, p})
			}
		}
	}
	return list
}

// rejectedIn reports whether the call's arguments were turned down.
func (t called) rejectedIn(settled map[events.CallID]events.ToolCompleted, step events.StepID) bool {
	r, ok := settled[callOf(step, t.part)]
	return ok && r.Status == events.ToolInvalid
}

// schema is what judges the arguments of a tool; nil if it cannot be had.
func (h *History) schema(manifest events.Digest) *chat.Schema {
	if s, asked := h.schemas[manifest]; asked || h.options.Schema == nil {
		return s
	}
	var s *chat.Schema
	if raw, err := h.options.Schema(manifest); err == nil {
		if compiled, err := chat.CompileSchema(raw); err == nil {
			s = compiled
		}
	}
	h.schemas[manifest] = s
	return s
}

// anything is a schema that takes all JSON.
func anything() *chat.Schema {
	s, err := chat.CompileSchema(json.RawMessage("{}"))
	if err != nil {
		panic("replay: " + err.Error()) // it is the smallest schema there is
	}
	return s
}

// believing takes the log's word for what unknown schemas had against a call.
// Which calls come before a schema at all is found by deciding without any: the
// others are decided upon as ever.
func (h *History) believing(
	ended chat.AttemptEnded, known map[events.Digest]*chat.Schema, logged []events.Event,
) func([]events.Event) []events.Event {
	settled := settledIn(logged)
	return func(decided []events.Event) []events.Event {
		if len(decided) == 0 {
			return decided
		}
		completed, ok := decided[0].(events.StepCompleted)
		if !ok {
			return decided
		}
		ended.Schemas = known
		unread := settledIn(h.options.Rules.Decide(h.state, ended, h.state.At(), chat.Live{}).Events)
		now := settledIn(decided[1:])
		list := decided[:1:1]
		for _, p := range completed.Parts {
			if p.Type != events.PartCall {
				continue
			}
			call := callOf(completed.Step, p)
			if p.Blob != "" && chat.IsBuiltIn(p.Name) { // what it asks cannot be had
				decided, now = slices.Concat(decided[:1], logged), settled
			}
			list = append(list, begun(decided, call)...)
			result, given := now[call]
			if r := settled[call]; r.Status == events.ToolInvalid && unread[call].Status == events.ToolInvalid &&
				inJSON(unread[call]) != inJSON(result) {
				result, given = r, true
			}
			if given {
				list = append(list, result)
			}
		}
		return list
	}
}
