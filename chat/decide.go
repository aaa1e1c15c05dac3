package chat

import (
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Live is the configuration in force now. Only a decision that starts a turn
// reads it; what the turn got stands in turn.started.
type Live struct {
	Defaults events.Settings
	Tools    []events.Tool     // every tool on offer, sorted by name
	Pools    map[string]string // which pool asks a model; absent means [DefaultPool]
}

// DefaultPool asks the models that name no other.
const DefaultPool = "default"

// Decision is what follows from a message in a state: facts to commit, or an
// answer without any.
type Decision struct {
	// Events is everything that becomes true, in order, as one commit. Empty
	// means that nothing does: such a "no" counts only on a state read from the
	// leader after the message came.
	Events []events.Event

	// Claim and Result answer the runner that asked; set for those messages.
	Claim  *protocol.ClaimAnswer
	Result *protocol.ResultAnswer

	// Refused answers a command that leaves no trace in the log.
	Refused *protocol.RefusedError

	// Ask means: nothing is decided yet. Put this question to the process that
	// holds the claim, set [Claim.Holder], and decide again.
	Ask       *protocol.RunnerQuestion
	AskRunner string // the process to ask
}
