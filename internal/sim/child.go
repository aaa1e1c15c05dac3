package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// familiesOnceIn is how seldom a run has no chats whose models have others work for
// them.
const familiesOnceIn = 2

// families reports whether chats of the run may have children.
func (p plan) families() bool { return draws(p.seed, "families").IntN(familiesOnceIn) != 0 }

// delegating lets the models of some chats delegate. What is drawn for it changes
// nothing of what is said.
func delegating(p plan, all []command) []command {
	if !p.families() {
		return all
	}
	r := draws(p.seed, "delegating")
	return createdWith(all, func(create *protocol.Create) {
		if r.IntN(4) == 0 {
			return
		}
		tools := []string{toolOnce, toolAgain, toolLookup, toolLast, toolAlone}
		if create.Settings.Tools != nil {
			tools = *create.Settings.Tools
		}
		tools = append(slices.Clone(tools), chat.ToolDelegate)
		create.Settings.Tools = &tools
	})
}

// Shares of what a model delegates.
const (
	delegatesOnceIn = 4  // answers with calls, of a model that may
	crowdOnceIn     = 20 // more than there is room for
	wrongOnceIn     = 8  // arguments that do not do
	helpedOnceIn    = 3  // by a named agent
)

// delegates is an answer of a model that has others work for it, if it may and likes
// to: alone or beside other calls.
func (p *provider) delegates(draw *rand.Rand, r model.Request) []events.Part {
	may := slices.ContainsFunc(r.Tools, func(t model.Tool) bool { return t.Name == chat.ToolDelegate })
	if !may || draw.IntN(delegatesOnceIn) > 0 {
		return nil
	}
	n := pick(draw, 1, 1, 1, 2, 2, 3)
	if draw.IntN(crowdOnceIn) == 0 {
		n = events.MaxOpenChildren + 1 + draw.IntN(2)
	}
	var parts []events.Part
	for i := range n {
		c := events.Part{Type: events.PartCall, Ordinal: i + 1, Name: chat.ToolDelegate, ProviderID: fmt.Sprintf("child_%d", i)}
		task := draw.IntN(1_000_000)
		c.Arguments = fmt.Sprintf(`{"task":"say %d","context":%q}`, task, pick(draw, "none", "none", "last_n", "all"))
		if task%helpedOnceIn == 0 {
			c.Arguments = fmt.Sprintf(`{"task":"say %d","agent":%q}`, task, agentHelper)
		}
		if draw.IntN(wrongOnceIn) == 0 {
			c.Arguments = pick(draw, `{}`, `{"task":" "}`, `{"task":"x","agent":"no name"}`, `{"task":`)
		}
		parts = append(parts, c)
	}
	for draw.IntN(3) == 0 {
		parts = append(parts, p.call(draw, len(parts)))
	}
	return parts
}

// meddlesOnceIn is how seldom somebody meddles with a child, of the moments when
// somebody might.
const meddlesOnceIn = 3

// maxMeddled bounds what is said in children without being asked.
const maxMeddled = 12

// meddle is something that a person says in a chat that works for another, or that
// has others work for it.
func (r *run) meddle() (command, bool) {
	if !r.plan.families() || r.meddled >= maxMeddled || r.parting {
		return command{}, false
	}
	var family []events.Key
	for _, k := range r.server.Chats() {
		_, child := r.watch.chats[k].last().Parent()
		if child || len(r.watch.chats[k].last().OpenChildren()) > 0 {
			family = append(family, k)
		}
	}
	if len(family) == 0 {
		return command{}, false
	}
	draw := numbered(r.plan.seed, "meddle", r.meddles)
	r.meddles++
	if draw.IntN(meddlesOnceIn) > 0 {
		return command{}, false
	}
	r.meddled++
	r.said++
	send := protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(fmt.Sprintf("say %d", draw.IntN(1_000_000)))}}
	steer, instead := send, send
	steer.Mode, instead.Mode = events.ModeSteer, events.ModeInterrupt
	interrupt := protocol.Interrupt{V: protocol.Version, Turn: pick(draw, 0, 1), Reason: "enough"}
	bodies := []protocol.Body{
		interrupt, interrupt, interrupt, send, steer, instead,
		protocol.Retry{V: protocol.Version},
		protocol.Regenerate{V: protocol.Version, Turn: 1},
		protocol.Compact{V: protocol.Version},
	}
	if draw.IntN(2) == 0 {
		bodies = append(bodies, protocol.Erase{V: protocol.Version})
	}
	return sayIn(r.plan, family[draw.IntN(len(family))], r.commands+r.said, pick(draw, bodies...)), true
}

// childOf is the chat that works, or worked, for a call, as it stands.
func (w *watcher) childOf(parent events.Key, call events.CallID) *watched {
	return w.chats[protocol.ChildKey(parent, call)]
}

// childEnded judges that a parent is told the truth about a child: what it came to,
// or that nobody waits for it, which it must know by then.
func (w *watcher) childEnded(k events.Key, rev uint64, e events.ChildEnded) {
	child := w.childOf(k, e.Call)
	s := child.last()
	report, ended := s.ReportTo(events.Parent{Chat: k.Chat, Call: e.Call})
	switch {
	case e.Outcome == events.ChildUnknown:
		left := w.words[protocol.ChatWorkSubject(k, protocol.ChatWork{What: protocol.WordStop, Call: e.Call}.Name())]
		if !left && (!s.Exists() || goesOn(s)) {
			w.breaks("%s rev %d: nobody waits for the child of call %s any more, and it was not told", k, rev, e.Call)
		}
	case !ended:
		w.breaks("%s rev %d: call %s ended %s, and its child has not", k, rev, e.Call, e.Outcome)
	case s.Erased():
	case e.Outcome == report.Outcome && e.Spent == report.Spent:
	default:
		w.breaks("%s rev %d: call %s ended %s with %+v, and its child %s with %+v", k, rev, e.Call, e.Outcome, e.Spent, report.Outcome, report.Spent)
	}
}

// goesOn reports whether a child works on, and was not told to end.
func goesOn(s chat.State) bool {
	turn, running := s.Running()
	return running && turn == 1 && !s.Interrupting()
}

// wordSettled judges that a word between chats may leave its queue: what it asked for
// is there, and all that followed is stored.
func (w *watcher) wordSettled(word protocol.ChatWork) {
	k := word.Key()
	parent, child := w.chats[k], w.childOf(k, word.Call)
	if parent == nil {
		w.breaks("word of %s, which does not exist", k)
		return
	}
	delete(w.words, protocol.ChatWorkSubject(k, word.Name()))
	if !w.wordStored(k, word.Call) { // else that one may have caused it, and be still in hand
		w.caused(parent, events.CausedByChat, protocol.ChildKey(k, word.Call).Chat)
	}
	_, waits := parent.last().BirthOf(word.Call)
	switch {
	case child == nil && waits:
		w.breaks("%s: %s left its queue, and there is no child", k, word.Name())
	case child == nil:
	case word.What == protocol.WordStop && worksFor(child.last(), word) && goesOn(child.last()):
		w.breaks("%s: %s left its queue, and the child was not told", k, word.Name())
	case word.What == protocol.WordStop && waits: // else it may be a timer that stopped it, and has more to do
		w.caused(child, events.CausedByChat, k.Chat+"/"+word.Call.String())
	case child.commits[0].Cause.ID == k.Chat+"/"+word.Call.String():
		w.stored(child, 0, "word "+word.Name())
	}
}

// worksFor reports whether a chat is the child that a word is about.
func worksFor(s chat.State, word protocol.ChatWork) bool {
	p, is := s.Parent()
	return is && p == events.Parent{Chat: word.Chat, Call: word.Call}
}

// wordStored reports whether a word about the call is stored.
func (w *watcher) wordStored(k events.Key, call events.CallID) bool {
	for _, what := range []protocol.Word{protocol.WordReport, protocol.WordStop, protocol.WordEnded} {
		if w.words[protocol.ChatWorkSubject(k, protocol.ChatWork{What: what, Call: call}.Name())] {
			return true
		}
	}
	return false
}

// judgeFamilies checks that where nothing worse happens than that a message or two
// are lost, every child is waited for, unless its parent was interrupted.
func (r *run) judgeFamilies(c *watched) {
	if !r.plan.gentle() {
		return
	}
	interrupted := false
	for _, commit := range c.commits {
		if _, inherited := commit.Events[0].(events.ChatInherited); inherited {
			continue
		}
		for _, e := range commit.Events {
			switch e := e.(type) {
			case events.TurnStarted:
				interrupted = false
			case events.TurnInterruptRequested:
				interrupted = true
			case events.ChildEnded:
				if e.Outcome == events.ChildUnknown && !interrupted {
					r.breaks("%s: the child of call %s was not waited for, though nobody died", commit.Key, e.Call)
				}
			}
		}
	}
}
