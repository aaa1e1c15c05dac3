package events

// TurnCause says why a turn began.
type TurnCause string

// The causes of a turn.
const (
	CauseInput    TurnCause = "input"
	CauseRetry    TurnCause = "retry"    // asks the failed step of the parent again
	CauseContinue TurnCause = "continue" // goes on where the parent stopped

	CauseEdit       TurnCause = "edit"       // something else is said than in a turn of the same parent
	CauseRegenerate TurnCause = "regenerate" // a turn of the same parent is answered once more
)

// Finish says how a completed turn ended.
type Finish string

// The finishes.
const (
	FinishComplete      Finish = "complete" // the model ended its turn
	FinishStopAfterTool Finish = "stop_after_tool"
	FinishMaxSteps      Finish = "max_steps" // continue goes on
	FinishRefused       Finish = "refused"
	FinishLength        Finish = "length" // continue goes on
)

// RecordedSettings are a turn's settings. Body is present when its digest was
// not among the chat's newest; else an earlier turn.started of the chat has it.
type RecordedSettings struct {
	Digest Digest     `json:"digest"`
	Body   *Effective `json:"body,omitempty"`
}

// TurnStarted opens a turn. At most one turn of a chat is open; numbers count
// from 1 without gaps. Parent is the turn whose end this one follows in what
// the model reads, 0 for none. Again is the turn of the same parent that this one
// begins beside: inputs that it took may be among Inputs once more.
//
// Rules and PromptRules number the decision rules and the prompt rules in force,
// so that an old log is judged by the rules it ran under. At is the date and
// time the model is told.
type TurnStarted struct {
	Turn        int              `json:"turn"`
	Parent      int              `json:"parent,omitempty"`
	Again       int              `json:"again,omitempty"` // the turn beside which this one begins
	Cause       TurnCause        `json:"cause"`
	Inputs      []string         `json:"inputs,omitempty"`
	Settings    RecordedSettings `json:"settings"`
	Rules       int              `json:"rules"`
	PromptRules int              `json:"prompt_rules"`
	At          Time             `json:"at"`
}

// TurnInterruptRequested says that the turn is to end. Nothing new starts in it
// from here on. What was handed out stays open until its result, or until Due,
// when the end timer settles it.
type TurnInterruptRequested struct {
	Turn   int    `json:"turn"`
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
	Due    Time   `json:"due"`
}

// Why a turn is to end that a waiting input interrupts.
const (
	ReasonNewInput   = "another input goes first"
	ReasonRolledBack = "rolled back by another input"
)

// TurnCompleted ends a turn with an outcome.
type TurnCompleted struct {
	Turn   int    `json:"turn"`
	Finish Finish `json:"finish"`
	Totals Totals `json:"totals"`
}

// TurnFailed ends a turn without one. Message is cleaned and for people; it
// never becomes model input.
type TurnFailed struct {
	Turn    int        `json:"turn"`
	Class   ErrorClass `json:"class"`
	Message string     `json:"message"`
	Totals  Totals     `json:"totals"`
}

// TurnInterrupted ends a turn that somebody stopped. No effect starts after it.
type TurnInterrupted struct {
	Turn   int    `json:"turn"`
	Reason string `json:"reason,omitempty"`
	Totals Totals `json:"totals"`
}

// EventType implements [Event].
func (TurnStarted) EventType() Type { return "turn.started.v1" }
func (TurnStarted) sealed()         {}

// EventType implements [Event].
func (TurnInterruptRequested) EventType() Type { return "turn.interrupt_requested.v1" }
func (TurnInterruptRequested) sealed()         {}

// EventType implements [Event].
func (TurnCompleted) EventType() Type { return "turn.completed.v1" }
func (TurnCompleted) sealed()         {}

// EventType implements [Event].
func (TurnFailed) EventType() Type { return "turn.failed.v1" }
func (TurnFailed) sealed()         {}

// EventType implements [Event].
func (TurnInterrupted) EventType() Type { return "turn.interrupted.v1" }
func (TurnInterrupted) sealed()         {}
