package chat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// What a model is told of a call whose child gave no answer.
const (
	saidChildGone    = "The sub-agent's chat was erased. What it did is not known."
	saidChildTaken   = "The sub-agent could not be made: there is another chat of its name. Nothing of the task was done."
	saidChildStopped = "The sub-agent was interrupted before it was done. It may have done part of its task."
	saidChildSilent  = "Nobody waits for the sub-agent any more. It may have done part of its task."
	saidChildBudget  = "The sub-agent used up its budget before it was done. It may have done part of its task."
	saidChildSteps   = "The sub-agent came to its limit of steps before it was done."
	saidChildRefused = "The sub-agent refused the task."
	saidChildTasks   = "The tasks of this step are too much together. Ask for fewer of them at once, or for shorter ones."
	saidChildSaid    = "It said: "
)

// child is the chat that works for a call.
type child struct {
	Rev   uint64      `json:"rev"` // of the commit that spawned it
	Chat  string      `json:"chat"`
	Depth int         `json:"depth"`
	Due   events.Time `json:"due"` // when the call is settled without it
	Ended bool        `json:"ended"`

	Granted events.Budget `json:"granted,omitzero"`
}

// spawnedBy is the parent of a chat that works for another.
type spawnedBy struct {
	Parent events.Parent `json:"parent"`
	Depth  int           `json:"depth"`

	Granted events.Budget `json:"granted,omitzero"`
}

// Recall says to a child that its parent waits no more.
type Recall struct {
	Parent events.Parent
}

func (r Recall) cause() events.Cause { return parentCause(r.Parent) }

// Report says to a parent what became of a child. Content that Parts name by digest
// must be filled in.
type Report struct {
	Call    events.CallID
	Child   string
	Outcome events.ChildOutcome
	Status  events.ToolStatus
	Parts   []events.Part
	Totals  events.Totals
	Spent   events.Spending
}

func (r Report) cause() events.Cause {
	return events.Cause{Kind: events.CausedByChat, ID: r.Child}
}

// Parent is the call that the chat works for, if it works for one.
func (s State) Parent() (events.Parent, bool) {
	if s.f.Spawned == nil {
		return events.Parent{}, false
	}
	return s.f.Spawned.Parent, true
}

// depth is how many chats stand above this one.
func (s State) depth() int {
	if s.f.Spawned == nil {
		return 0
	}
	return s.f.Spawned.Depth
}

// OpenChildren are the calls that children work for. Whoever settles one of them
// without its child first stops that, see [Recall].
func (s State) OpenChildren() []events.CallID {
	t, st := s.lastStep()
	if st == nil {
		return nil
	}
	var open []events.CallID
	for i := range st.Calls {
		if c := &st.Calls[i]; c.working() {
			open = append(open, t.callID(st, c))
		}
	}
	return open
}

// Abandoned are the births of the children that are not waited for any more when a
// timer of that name is due. Each is to end, or to be made as one that has ended,
// before that is decided: then nothing of it goes on behind the parent's back.
func (s State) Abandoned(name protocol.TimerName) []Birth {
	var list []Birth
	for _, id := range s.OpenChildren() {
		end := name.Kind == protocol.TimerEnd && name.Turn == id.Turn && s.Interrupting()
		if b, ok := s.BirthOf(id); ok && (end || name.Kind == protocol.TimerDeadline && name.Call == id) {
			b.Stopped = true
			list = append(list, b)
		}
	}
	return list
}

// Gone reports whether a call that a child may work for is closed: nobody waits for
// that any more. Of a call that the chat has not come to yet nobody can say.
func (s State) Gone(id events.CallID) bool {
	if s.Erased() || id.Turn < s.newest() {
		return true
	}
	t := s.f.Current
	if t == nil || id.Turn != t.Number {
		return t == nil && id.Turn == s.newest()
	}
	if c := s.call(id); c != nil {
		return !c.open()
	}
	_, st := s.lastStep()
	return st != nil && id.Step < st.Number
}

// working reports whether a child works for the call.
func (c *call) working() bool { return c.open() && c.Child != nil }

// decideBirth is the first commit of a child.
func decideBirth(s State, b Birth, at events.Time, live Live) Decision {
	if s.Exists() {
		return Decision{} // somebody made it already
	}
	list := []events.Event{
		events.ChatSpawned{Parent: b.Parent, Depth: b.Depth, Settings: b.Settings, Title: b.Title, Granted: b.Granted},
		events.InputAccepted{Input: b.inputID(), Parts: b.Parts, Mode: events.ModeQueue},
	}
	if !b.Stopped {
		return facts(list...)
	}
	for _, e := range list {
		s = s.clone()
		s.fold(e)
	}
	started := s.turnStarted(events.CauseInput, s.f.Waiting, at, live)
	return facts(append(list, started, events.TurnInterruptRequested{
		Turn: started.Turn, Reason: events.ReasonParent, Due: at.Add(events.EndDelay),
	})...)
}

// inputID names what a child is told; there is only one such input in a chat.
func (b Birth) inputID() string { return "task-" + b.Parent.Call.Token() }

// decideRecall stops a child: its first turn, since no other is of use to the parent.
func decideRecall(s State, r Recall, at events.Time) []events.Event {
	p, ok := s.Parent()
	if turn, running := s.Running(); !ok || p != r.Parent || !running || turn != 1 || s.Interrupting() {
		return nil
	}
	return s.stopTurn(events.ReasonParent, "", at)
}

// ReportTo is what the chat that a call of a parent is worked on by has to tell it,
// once its first turn has ended, or will never.
func (s State) ReportTo(p events.Parent) (Report, bool) {
	r := Report{Call: p.Call, Child: s.f.Chat, Outcome: events.ChildFailed, Status: events.ToolError}
	t := s.ended(1)
	switch mine, ok := s.Parent(); {
	case !s.Exists():
		return Report{}, false
	case s.Erased():
		r.Outcome, r.Parts = events.ChildErased, []events.Part{events.Text(saidChildGone)}
		return r, true
	case !ok || mine != p: // somebody else made a chat of that name before
		r.Parts = []events.Part{events.Text(saidChildTaken)}
		return r, true
	case t == nil:
		return Report{}, false
	}
	r.Totals, r.Spent = t.totals(), t.Spent
	switch t.Ended {
	case endedInterrupted:
		if t.Allowance.Held != nil {
			r.Outcome, r.Parts = events.ChildBudget, t.told(saidChildBudget)
			break
		}
		r.Outcome, r.Parts = events.ChildInterrupted, t.told(saidChildStopped)
	case endedFailed:
		r.Parts = t.told("The sub-agent failed: " + t.failure())
	case endedCompleted:
		r.Outcome = events.ChildCompleted
		r.Status, r.Parts = t.answered()
	}
	return r, true
}

// failure is why a turn failed, for the model of the parent.
func (t *turn) failure() string {
	if t.Message != "" {
		return t.Message
	}
	return "it is not known why."
}

// answered is what a completed turn is as the result of a call.
func (t *turn) answered() (events.ToolStatus, []events.Part) {
	switch t.Finish {
	case events.FinishMaxSteps:
		return events.ToolError, t.told(saidChildSteps)
	case events.FinishRefused:
		return events.ToolError, t.told(saidChildRefused)
	case events.FinishComplete, events.FinishLength, events.FinishStopAfterTool:
	}
	said := t.final()
	if st := t.lastAnswer(); t.Finish == events.FinishStopAfterTool && st != nil {
		for i := range st.Calls {
			said = append(said, st.Calls[i].Result.Parts...) // which is what it stopped for
		}
	}
	return events.ToolOK, said
}

// told is a sentence of ours, and what the turn had said by then.
func (t *turn) told(sentence string) []events.Part {
	parts := []events.Part{events.Text(sentence)}
	if said := t.final(); len(said) > 0 {
		parts = append(parts, events.Text(saidChildSaid))
		parts = append(parts, said...)
	}
	return parts
}

// final is the text of the newest answer of a turn.
func (t *turn) final() []events.Part {
	st := t.lastAnswer()
	if st == nil {
		return nil
	}
	var said []events.Part
	for _, p := range st.Parts {
		if p.Type == events.PartText && (p.Blob != "" || !isBlank(p.Text)) {
			said = append(said, p)
		}
	}
	return said
}

// decideReport takes what a child has come to as the result of its call. One that
// comes later changes nothing.
func decideReport(s State, r Report) Decision {
	c := s.call(r.Call)
	if c == nil || !c.working() || c.Child.Chat != r.Child {
		return Decision{}
	}
	result := events.ToolCompleted{Call: r.Call, Status: r.Status, IsError: r.Status != events.ToolOK}
	var whole []Content
	if result.Parts, result.Truncated = cutParts(r.Parts, false); result.Truncated {
		whole = make([]Content, 1)
		result.Parts, whole[0] = cutWhole(r.Parts)
		result.Blob = whole[0].Digest
	}
	if r.Outcome == events.ChildErased {
		r.Spent = guessed(c.Child.Granted)
	}
	d := facts(events.ChildEnded{Call: r.Call, Child: r.Child, Outcome: r.Outcome, Totals: r.Totals, Spent: r.Spent}, result)
	d.Large = whole
	return d
}

// Words are what the events of a child have to tell at once: its first turn ended in
// them. Should the word be lost, the parent asks by itself.
func Words(s State, list []events.Event) []protocol.Work {
	p, ok := s.Parent()
	if !ok {
		return nil
	}
	for _, e := range list {
		if turnEndedBy(e) == 1 {
			return []protocol.Work{protocol.ChatWork{
				V: protocol.Version, Tenant: s.f.Tenant, Chat: p.Chat, What: protocol.WordEnded, Call: p.Call,
			}}
		}
	}
	return nil
}

// turnEndedBy is the turn that an event ends; 0 if it ends none.
func turnEndedBy(e events.Event) int {
	if e, ok := e.(events.TurnCompleted); ok {
		return e.Turn
	}
	if e, ok := e.(events.TurnFailed); ok {
		return e.Turn
	}
	if e, ok := e.(events.TurnInterrupted); ok {
		return e.Turn
	}
	return 0
}

// spawned lets a call begin that another chat is to work for, if there is a place and
// something to grant. Beside it those of list begin.
func (s State) spawned(id events.CallID, c *call, open int, at events.Time, list []events.Event) []events.Event {
	if c.Blob != "" {
		return []events.Event{settledByRule(id, events.ToolInvalid, saidChildTasks)}
	}
	if _, wrong := readDelegation(normalArguments(c.Arguments)); wrong != "" {
		return []events.Event{settledByRule(id, events.ToolInvalid, wrong)} // a person edited them
	}
	if open >= events.MaxOpenChildren {
		return nil // it waits until another one has ended
	}
	if reached, held := s.held(at); held {
		if slices.ContainsFunc(list, isReached) {
			return nil
		}
		return reached
	}
	granted, ok := s.grants(at, list)
	if !ok {
		return nil // likewise: then what that has not used is left
	}
	return []events.Event{events.ChildSpawned{
		Call: id, Child: protocol.ChildKey(s.Key(), id).Chat, Depth: s.depth() + 1, Due: at.Add(events.ChildTime), Granted: granted,
	}}
}

// abandoned is the end of the child of a call that is settled without it.
func (c *call) abandoned(id events.CallID) []events.Event {
	if !c.working() {
		return nil
	}
	return []events.Event{events.ChildEnded{Call: id, Child: c.Child.Chat, Outcome: events.ChildUnknown, Spent: guessed(c.Child.Granted)}}
}

// owedChildren is what is owed to the children of an interrupted turn.
func (s State) owedChildren() []protocol.Work {
	var list []protocol.Work
	for _, id := range s.OpenChildren() {
		list = append(list, s.owedChild(id, s.call(id).Child)...)
	}
	return list
}

// owedChild is the report of a child and the end of waiting for it; while the turn
// is interrupted, that the child is told.
func (s State) owedChild(id events.CallID, c *child) []protocol.Work {
	word := protocol.ChatWork{
		V: protocol.Version, Tenant: s.f.Tenant, Chat: s.f.Chat, Rev: c.Rev, What: protocol.WordReport, Call: id,
	}
	if s.Interrupting() {
		word.What, word.Rev = protocol.WordStop, s.f.Rev
		return []protocol.Work{word}
	}
	deadline := protocol.TimerName{Kind: protocol.TimerDeadline, Call: id}
	return []protocol.Work{word, s.timer(deadline, c.Rev, c.Due)}
}

func (s *State) beSpawned(e events.ChatSpawned) {
	s.f.Settings, s.f.Spawned = e.Settings, &spawnedBy{Parent: e.Parent, Depth: e.Depth, Granted: e.Granted}
	s.title(e.Title)
}

func (s *State) spawnChild(e events.ChildSpawned) {
	s.call(e.Call).Child = &child{Rev: s.f.Rev, Chat: e.Child, Depth: e.Depth, Due: e.Due, Granted: e.Granted}
}

func (s *State) endChild(e events.ChildEnded) {
	c := s.call(e.Call)
	ended := *c.Child
	ended.Ended = true
	c.Child = &ended
	s.f.Spent = s.f.Spent.Plus(e.Spent)
	s.f.Current.Spent = s.f.Current.Spent.Plus(e.Spent)
}

func (s State) misfitBirth() string {
	if s.f.Spawned != nil || s.f.Current != nil || len(s.f.Past) > 0 {
		return "the chat is spawned, and has begun"
	}
	return ""
}

func (s State) misfitSpawn(e events.ChildSpawned) string {
	if wrong := s.misfitCall(e.Call); wrong != "" {
		return wrong
	}
	if c := s.call(e.Call); c.Child != nil || c.taken() {
		return fmt.Sprintf("call %s gets a child, and somebody has it", e.Call)
	}
	return ""
}

func (s State) misfitChildEnd(e events.ChildEnded) string {
	if wrong := s.misfitCall(e.Call); wrong != "" {
		return wrong
	}
	if c := s.call(e.Call); c.Child == nil || c.Child.Ended || c.Child.Chat != e.Child {
		return fmt.Sprintf("call %s has no child %.40q that is open", e.Call, strings.ToValidUTF8(e.Child, events.Replacement))
	}
	return ""
}
