package verify

import (
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// toolDelegate is the one tool whose calls other chats work for.
const toolDelegate = "delegate"

// child is the chat that works for a call.
type child struct {
	spawned Place
	event   events.ChildSpawned
	ended   Place
	outcome events.ChildOutcome
}

// birth is what a chat says of the call that it works for; unknown if it works for none.
type birth struct {
	at    Place
	event events.ChatSpawned
}

// cause is that of everything which a chat does because of its parent.
func (b birth) cause() string {
	return b.event.Parent.Chat + "/" + b.event.Parent.Call.String()
}

// depth is how many chats stand above this one.
func (h *history) depth() int { return h.birth.event.Depth }

// taken reports whether a runner or another chat has the call.
func (c *call) taken() bool { return c.requested.known() || c.child.spawned.known() }

// delegates reports whether the call is one that another chat is to work for.
func (t *turn) delegates(c *call) bool {
	tool, ok := t.tool(c.name)
	return ok && isDelegate(tool)
}

func isDelegate(t events.Tool) bool { return t.Name == toolDelegate && t.Group == "" && !t.Client }

// openChildren is how many chats work for the step's calls.
func (s *step) openChildren() int {
	n := 0
	for _, c := range s.openCalls() {
		if c.child.spawned.known() {
			n++
		}
	}
	return n
}

// chatSpawned judges I17 for a chat that says whom it works for: by its own name, it
// can be no other call, and so none of a chat that works for it.
func (h *history) chatSpawned(e events.ChatSpawned, index int) {
	if h.here.Rev != 1 || index != 0 {
		h.breaks(RuleChain, h.last, "chat.created is not the first event of the log")
	}
	if h.birth.at.known() {
		h.breaks(RuleChildren, h.birth.at, "the chat works for a second call")
		return
	}
	h.birth, h.naming.given = birth{at: h.here, event: e}, e.Title != ""
	owner := h.owner()
	if name := protocol.ChildKey(events.Key{Tenant: owner.Tenant, Chat: e.Parent.Chat}, e.Parent.Call); name != owner {
		h.breaks(RuleChildren, Place{}, "the chat works for call %s of chat %s, whose child is named %s", e.Parent.Call, e.Parent.Chat, name.Chat)
	}
	if e.Depth < 1 || e.Depth > events.MaxDepth {
		h.breaks(RuleChildren, Place{}, "the chat is at depth %d, 1 to %d may be", e.Depth, events.MaxDepth)
	}
	h.kin.born(h)
}

// worksAtOnce judges that a chat which is made to work begins with it.
func (h *history) worksAtOnce() {
	if h.birth.at == h.here && h.birth.at.known() && h.newestTurn() == 0 {
		h.breaks(RuleChildren, Place{}, "the chat works for call %s of chat %s, and does not begin", h.birth.event.Parent.Call, h.birth.event.Parent.Chat)
	}
}

// chatBrings reports whether word from another chat can make e true.
func (h *history) chatBrings(e events.Event) bool {
	switch e := e.(type) {
	case events.ChatSpawned:
		return h.cause.ID == birth{event: e}.cause()
	case events.TurnInterruptRequested:
		return h.birth.at.known() && h.cause.ID == h.birth.cause() && e.Turn == 1 && e.Reason == events.ReasonParent
	case events.ChildEnded:
		return h.cause.ID == e.Child && e.Outcome != events.ChildUnknown
	default:
		return false
	}
}

// birthBrings reports whether e is what a chat begins with that is to work: its task,
// and that nobody waits for it any more.
func birthBrings(e events.Event) bool {
	switch e := e.(type) {
	case events.InputAccepted:
		return true
	case events.TurnInterruptRequested:
		return e.Turn == 1 && e.Reason == events.ReasonParent
	default:
		return false
	}
}

// named reports whether an input has the name of what brought it: a command, or the
// call that the chat works for.
func (h *history) named(input string) bool {
	switch h.cause.Kind {
	case events.CausedByCommand:
		return h.cause.ID == input
	case events.CausedByChat:
		return h.birth.at == h.here && input == "task-"+h.birth.event.Parent.Call.Token()
	case events.CausedByAttempt, events.CausedByClaim, events.CausedByResult, events.CausedByAsk, events.CausedByTimer, events.CausedByRestore:
	}
	return false
}

// startsAtDepth judges I17 for a turn that starts: at the last depth nobody delegates.
func (h *history) startsAtDepth(t *turn) {
	if h.depth() < events.MaxDepth {
		return
	}
	for _, tool := range t.settings.Tools {
		if isDelegate(tool) {
			h.breaks(RuleChildren, h.birth.at, "turn %d is at depth %d, and may delegate", t.number, h.depth())
		}
	}
}

func (h *history) childSpawned(e events.ChildSpawned) {
	c, ok := h.find(e.Call, e, RuleChildren)
	if !ok {
		return
	}
	what := describe(e.Call, "call")
	h.starts("the child of " + what)
	switch {
	case c.child.spawned.known():
		h.breaks(RuleChildren, c.child.spawned, "%s gets a second child", what)
		return
	case c.result.known():
		h.breaks(RuleChildren, c.result, "%s gets a child after its result", what)
	case c.requested.known(), c.client.known(), c.question.asked.known():
		h.breaks(RuleChildren, c.asked, "%s gets a child, and somebody else has it", what)
	}
	if _, why := h.barred(c); why != "" {
		h.breaks(RuleLicence, c.asked, "%s gets a child, though %s", what, why)
	}
	if h.turn.settings != nil && !h.turn.delegates(c) {
		h.breaks(RuleChildren, h.turn.start, "%s gets a child, and its tool %s has none", what, c.name)
	}
	if name := protocol.ChildKey(h.owner(), e.Call).Chat; e.Child != name {
		h.breaks(RuleChildren, c.asked, "%s gets the child %s, and not its own, %s", what, e.Child, name)
	}
	if want := h.depth() + 1; e.Depth != want || want > events.MaxDepth {
		h.breaks(RuleChildren, h.birth.at, "%s of a chat at depth %d gets a child at depth %d, at most %d may be", what, h.depth(), e.Depth, events.MaxDepth)
	}
	if n := h.turn.step.openChildren(); n >= events.MaxOpenChildren {
		h.breaks(RuleChildren, c.asked, "%s gets a child beside %d others, at most %d may be open", what, n, events.MaxOpenChildren)
	}
	if d := e.Due.Sub(h.at); d > events.ChildTime || d < events.ChildTime-events.Skew {
		h.breaks(RuleBounds, Place{}, "%s waits %s for its child, and not %s", what, d, events.ChildTime)
	}
	h.grants(e)
	h.mayRunApproved(c, "given to a child")
	h.inTurn(c)
	c.child = child{spawned: h.here, event: e}
	h.kin.spawned(h, e)
}

func (h *history) childEnded(e events.ChildEnded) {
	c, ok := h.find(e.Call, e, RuleChildren)
	if !ok {
		return
	}
	what := describe(e.Call, "call")
	switch {
	case !c.child.spawned.known():
		h.breaks(RuleChildren, c.asked, "the child of %s ends, and it has none", what)
		return
	case c.child.ended.known():
		h.breaks(RuleChildren, c.child.ended, "the child of %s ends twice", what)
		return
	case c.result.known():
		h.breaks(RuleChildren, c.result, "the child of %s ends after its result", what)
	}
	if e.Child != c.child.event.Child {
		h.breaks(RuleChildren, c.child.spawned, "%s has the child %s, and %s ends", what, c.child.event.Child, e.Child)
	}
	h.endsAs(c, e)
	h.spends(c, e)
	c.child.ended, c.child.outcome = h.here, e.Outcome
	h.kin.reported(h, e)
}

// endsAs judges who says how a child ended: the child itself, or whoever waits for it
// no more.
func (h *history) endsAs(c *call, e events.ChildEnded) {
	what := describe(e.Call, "call")
	waitsNoMore := h.closing || h.cause.ID == endTimer(h.turn) && h.turn.interrupt.known() || h.cause.ID == deadlineTimer(c)
	switch e.Outcome {
	case events.ChildUnknown:
		if !waitsNoMore {
			h.breaks(RuleChildren, c.child.spawned, "nobody knows how the child of %s ended, and nobody gave it up", what)
		}
	case events.ChildCompleted, events.ChildFailed, events.ChildInterrupted, events.ChildBudget, events.ChildErased:
		if h.cause.Kind != events.CausedByChat {
			h.breaks(RuleChildren, c.child.spawned, "the child of %s ends %s, and it did not say so", what, e.Outcome)
		}
	default:
		h.breaks(RuleChildren, c.child.spawned, "the child of %s ends %q, which means nothing", what, e.Outcome)
	}
	if e.Totals != (events.Totals{}) && (e.Outcome == events.ChildUnknown || e.Outcome == events.ChildErased) {
		h.breaks(RuleChildren, c.child.spawned, "the child of %s ends %s, and is said to have taken something", what, e.Outcome)
	}
}

// afterChild judges I17 for the result of a call: its child has ended just before.
func (h *history) afterChild(c *call, e events.ToolCompleted) {
	if c.child.spawned.known() && c.child.ended != h.here {
		h.breaks(RuleChildren, c.child.spawned, "%s has its result, and its child has not ended with it", describe(e.Call, "call"))
	}
}

// childResult judges that the result of a call is what its child came to.
func (h *history) childResult(c *call, e events.ToolCompleted) {
	fits := false
	switch c.child.outcome {
	case events.ChildCompleted:
		fits = e.Status == events.ToolOK || e.Status == events.ToolError
	case events.ChildFailed, events.ChildInterrupted, events.ChildBudget, events.ChildErased:
		fits = e.Status == events.ToolError
	case events.ChildUnknown:
		fits = e.Status == events.ToolUnknown
	}
	if c.child.ended.known() && !fits {
		h.breaks(RuleChildren, c.child.spawned, "the child of %s ended %s, and its result is %s", describe(e.Call, "call"), c.child.outcome, e.Status)
	}
	h.kin.resulted(h, c, e)
}

// children judges where a commit ends that no child has ended without the result of
// its call.
func (h *history) children(s *step) {
	if s == nil {
		return
	}
	for _, c := range s.openCalls() {
		if c.child.ended == h.here && c.child.ended.known() {
			h.breaks(RuleChildren, c.child.spawned, "the child of %s has ended, and the call has no result", describe(c.id, "call"))
		}
	}
}

// childless judges that nothing is over while a child works for it.
func (h *history) childless(c *call, what string) {
	if c.child.spawned.known() && !c.child.ended.known() {
		h.breaks(RuleChildren, c.child.spawned, "%s over the child of %s", what, describe(c.id, "call"))
	}
}
