package verify

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// Tokens of outputs of tools.
const (
	keptOutputs  = 50_000 // the newest, which are never left out
	fewOutputs   = 75_000 // of which none is left out
	tokensPerPic = 1000
)

// output is what a successful call of a tool gave.
type output struct {
	id     events.CallID
	at     Place
	tokens int64
	masked Place // where it was left out
}

// change is what was done about what models are shown, and not taken back: a
// boundary, or outputs were left out.
type change struct {
	at       Place
	boundary events.Boundary
	masked   []events.CallID
}

// gave notes what a call of a tool gave, for as long as that may be left out. What a
// person answered may not.
func (h *history) gave(c *call, e events.ToolCompleted) {
	if e.Status != events.ToolOK || e.IsError || c.question.asked.known() && !c.requested.known() {
		return
	}
	i, known := h.output(e.Call)
	if !known {
		h.outputs = slices.Insert(h.outputs, i, output{id: e.Call, at: h.here, tokens: estimateParts(e.Parts)})
	}
}

// output is where a call's output is, or would be.
func (h *history) output(id events.CallID) (int, bool) {
	return slices.BinarySearchFunc(h.outputs, id, func(o output, id events.CallID) int { return o.id.Compare(id) })
}

// outputsMasked judges a compaction that leaves outputs out and sums up nothing.
func (h *history) outputsMasked(e events.ContextCompacted) {
	t := h.turn
	if t == nil {
		h.breaks(RuleCompaction, Place{}, "outputs are left out while no turn is open")
		return
	}
	t.compactions++
	if len(e.Masked) == 0 || len(e.Summary) > 0 {
		h.breaks(RuleCompaction, Place{}, "a compaction without a step leaves out %d outputs, and sums up in %d parts", len(e.Masked), len(e.Summary))
		return
	}
	if s := t.open(); s != nil {
		h.breaks(RuleCompaction, s.requested, "outputs are left out while step %s is under way", s.id)
	}
	if t.step != nil {
		for _, open := range t.step.openCalls() {
			h.breaks(RuleCompaction, t.step.closed, "outputs are left out while %s has no result", describe(open.id, "call"))
		}
	}
	if newest := e.Masked[len(e.Masked)-1]; e.Boundary != (events.Boundary{Turn: newest.Turn, Step: newest.Step}) {
		h.breaks(RuleCompaction, Place{}, "outputs up to %s are left out, and the boundary is %s", describe(newest, "call"), events.StepID(e.Boundary))
	}
	h.shrinks(e)
	if before := cmp.Or(h.leftOut, h.compacted); before.known() {
		h.breaks(RuleCompaction, before, "outputs are left out after a compaction, and nothing was answered between them")
	}
	h.leftOut = h.here
	h.maskable(e.Masked)
	h.change(change{boundary: e.Boundary, masked: e.Masked})
}

// maskable judges the calls whose outputs are left out: they were successful, on
// the path, and read; and so much of what is newer stays.
func (h *history) maskable(masked []events.CallID) {
	path := h.path()
	total, kept := int64(0), int64(0)
	for _, o := range h.outputs {
		if !path.turns[o.id.Turn] || o.masked.known() {
			continue
		}
		total += o.tokens
		if o.id.Compare(masked[len(masked)-1]) > 0 {
			kept += o.tokens
		}
	}
	if kept < keptOutputs || total <= fewOutputs {
		h.breaks(RuleCompaction, Place{}, "of %d tokens of outputs only the newest %d stay", total, kept)
	}
	last := events.CallID{}
	for _, id := range masked {
		i, known := h.output(id)
		switch what := describe(id, "call"); {
		case !known || !path.turns[id.Turn]:
			h.breaks(RuleCompaction, Place{}, "the output of %s is left out, and there is none", what)
		case h.outputs[i].masked.known():
			h.breaks(RuleCompaction, h.outputs[i].masked, "the output of %s is left out twice", what)
		case !path.answered(id):
			h.breaks(RuleCompaction, h.outputs[i].at, "the output of %s is left out, and no model has read it", what)
		case last.Compare(id) >= 0:
			h.breaks(RuleCompaction, h.outputs[i].at, "the output of %s is left out behind that of %s", what, describe(last, "call"))
		}
		if known {
			h.outputs[i].masked = h.here
		}
		last = id
	}
}

// path is the turns from the root to one of them, and the newest step on it that
// has answered.
type path struct {
	turns  map[int]bool
	newest events.StepID
}

// path is that to the open turn, or else to the one that the next follows.
func (h *history) path() path {
	p, number := path{turns: make(map[int]bool)}, h.tree.tip
	if h.turn != nil {
		number = h.turn.number
	}
	for ; h.tree.has(number) && !p.turns[number]; number = int(h.tree.get(number).parent) {
		p.turns[number] = true
		if step := int(h.tree.get(number).answered); step > 0 && p.newest.Turn == 0 {
			p.newest = events.StepID{Turn: number, Step: step}
		}
	}
	return p
}

// answered reports whether something was answered behind the call's result.
func (p path) answered(id events.CallID) bool {
	return id.Turn < p.newest.Turn || id.Turn == p.newest.Turn && id.Step < p.newest.Step
}

// bounds notes a boundary. Models are shown nothing again that they were not shown
// before it, so it is behind the one that it takes the place of. Clearing may take away
// a summary, and nothing else.
func (h *history) bounds(b events.Boundary, e events.Event) {
	if i := h.furthest(h.path()); i >= 0 {
		_, clears := e.(events.ContextCleared)
		if was := h.changes[i]; order(b, was.boundary) < 0 || b == was.boundary && !clears {
			h.breaks(RuleCompaction, was.at, "%s of %s, and nothing up to %s was shown any more",
				e.EventType(), events.StepID(b), events.StepID(was.boundary))
		}
	}
	h.change(change{boundary: b})
}

// change notes what was done about what models are shown.
func (h *history) change(c change) {
	c.at = h.here
	h.changes = append(h.changes, c)
}

// furthest is the index of the boundary behind which what is shown of a path begins:
// of all that are on it the furthest from the root, and -1 if none is.
func (h *history) furthest(p path) int {
	found := -1
	for i, c := range h.changes {
		if len(c.masked) > 0 || !p.turns[c.boundary.Turn] {
			continue
		}
		if found < 0 || order(c.boundary, h.changes[found].boundary) >= 0 {
			found = i
		}
	}
	return found
}

// newestChange is the index of the one that is taken back next on the path, -1 if
// none is: outputs that were left out since what is shown begins where it does, or
// else that. They are left out wherever the call of the oldest is.
func (h *history) newestChange() int {
	path := h.path()
	begins := h.furthest(path)
	for i := len(h.changes) - 1; i > begins; i-- {
		if masked := h.changes[i].masked; len(masked) > 0 && path.turns[masked[0].Turn] {
			return i
		}
	}
	return begins
}

// order says which of two boundaries on one path is nearer to its root.
func order(a, b events.Boundary) int {
	return cmp.Or(cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.Step, b.Step))
}

// takeBack takes a change back.
func (h *history) takeBack(i int) {
	masked := h.changes[i].masked
	h.changes = slices.Delete(slices.Clone(h.changes), i, i+1)
	for _, id := range masked {
		if at, known := h.output(id); known {
			h.outputs[at].masked = Place{}
		}
	}
}

// leavesOut judges what models are shown before and after outputs were left out:
// as many messages, with the same calls and results, of which that many say
// something else, and none that failed.
func (h *history) leavesOut(e events.ContextCompacted, before, after []model.Message) {
	if len(before) != len(after) {
		h.breaks(RuleCompaction, Place{}, "%d messages were shown, and %d are since outputs are left out", len(before), len(after))
		return
	}
	changed := 0
	for i := range before {
		was, is := before[i], after[i]
		if len(was.Results) != len(is.Results) {
			h.breaks(RuleCompaction, Place{}, "message %d has %d results, and %d since outputs are left out", i+1, len(was.Results), len(is.Results))
			return
		}
		for j := range was.Results {
			if isSame(resultOnly(was.Results[j]), resultOnly(is.Results[j])) {
				continue
			}
			if changed++; was.Results[j].IsError {
				h.breaks(RuleCompaction, Place{}, "the result %s is left out, and was an error", was.Results[j].WireID)
			}
		}
		was.Results, is.Results = nil, nil
		if !isSame(was, is) {
			h.breaks(RuleCompaction, Place{}, "message %d says something else since outputs are left out", i+1)
		}
	}
	if changed != len(e.Masked) {
		h.breaks(RuleCompaction, Place{}, "%d outputs are said to be left out, and %d are", len(e.Masked), changed)
	}
}

func resultOnly(r model.Result) model.Message {
	return model.Message{Role: model.RoleTool, Results: []model.Result{r}}
}

func isSame(a, b model.Message) bool {
	return bytes.Equal(a.AppendCanonical(nil), b.AppendCanonical(nil))
}
