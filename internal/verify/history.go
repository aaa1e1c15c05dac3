package verify

import (
	"fmt"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// history is what the checker holds of one chat.
type history struct {
	key     events.Key
	options Options
	schemas *schemas
	found   *[]Violation
	count   map[Rule]int // of violations of this chat
	newer   bool

	past    pastCommit // the commit being judged, if it is one of the history that the chat goes on from
	closing bool       // the commit being judged ends what is open, which goes on elsewhere

	here   Place // the commit being judged
	at     events.Time
	cause  events.Cause
	last   Place // the commit before
	prev   string
	lastAt events.Time

	commands *recent[Place]
	command  decided // of the highest sequence

	waiting  []waitingInput
	settled  *recent[Place] // inputs taken or withdrawn
	settings *recent[*events.Effective]
	allowed  []allowed // calls approved for the whole chat, the newest last
	modes    modes
	planning planning

	erasure erasure
	budget  budget // of all turns together, in the open turn

	turn   *turn // the open one
	aside  *step // the newest outside of any turn
	asides int   // how many of those there were
	ended  endedTurn
	tree   tree
	wanted bool           // an input came after that
	ends   *recent[Place] // by number

	naming    naming
	artifacts map[string]int         // the newest version of each, by title
	skills    map[events.Digest]bool // whose texts somebody activated

	changes   []change // of what models are shown, that were not taken back, the newest last
	compacted Place    // a summary that nobody asked for, with no answer behind it
	leftOut   Place    // outputs were, with no answer behind it
	outputs   []output // of tools, in the order of their calls

	effects effectsOfChat
	fold    fold

	birth    birth
	kin      families
	said     saying       // the newest answer of a first turn that a parent waits for
	told     []events.Key // the children that the commit being judged has ended
	restored bool         // it comes from a backup
	cutOff   bool         // its beginning is deleted
}

type decided struct {
	sequence uint64
	at       Place
}

// endedTurn is the newest turn that has ended.
type endedTurn struct {
	number int
	at     Place
	failed bool
	goesOn bool // it stopped before the model was done

	completed bool
	settings  *events.Effective // nil if the log did not say
}

func newHistory(k events.Key, o Options, s *schemas, found *[]Violation) *history {
	return &history{
		key: k, options: o, schemas: s, found: found, count: make(map[Rule]int),
		commands: newRecent[Place](recentCommands),
		settled:  newRecent[Place](recentInputs),
		settings: newRecent[*events.Effective](recentSettings),
		ends:     newRecent[Place](recentTurns),
		effects:  effectsOf(k, o.Effects),
	}
}

// breaks reports that the commit being judged breaks a rule.
func (h *history) breaks(r Rule, clash Place, format string, args ...any) {
	h.count[r]++
	if h.count[r] > maxPerRule {
		return
	}
	v := Violation{
		Rule: r, Chat: h.key, Rev: h.here.Rev, Sequence: h.here.Sequence,
		Detail: fmt.Sprintf(format, args...), Clash: clash,
	}
	if h.past.line > 0 {
		v.Rev, v.Sequence = 1, h.past.sequence
		v.Detail = fmt.Sprintf("in the history, line %d: %s", h.past.line, v.Detail)
	}
	*h.found = append(*h.found, v)
}

// read judges one commit. What is broken is reported and then believed, so that
// one fault is not reported again at every commit after it.
func (h *history) read(c events.Commit, e Entry) {
	h.cause, h.at = c.Cause, c.At
	_, inherits := c.Events[0].(events.ChatInherited)
	h.closing = inherits || c.Cause.Kind == events.CausedByRestore
	h.restored = h.restored || c.Cause.Kind == events.CausedByRestore
	h.chain(c, e)
	h.tenant(c)
	h.erasing(c)
	h.decision(c)
	h.caused(c)
	h.size(e)
	for i, event := range c.Events {
		h.event(event, i)
	}
	h.worksAtOnce()
	h.boundary()
	h.fold.read(h, c, e)
	h.last, h.prev, h.lastAt = h.here, events.Hash(e.Commit), max(h.lastAt, c.At)
}

// event judges one event of the commit.
func (h *history) event(e events.Event, index int) {
	h.eventSize(e)
	switch e := e.(type) {
	case events.ChatCreated:
		if h.here.Rev != 1 || index != 0 {
			h.breaks(RuleChain, h.last, "chat.created is not the first event of the log")
		}
		h.naming.given = e.Title != ""
		h.budget.wish(e.Settings.ChatBudget)
	case events.ChatInherited:
		if h.here.Rev != 1 || index != 0 {
			h.breaks(RuleChain, h.last, "chat.created is not the first event of the log")
		}
		h.stay()
		h.naming.given = h.naming.given || e.Title != ""
	case events.ChatSpawned:
		h.chatSpawned(e, index)
	case events.ChildSpawned:
		h.childSpawned(e)
	case events.ChildEnded:
		h.childEnded(e)
	case events.ChatEraseRequested, events.ChatErased, events.ContentDeleted:
		h.erasureEvent(e)
	case events.ChatConfigured:
		h.modes.also(e.Settings.Approval)
		h.budget.wish(e.Settings.ChatBudget)
	case events.ChatTitled:
		h.chatTitled(e)
	case events.ChatArchived, events.ChatUnarchived,
		events.CommandRejected, events.CommandNoted:
		// Nothing beyond what their commit says.
	case events.InputAccepted:
		h.inputAccepted(e)
	case events.InputEdited:
		h.inputEdited(e)
	case events.InputPromoted:
		h.inputPromoted(e)
	case events.InputSteered:
		h.inputSteered(e)
	case events.InputWithdrawn:
		h.inputWithdrawn(e)
	case events.BranchSelected:
		h.branchSelected(e)
	case events.TurnStarted:
		h.turnStarted(e)
	case events.TurnInterruptRequested:
		h.interruptRequested(e)
	case events.TurnCompleted:
		h.turnCompleted(e)
	case events.TurnFailed:
		h.turnFailed(e)
	case events.TurnInterrupted:
		h.turnInterrupted(e)
	case events.StepRequested:
		h.stepRequested(e)
	case events.StepCompleted:
		h.stepCompleted(e)
	case events.StepFailed:
		h.stepFailed(e)
	case events.StepInterrupted:
		h.stepInterrupted(e)
	case events.ContextCompacted:
		h.contextCompacted(e)
	case events.ContextCompactionFailed:
		h.compactionFailed(e)
	case events.ContextCleared:
		h.contextCleared(e)
	case events.ContextRestored:
		h.contextRestored(e)
	case events.ToolRequested:
		h.toolRequested(e)
	case events.ToolStarted:
		h.toolStarted(e)
	case events.ToolCompleted:
		h.toolCompleted(e)
	case events.ActionRequested:
		h.actionRequested(e)
	case events.QuestionAsked:
		h.questionAsked(e)
	case events.QuestionHeld:
		h.questionHeld(e)
	case events.QuestionAnswered:
		h.questionAnswered(e)
	case events.ApprovalRequested:
		h.approvalRequested(e)
	case events.ApprovalResolved:
		h.approvalResolved(e)
	case events.ModeSet:
		h.modeSet(e)
	case events.BudgetReached:
		h.budgetReached(e)
	case events.BudgetExtended:
		h.budgetExtended(e)
	case events.SkillActivated:
		h.skillActivated(e)
	case events.AgentNamed:
		// No rule depends on it.
	}
}

// chain judges I1: where the commit stands.
func (h *history) chain(c events.Commit, e Entry) {
	if h.last.known() && e.Sequence <= h.last.Sequence {
		h.breaks(RuleChain, h.last, "the stream's sequence does not rise")
	}
	_, erased := c.Events[0].(events.ChatErased)
	cut := erased && c.Rev > h.last.Rev+1
	switch {
	case cut: // what lay between is deleted
		h.cut()
	case c.Rev == h.last.Rev+1:
	case c.Rev <= h.last.Rev:
		h.breaks(RuleChain, h.last, "rev %d was there already", c.Rev)
	case h.last.Rev == 0:
		h.breaks(RuleChain, Place{}, "the log begins at rev %d", c.Rev)
	default:
		h.breaks(RuleChain, h.last, "revs %d to %d are missing", h.last.Rev+1, c.Rev-1)
	}
	if c.Prev != h.prev && !cut {
		h.breaks(RuleChain, h.last, "prev is not the hash of the commit before")
	}
	_, created := c.Events[0].(events.ChatCreated)
	_, inherits := c.Events[0].(events.ChatInherited)
	_, spawned := c.Events[0].(events.ChatSpawned)
	if !created && !inherits && !spawned && !erased && h.last.Rev == 0 {
		h.breaks(RuleChain, Place{}, "the log does not begin with chat.created")
	}
	if c.At < h.lastAt {
		h.breaks(RuleChain, h.last, "at goes back in time")
	}
}

// decision judges I2: what a command's commit decides. Commands of one chat take
// effect in the order in which they were stored.
func (h *history) decision(c events.Commit) {
	h.verdicts(c)
	if c.Cause.Kind != events.CausedByCommand {
		return
	}
	if at, ok := h.commands.get(c.Cause.ID); ok || h.fold.state.HasDecided(c.Cause.ID) { // that one remembers all, if there is one
		h.breaks(RuleCommands, at, "command %s was decided before", c.Cause.ID)
	}
	h.commands.put(c.Cause.ID, h.here)
	if s := c.Cause.Sequence; s != 0 {
		if s <= h.command.sequence {
			h.breaks(RuleCommands, h.command.at, "command %s, sequence %d, was decided after sequence %d",
				c.Cause.ID, s, h.command.sequence)
		} else {
			h.command = decided{sequence: s, at: h.here}
		}
	}
}

// verdicts judges command.rejected and command.noted: each is a command's whole
// outcome, so it stands alone.
func (h *history) verdicts(c events.Commit) {
	for _, e := range c.Events {
		var verb string
		switch e := e.(type) {
		case events.CommandRejected:
			verb = e.Verb
		case events.CommandNoted:
			verb = e.Verb
		default:
			continue
		}
		switch {
		case c.Cause.Kind != events.CausedByCommand:
			h.breaks(RuleCommands, Place{}, "%s in a commit that no command caused", e.EventType())
		case len(c.Events) > 1:
			h.breaks(RuleCommands, Place{}, "command %s has %s beside other events", c.Cause.ID, e.EventType())
		case verb == string(protocol.VerbInterrupt) && h.tree.due != nil && e.EventType() == events.CommandNoted{}.EventType():
			h.breaks(RuleInterrupts, h.tree.at, "an interrupt lets the turn begin that is due beside turn %d", h.tree.due.Again)
		case verb != c.Cause.Verb:
			h.breaks(RuleCommands, Place{}, "%s of verb %q answers a command of verb %q", e.EventType(), verb, c.Cause.Verb)
		}
	}
}

// rest judges the chat when everything has come to rest.
func (h *history) rest() {
	if h.newer {
		return
	}
	h.here = h.last
	h.unfinished()
	if s := h.aside; s.asks() {
		h.breaks(RuleAttempts, s.requested, "attempt %d of step %s never ended", s.attempt, s.id)
	}
	if t := h.turn; t != nil {
		h.breaks(RuleTurns, t.start, "turn %d never ended", t.number)
		if s := t.open(); s != nil {
			h.breaks(RuleAttempts, s.requested, "attempt %d of step %s never ended", s.attempt, s.id)
		}
		if s := t.step; s != nil {
			for _, open := range s.openCalls() {
				h.breaks(RuleResults, s.closed, "%s never got a result", describe(open.id, "call"))
				h.childless(open, "everything is at rest")
				if open.approval.waits() {
					h.breaks(RuleApprovals, open.approval.asked, "nobody ever decided about %s", describe(open.id, "call"))
				}
			}
		}
		if t.interrupt.known() {
			h.breaks(RuleInterrupts, t.interrupt, "turn %d was to be interrupted and never ended", t.number)
		}
	}
}
