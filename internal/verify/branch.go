package verify

import (
	"math"
	"slices"
	"strconv"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// tree is how the turns of a chat hang together, and how each has ended: a few
// bytes for each, since any of them may be gone on from at any time.
type tree struct {
	turns []branchTurn // by number, from 1

	tip int
	due *events.BranchSelected // with the turn that is to begin, if one is
	at  Place                  // of the last choice

	stopper string // the newest input that came to stop the chat since then

	said *recent[[]string] // inputs of the newest turns, by number
}

type branchTurn struct {
	parent         int32
	answered       int32 // the newest step that has answered, 0 if none has
	failed, goesOn bool
}

// get is what is known of a turn; nothing of one that was never started.
func (t *tree) get(number int) branchTurn {
	if number < 1 || number > len(t.turns) {
		return branchTurn{}
	}
	return t.turns[number-1]
}

func (t *tree) has(number int) bool { return number >= 1 && number <= len(t.turns) }

// answer notes that a step of a turn has answered.
func (t *tree) answer(id events.StepID) {
	if t.has(id.Turn) {
		t.turns[id.Turn-1].answered = int32(min(max(id.Step, 0), math.MaxInt32))
	}
}

func (t *tree) start(e events.TurnStarted) {
	if e.Turn == len(t.turns)+1 { // else it is reported, and nothing is known of it
		t.turns = append(t.turns, branchTurn{parent: int32(e.Parent)})
	}
	if t.said == nil {
		t.said = newRecent[[]string](recentTurns)
	}
	t.said.put(strconv.Itoa(e.Turn), e.Inputs)
	t.tip, t.due, t.stopper = e.Turn, nil, ""
}

func (t *tree) end(number int, how endedTurn) {
	if t.has(number) {
		t.turns[number-1].failed, t.turns[number-1].goesOn = how.failed, how.goesOn
	}
}

// steer adds what a turn took while it ran.
func (t *tree) steer(turn int, ids []string) {
	if said, known := t.inputs(turn); known {
		t.said.put(strconv.Itoa(turn), slices.Concat(said, ids))
	}
}

// inputs are those of a turn, if it is among the newest.
func (t *tree) inputs(number int) ([]string, bool) {
	if t.said == nil {
		return nil, false
	}
	return t.said.get(strconv.Itoa(number))
}

// branchSelected judges I3 and I13 where another branch is chosen.
func (h *history) branchSelected(e events.BranchSelected) {
	t := &h.tree
	h.stays(e)
	t.at, t.tip, t.due, t.stopper = h.here, e.Turn, nil, ""
	if h.turn == nil {
		h.ended.failed = t.get(e.Turn).failed // what waits goes on from there, unless that failed, too
	}
	if e.Turn != 0 && !t.has(e.Turn) {
		h.breaks(RuleTurns, Place{}, "turn %d is selected, which was never started", e.Turn)
	}
	if e.Again == 0 {
		if e.Input != "" || e.Replaces != "" {
			h.breaks(RuleInputs, Place{}, "input %s is to be said, and in no turn", e.Input)
		}
		return
	}
	t.due = &e
	switch {
	case !t.has(e.Again):
		h.breaks(RuleTurns, Place{}, "turn %d is to be answered again, which was never started", e.Again)
	case int(t.get(e.Again).parent) != e.Turn:
		h.breaks(RuleTurns, Place{}, "turn %d is to be answered again behind turn %d, and follows turn %d", e.Again, e.Turn, t.get(e.Again).parent)
	}
	if e.Input != "" && h.findWaiting(e.Input) < 0 {
		h.breaks(RuleInputs, Place{}, "input %s is to be said beside turn %d, and does not wait", e.Input, e.Again)
	}
	if inputs, known := t.inputs(e.Again); known && e.Replaces != "" && !slices.Contains(inputs, e.Replaces) {
		h.breaks(RuleInputs, Place{}, "input %s is to be replaced, and turn %d did not begin with it", e.Replaces, e.Again)
	}
}

// stopsDue reports whether a command of that verb may take back what is due.
func (h *history) stopsDue(verb protocol.Verb) bool {
	return h.tree.due != nil && (verb == protocol.VerbSend || verb == protocol.VerbPromote || verb == protocol.VerbInterrupt)
}

// stays judges a choice that came with a stop: it takes back what was due, and
// stays at the turn that runs or where the other one was to begin.
func (h *history) stays(e events.BranchSelected) {
	if !h.stopsDue(protocol.Verb(h.cause.Verb)) {
		return // judged as the choice that it is
	}
	if e.Again != 0 || e.Turn != h.tree.tip && (h.turn == nil || e.Turn != h.turn.number) {
		h.breaks(RuleTurns, h.tree.at, "turn %d is selected, and nobody asked for it", e.Turn)
	}
}

// joins reports whether the input that came to stop the chat is to be read behind an
// edit that is due. Only a rollback takes that back.
func (h *history) joins() bool {
	t := &h.tree
	if t.due == nil || t.due.Input == "" || t.stopper == "" {
		return false
	}
	i := h.findWaiting(t.stopper)
	return i < 0 || h.waiting[i].mode != events.ModeRollback
}

// joined are the inputs that are read behind the one that is due.
func (h *history) joined() []string {
	var ids []string
	for _, in := range h.waiting {
		if h.joins() && in.mode == events.ModeInterrupt {
			ids = append(ids, in.id)
		}
	}
	return ids
}

// dueStopped judges that no turn is due any more when somebody came to stop the
// chat.
func (h *history) dueStopped() {
	if t := &h.tree; t.due != nil && t.stopper != "" && !h.joins() {
		h.breaks(RuleInterrupts, t.at, "turn %d is to be answered again, though input %s came to stop the chat", t.due.Again, t.stopper)
		t.stopper = ""
	}
}

// beside judges that a turn follows the tip, and that it is the one that is due
// beside another if one is. It gives the inputs that it shares with that.
func (h *history) beside(e events.TurnStarted) []string {
	t := &h.tree
	h.dueStopped()
	if back := h.takenBack(t.tip); back != nil {
		if e.Parent != back.parent {
			h.breaks(RuleOutcomes, back.at, "turn %d is taken back, and turn %d follows turn %d instead of turn %d", back.rolls, e.Turn, e.Parent, back.parent)
		}
	} else if e.Parent != t.tip {
		h.breaks(RuleTurns, t.at, "turn %d follows turn %d, and the tip is turn %d", e.Turn, e.Parent, t.tip)
	}
	due := t.due
	if due == nil {
		if e.Again != 0 || e.Cause == events.CauseEdit || e.Cause == events.CauseRegenerate {
			h.breaks(RuleTurns, t.at, "turn %d begins beside turn %d, and nobody asked for it", e.Turn, e.Again)
		}
		return nil
	}
	cause := events.CauseRegenerate
	if due.Input != "" {
		cause = events.CauseEdit
	}
	if e.Again != due.Again || e.Cause != cause {
		h.breaks(RuleTurns, t.at, "turn %d begins beside turn %d as %s; due was %s beside turn %d", e.Turn, e.Again, e.Cause, cause, due.Again)
	}
	joined := h.joined()
	inputs, known := t.inputs(due.Again)
	if !known {
		inputs = slices.DeleteFunc(slices.Clone(e.Inputs), func(id string) bool { return id == due.Input || slices.Contains(joined, id) })
		return inputs
	}
	want := slices.Clone(inputs)
	switch i := slices.Index(want, due.Replaces); {
	case due.Input == "":
	case i >= 0:
		want[i] = due.Input
	default:
		want = []string{due.Input}
	}
	want = append(want, joined...)
	if !slices.Equal(e.Inputs, want) {
		h.breaks(RuleInputs, t.at, "turn %d begins with %q, and due was %q", e.Turn, e.Inputs, want)
	}
	return inputs
}

// takenBack is an input that came to take a turn back, if one waits.
func (h *history) takenBack(turn int) *waitingInput {
	i := slices.IndexFunc(h.waiting, func(in waitingInput) bool { return in.rolls != 0 && in.rolls == turn })
	if i < 0 {
		return nil
	}
	return &h.waiting[i]
}

// goesWithBranch reports whether e may stand behind the first event of a commit
// that chooses a branch: what was on its way to another one is taken back, and the
// turn that runs is told to end.
func (h *history) goesWithBranch(e events.Event) bool {
	if h.cause.Kind != events.CausedByCommand {
		return false
	}
	verb := protocol.Verb(h.cause.Verb)
	switch e.(type) {
	case events.BranchSelected:
		return verb == protocol.VerbEdit || verb == protocol.VerbRegenerate || verb == protocol.VerbSelectBranch || verb == protocol.VerbWithdraw || h.stopsDue(verb)
	case events.InputWithdrawn:
		return verb == protocol.VerbEdit || h.stopsDue(verb)
	case events.TurnInterruptRequested:
		return verb == protocol.VerbEdit || verb == protocol.VerbRegenerate || verb == protocol.VerbSelectBranch
	default:
		return false
	}
}

// leaves judges that a turn whose branch was left has been asked to end.
func (h *history) leaves(t *turn) {
	if h.tree.tip != t.number && !t.interrupt.known() && !t.reported {
		t.reported = true
		h.breaks(RuleTurns, h.tree.at, "turn %d is selected, turn %d runs, and it was not asked to end", h.tree.tip, t.number)
	}
}

// dueForNobody judges I13 where no turn is open and one is due.
func (h *history) dueForNobody() {
	if due := h.tree.due; due != nil {
		h.tree.due = nil
		h.breaks(RuleInputs, h.tree.at, "turn %d is to be answered again, and no turn runs", due.Again)
	}
}

// stay is for a chat that goes on from here: what was due is due where it came
// from, and the open turn is the one that is gone on from.
func (h *history) stay() {
	if h.tree.due != nil && h.turn != nil {
		h.tree.tip = h.turn.number
	}
	h.tree.due, h.tree.stopper = nil, ""
}
