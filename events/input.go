package events

// SendMode says what becomes of an input that arrives while a turn runs.
type SendMode string

// The modes. Steer, interrupt and rollback are reserved.
const (
	ModeQueue  SendMode = "queue"  // wait for the turn's end
	ModeReject SendMode = "reject" // be refused with code busy
)

// InputAccepted records what a user said. Its id is the command's, so a client
// knows it before it is told. The input waits until a turn.started names it or
// an input.withdrawn takes it back; one of them comes exactly once.
type InputAccepted struct {
	Input string   `json:"input"`
	Parts []Part   `json:"parts"`
	Mode  SendMode `json:"mode"`
	By    string   `json:"by,omitempty"`

	// Settings hold for the turn that takes this input as its first.
	Settings *Settings `json:"settings,omitempty"`
}

// InputWithdrawn records that a waiting input was taken back.
type InputWithdrawn struct {
	Input string `json:"input"`
}

// EventType implements [Event].
func (InputAccepted) EventType() Type { return "input.accepted.v1" }
func (InputAccepted) sealed()         {}

// EventType implements [Event].
func (InputWithdrawn) EventType() Type { return "input.withdrawn.v1" }
func (InputWithdrawn) sealed()         {}
