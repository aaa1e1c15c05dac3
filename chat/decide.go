package chat

import (
	"fmt"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Rules numbers the newest decision rules of this release. turn.started records
// the oldest ones that decide its turn as this release does, see [RulesOf]: so a
// release that knows no others can go on with it.
const Rules = 2

// DefaultPool asks the models that name no other.
const DefaultPool = "default"

// Live is the configuration in force now. Only a decision that starts a turn
// reads it; what the turn got stands in turn.started. A command that names an
// agent is decided by whether there is one, too.
type Live struct {
	Defaults events.Settings
	Agents   map[string]events.Settings // those of the chat's tenant, by name; only to be read
	Tools    []events.Tool              // every tool on offer, sorted by name
	Skills   []events.Skill             // those of the chat's tenant, sorted by name; only to be read
	Pools    map[string]string          // which pool asks a model; absent means [DefaultPool]
	Windows  map[string]Window          // how large the models' contexts may be; that of "" is for those without a name here
}

// Decision is what follows from a message in a state: facts to commit, or an
// answer without any.
type Decision struct {
	// Events is everything that becomes true, in order, as one commit. Empty
	// means that nothing does. No fence guards that, so it holds only for a state
	// that the leader gave after the message had come.
	Events []events.Event

	// Large is content that stands in Events by digest only. It must be stored
	// before they are.
	Large []Content

	// Shared is content that stands in Events by digest only, and is kept with the
	// skills. The chat gets its own of it before they are stored, as it may be all that
	// is left of it one day.
	Shared []events.Digest

	// Claim, Result and Asked answer the runner that asked; set for those messages.
	Claim  *protocol.ClaimAnswer
	Result *protocol.ResultAnswer
	Asked  *protocol.AskAnswer

	// Refused answers a command that leaves no trace in the log.
	Refused *protocol.RefusedError

	// Ask means: nothing is decided yet. Put this question to the process that
	// holds the claim, set [Claim.Holder], and decide again.
	Ask       *protocol.RunnerQuestion
	AskRunner string // the process to ask
}

// Handle is Decide, and then Advance until nothing more follows. All events are
// one commit: a turn's end and the next one's start cannot be torn apart.
func Handle(s State, m Message, at events.Time, live Live) Decision {
	d := Decide(s, m, at, live)
	if len(d.Events) == 0 {
		return d
	}
	var large []Content
	d.Events, large = detachLarge(d.Events, s.copies(d.Events))
	d.Large = append(d.Large, large...)
	s = s.clone()
	if s.hashed == nil { // a chat that comes into being and begins a turn at once
		s.hashed = new(hashed)
	}
	s.f.Rev++            // as the commit will
	at = max(at, s.At()) // which is the commit's: a claim is judged by a clock that may be behind
	next := d.Events
	for len(next) > 0 {
		for _, e := range next {
			s.fold(e)
		}
		if s.wrong != "" {
			panic("chat: a decision makes no sense: " + s.wrong) // no rule decides what cannot be folded
		}
		next = Advance(s, at, live)
		d.Events, d.Shared = append(d.Events, next...), append(d.Shared, sharedBy(next)...)
	}
	return d
}

// Decide judges one message: which facts it makes true, in order, and what its
// sender is told.
//
// Everything it depends on is in its arguments, so whoever repeats it comes to
// the same decision. Once a message's facts are folded it makes nothing true any
// more, and may be delivered as often as the bus likes.
func Decide(s State, m Message, at events.Time, live Live) Decision {
	switch m := m.(type) {
	case Command:
		return withAgent(decideCommand(s, m, at, live), m, live)
	case AttemptEnded:
		return decideAttempt(s, m, at)
	case AttemptLost:
		return Decision{Events: decideLost(s, m)}
	case Claim:
		return decideClaim(s, m, at)
	case Result:
		return decideResult(s, m)
	case Ask:
		return decideAsk(s, m, at)
	case TimerDue:
		return Decision{Events: decideTimer(s, m, at)}
	case Birth:
		return decideBirth(s, m, at, live)
	case Recall:
		return Decision{Events: decideRecall(s, m, at)}
	case Report:
		return decideReport(s, m)
	case Restored:
		return Decision{Events: decideRestored(s)}
	}
	panic(fmt.Sprintf("chat: no decision for %T", m)) // the set is closed: a case is missing above
}
