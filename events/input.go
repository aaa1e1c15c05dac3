package events

// SendMode says what becomes of an input that arrives while a turn runs.
type SendMode string

// The modes. Without a running turn all of them start one.
const (
	ModeQueue     SendMode = "queue"     // wait for the turn's end
	ModeSteer     SendMode = "steer"     // go into the running turn, before its next step
	ModeInterrupt SendMode = "interrupt" // stop the turn and be the next
	ModeRollback  SendMode = "rollback"  // the same, and what follows does not know the stopped turn
	ModeReject    SendMode = "reject"    // be refused with code busy
)

// InputAccepted records what a user said. Its id is the command's, so a client
// knows it before it is told. The input waits, behind those that wait already
// unless an input.promoted says otherwise, until a turn.started or an input.steered names it or an input.withdrawn takes it
// back; one of them comes exactly once.
type InputAccepted struct {
	Input string   `json:"input"`
	Parts []Part   `json:"parts"`
	Mode  SendMode `json:"mode"`
	By    string   `json:"by,omitempty"`

	// Settings hold for the turn that takes this input as its first.
	Settings *Settings `json:"settings,omitempty"`
}

// InputEdited records that a waiting input says something else from now on. Its
// place and its mode stay.
type InputEdited struct {
	Input string `json:"input"`
	Parts []Part `json:"parts"`
	By    string `json:"by,omitempty"`
}

// InputPromoted records the place of a waiting input among those that wait: that
// it was put there because of its mode, or moved there by a person.
type InputPromoted struct {
	Input string `json:"input"`
	Place int    `json:"place"` // from 1, which is taken first

	// Interrupt means that the turn which runs is to make room for it. The input's
	// mode is interrupt from then on, unless it is rollback.
	Interrupt bool `json:"interrupt,omitempty"`

	By string `json:"by,omitempty"`
}

// InputSteered records that the running turn takes waiting inputs as it goes:
// the model reads them, each as a message of its own, right before that step,
// whose request follows in the same commit.
type InputSteered struct {
	Step   StepID   `json:"step"`
	Inputs []string `json:"inputs"`
}

// InputWithdrawn records that a waiting input was taken back.
type InputWithdrawn struct {
	Input string `json:"input"`
}

// EventType implements [Event].
func (InputAccepted) EventType() Type { return "input.accepted.v1" }
func (InputAccepted) sealed()         {}

// EventType implements [Event].
func (InputEdited) EventType() Type { return "input.edited.v1" }
func (InputEdited) sealed()         {}

// EventType implements [Event].
func (InputPromoted) EventType() Type { return "input.promoted.v1" }
func (InputPromoted) sealed()         {}

// EventType implements [Event].
func (InputSteered) EventType() Type { return "input.steered.v1" }
func (InputSteered) sealed()         {}

// EventType implements [Event].
func (InputWithdrawn) EventType() Type { return "input.withdrawn.v1" }
func (InputWithdrawn) sealed()         {}
