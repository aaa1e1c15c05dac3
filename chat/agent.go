package chat

import (
	"fmt"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// merge is over on top of the defaults and of the agent that is named, and whether
// an agent is named that there is not.
func (l Live) merge(over events.Settings) (merged events.Settings, missing bool) {
	merged = l.Defaults.Merge(over)
	if merged.Agent == "" {
		return merged, false
	}
	agent, known := l.Agents[merged.Agent]
	return l.Defaults.Merge(agent).Merge(over), !known
}

// withAgent is what was decided about a command whose settings may name an agent.
// One that is not there is refused at once, as whoever mistypes its name would
// learn of it only from a turn that fails.
func withAgent(d Decision, c Command, live Live) Decision {
	name := agentIn(c.Body)
	if name == "" || len(d.Events) == 0 {
		return d
	}
	if _, no := d.Events[0].(events.CommandRejected); no {
		return d
	}
	if _, nothing := d.Events[0].(events.CommandNoted); nothing {
		return d
	}
	if _, known := live.Agents[name]; known {
		d.Events = append(d.Events, events.AgentNamed{Agent: name})
		return d
	}
	wrong := fmt.Sprintf("agent: there is none named %q", name)
	if c.verb() == protocol.VerbCreate {
		return refused(events.CodeInvalidSettings, "%s", wrong) // there is no log to write the no to
	}
	return rejected(c, events.CodeInvalidSettings, wrong, "")
}

// agentIn is the agent that a command's settings name.
func agentIn(b protocol.Body) string {
	var wish *events.Settings
	switch b := b.(type) {
	case protocol.Create:
		wish = &b.Settings
	case protocol.Configure:
		wish = &b.Settings
	case protocol.Send:
		wish = b.Settings
	case protocol.Edit:
		wish = b.Settings
	case protocol.Fork, protocol.Import, protocol.Interrupt, protocol.Rename, protocol.Archive, protocol.Unarchive,
		protocol.Withdraw, protocol.Regenerate, protocol.SelectBranch, protocol.Promote, protocol.EditInput, protocol.Retry, protocol.Continue,
		protocol.Answer, protocol.ClientResult, protocol.Approve, protocol.SetMode, protocol.Extend, protocol.Erase,
		protocol.Compact, protocol.Clear, protocol.Restore:
		// Nothing is wished with them.
	}
	if wish == nil {
		return ""
	}
	return wish.Agent
}

// NeedsAgents reports whether [Live.Agents] could matter to what is decided about
// m in s. Whoever does not know them must not decide it. They matter to a turn that
// starts and to nothing else: what has begun goes on without them, and ends.
func NeedsAgents(s State, m Message) bool {
	switch m := m.(type) {
	case Restored, Ask: // closes, or asks, and starts nothing
		return false
	case Birth:
		// Of one that is made only to have ended no model is ever asked anything.
		return !s.Exists() && !m.Stopped && m.Settings.Agent != ""
	case Command:
		if agentIn(m.Body) != "" {
			return true
		}
		if _, ends := m.Body.(protocol.Interrupt); ends && !s.startsNext() {
			return false
		}
	case AttemptEnded, AttemptLost, Claim, Result, TimerDue, Recall, Report:
		if !s.startsNext() {
			return false
		}
	}
	if s.f.Settings.Agent != "" {
		return true
	}
	if nameAgent(s.f.Waiting) || s.f.Current != nil && nameAgent(s.f.Current.said()) {
		return true
	}
	return slices.ContainsFunc(s.f.Past, func(t *turn) bool { return nameAgent(t.said()) }) // it may be answered again
}

// startsNext reports whether a turn may start by itself as soon as none is open.
func (s State) startsNext() bool { return s.f.Sibling != nil || len(s.f.Waiting) > 0 }

// nameAgent reports whether one of the inputs does.
func nameAgent(list []input) bool {
	return slices.ContainsFunc(list, func(in input) bool { return in.Settings != nil && in.Settings.Agent != "" })
}

// withoutAgent is the end of a turn whose agent was gone when it started. Without
// the agent's instructions and limits it would do something that nobody asked for.
func (s State) withoutAgent(t *turn) []events.Event {
	return []events.Event{events.TurnFailed{
		Turn: t.Number, Class: events.ClassInvalidRequest, Totals: t.totals(),
		Message: fmt.Sprintf("there is no agent %q any more: name another one, or have it applied again, and retry", s.effective(t).Agent),
	}}
}
