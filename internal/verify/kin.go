package verify

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/everturn/everturn/events"
)

// families are what chats say of each other: a parent of its child, and the child of
// its parent. Either may be read first, or alone: then there is nothing to compare. A
// pair of which all is said is judged and forgotten.
type families map[events.Key]*pair // by child

// pair is a call and the chat that works for it.
type pair struct {
	parent events.Key
	call   events.CallID

	spawned Place // in the parent
	depth   int   // of the child, by its parent
	granted events.Budget
	ended   Place // in the parent
	outcome events.ChildOutcome
	totals  events.Totals
	spent   events.Spending
	status  events.ToolStatus
	result  saying

	born      Place // in the child
	bornDepth int
	mayHave   events.Budget
	turn      Place // the end of its first turn
	came      events.ChildOutcome
	took      events.Totals
	used      events.Spending
	ok        bool // it came to an answer
	answer    saying
	erased    Place
}

// saying is a text; inexact if it is not all in the log.
type saying struct {
	text  string // its hash
	exact bool
}

// sayingOf is what can be seen of parts that a parent's model gets to read.
func sayingOf(parts []events.Part) saying {
	var all strings.Builder
	for _, p := range parts {
		if p.Blob != "" {
			return saying{}
		}
		if p.Type == events.PartText {
			all.WriteString(strings.Map(visible, events.RepairText(p.Text)))
		}
	}
	return saying{text: events.Hash([]byte(all.String())), exact: true}
}

// visible leaves out what cannot be seen: an answer that is nothing else is no text.
func visible(r rune) rune {
	if unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}

// of is the pair of a child; nil while what is judged is the log of another chat.
func (f families) of(h *history, child, parent events.Key, call events.CallID) *pair {
	if f == nil || h.past.line > 0 || h.closing {
		return nil
	}
	p, ok := f[child]
	if !ok {
		p = &pair{parent: parent, call: call}
		f[child] = p
	}
	return p
}

func (f families) byChild(h *history) *pair {
	parent := h.birth.event.Parent
	return f.of(h, h.key, events.Key{Tenant: h.key.Tenant, Chat: parent.Chat}, parent.Call)
}

func (f families) byParent(h *history, child string, call events.CallID) *pair {
	return f.of(h, events.Key{Tenant: h.key.Tenant, Chat: child}, h.key, call)
}

func (f families) born(h *history) {
	if p := f.byChild(h); p != nil {
		p.born, p.bornDepth, p.mayHave = h.here, h.birth.event.Depth, h.birth.event.Granted
	}
}

func (f families) spawned(h *history, e events.ChildSpawned) {
	if p := f.byParent(h, e.Child, e.Call); p != nil {
		p.spawned, p.depth, p.granted = h.here, e.Depth, e.Granted
	}
}

func (f families) reported(h *history, e events.ChildEnded) {
	if p := f.byParent(h, e.Child, e.Call); p != nil {
		p.ended, p.outcome, p.totals, p.spent = h.here, e.Outcome, e.Totals, e.Spent
		h.told = append(h.told, events.Key{Tenant: h.key.Tenant, Chat: e.Child})
	}
}

func (f families) resulted(h *history, c *call, e events.ToolCompleted) {
	if p := f.byParent(h, c.child.event.Child, e.Call); p != nil {
		p.status = e.Status
		if !e.Truncated {
			p.result = sayingOf(e.Parts)
		}
	}
}

// over takes in how the first turn of a child ended.
func (f families) over(h *history, t *turn, came events.ChildOutcome, took events.Totals, finish events.Finish) {
	if !h.birth.at.known() || t.number != 1 {
		return
	}
	p := f.byChild(h)
	if p == nil {
		return
	}
	p.turn, p.came, p.took, p.used = h.here, came, took, t.budget.spent
	p.ok = finish == events.FinishComplete || finish == events.FinishLength || finish == events.FinishStopAfterTool
	if finish == events.FinishComplete {
		p.answer = h.said
	}
	h.said = saying{}
}

func (f families) buried(h *history) {
	if p, ok := f[h.key]; ok {
		p.erased = h.here
	}
}

// settle judges pairs of which all is said.
func (c *Checker) settle(h *history) {
	for _, k := range append(h.told, h.key) {
		p, ok := c.families[k]
		if !ok || !p.spawned.known() || !p.ended.known() || p.status == "" || !p.born.known() || !p.turn.known() && !p.erased.known() {
			continue
		}
		if p.outcome == events.ChildErased && !p.erased.known() {
			continue // its end is still to be read
		}
		c.compare(k, p)
		delete(c.families, k)
	}
	h.told = nil
}

// kindred judges the pairs that are left when all is read.
func (c *Checker) kindred() {
	for _, k := range slices.SortedFunc(maps.Keys(c.families), events.Key.Compare) {
		c.compare(k, c.families[k])
	}
}

// compare judges I17 for a child and its parent, as far as both are in view. What
// comes from a backup may be older than the other.
func (c *Checker) compare(k events.Key, p *pair) {
	parent, child := c.chats[p.parent], c.chats[k]
	if parent == nil || child == nil || parent.newer || child.newer || parent.restored || child.restored {
		return
	}
	says := func(h *history, at Place, format string, args ...any) {
		here := h.here
		h.here = at
		h.breaks(RuleChildren, Place{}, format, args...)
		h.here = here
	}
	switch {
	case p.born.known() && !p.spawned.known():
		if gone := parent.newestTurn() > p.call.Turn; !parent.cutOff && (gone || c.options.Idle) {
			says(child, p.born, "the chat works for call %s of chat %s, which has no such child", p.call, p.parent)
		}
		return
	case !p.born.known():
		// Somebody may have made a chat of that name before. Then there is no child,
		// and its parent was told so.
		told := p.outcome == events.ChildFailed && p.totals == (events.Totals{}) || p.outcome == events.ChildUnknown || p.outcome == events.ChildErased
		if !child.cutOff && p.ended.known() && !told {
			says(parent, p.ended, "the child of call %s is said to be %s, and chat %s works for nobody", p.call, p.outcome, k)
		}
		return
	case p.depth != p.bornDepth:
		says(child, p.born, "the chat is at depth %d, and by its parent %s at %d", p.bornDepth, p.parent, p.depth)
	case p.granted != p.mayHave:
		says(child, p.born, "the chat was granted %+v, and by its parent %s %+v", p.mayHave, p.parent, p.granted)
	}
	if p.ended.known() {
		c.reports(k, p, says)
	}
}

// reports judges that a parent was told what its child came to.
func (c *Checker) reports(k events.Key, p *pair, says func(*history, Place, string, ...any)) {
	parent := c.chats[p.parent]
	switch {
	case p.outcome == events.ChildUnknown:
		return // nobody was told anything
	case p.outcome == events.ChildErased:
		if !p.erased.known() && c.options.Idle {
			says(parent, p.ended, "the child of call %s is said to be erased, and chat %s is not", p.call, k)
		}
		return
	case !p.turn.known():
		if c.options.Idle && !c.chats[k].cutOff {
			says(parent, p.ended, "the child of call %s is said to have %s, and the first turn of chat %s has not ended", p.call, p.outcome, k)
		}
		return
	case p.came != p.outcome:
		says(parent, p.ended, "the child of call %s is said to be %s; the first turn of chat %s is %s at rev %d", p.call, p.outcome, k, p.came, p.turn.Rev)
		return
	case p.took != p.totals:
		says(parent, p.ended, "the child of call %s is said to have taken %+v; the first turn of chat %s took %+v", p.call, p.totals, k, p.took)
	case p.used != p.spent:
		says(parent, p.ended, "the child of call %s is said to have spent %+v; the first turn of chat %s spent %+v", p.call, p.spent, k, p.used)
	}
	switch {
	case p.status == "":
	case p.ok != (p.status == events.ToolOK):
		says(parent, p.ended, "the result of call %s is %s; that its child %s came to an answer is %t", p.call, p.status, k, p.ok)
	case p.answer.exact && p.result.exact && p.answer.text != p.result.text:
		says(parent, p.ended, "the result of call %s is not the answer of its child %s at rev %d", p.call, k, p.turn.Rev)
	}
}
