package events

// ToolStatus says how a call ended.
type ToolStatus string

// The statuses. Unknown means the effect may have happened: it was licensed,
// and nobody can say more. Cancelled means it certainly did not.
const (
	ToolOK        ToolStatus = "ok"
	ToolError     ToolStatus = "error"
	ToolDenied    ToolStatus = "denied"
	ToolCancelled ToolStatus = "cancelled"
	ToolTimeout   ToolStatus = "timeout"
	ToolUnknown   ToolStatus = "unknown"
	ToolInvalid   ToolStatus = "invalid"
	ToolNotFound  ToolStatus = "not_found"
)

// ToolRequested says that a call was handed out. It stands in the commit that
// made the call runnable. The flags are those in force: later decisions and the
// checker read them here.
type ToolRequested struct {
	Call       CallID `json:"call"`
	Tool       string `json:"tool"`
	Group      string `json:"group"`
	Manifest   Digest `json:"manifest"`
	Arguments  Digest `json:"arguments"` // of the arguments as JSON; empty ones are {}
	Key        string `json:"key"`       // idempotency key: same call, same key, for ever
	Idempotent bool   `json:"idempotent,omitempty"`
	ReadOnly   bool   `json:"read_only,omitempty"`
	TimeoutMS  int64  `json:"timeout_ms"`
	Deadline   Time   `json:"deadline"` // when the call is settled without its runner
}

// ToolStarted is the licence to run a call whose tool is not idempotent, stored
// before the effect. Such a call has at most one, so its effect begins at most
// once. An idempotent tool needs none for its first delivery, and gets one for
// each later.
type ToolStarted struct {
	Call     CallID `json:"call"`
	Claim    string `json:"claim"` // of this delivery, minted by the runner
	Delivery uint64 `json:"delivery"`
	Runner   string `json:"runner"` // process that holds the claim
	At       Time   `json:"at"`
}

// ToolCompleted closes a call. Each call that a completed step asked for is
// closed once, before its turn ends: by a runner's report, or by a rule if there
// was none in time. Status tells success from failure, and from not knowing.
// Nothing that comes afterwards changes it.
//
// Parts is shown to the model, cut to [MaxResultBytes]; Blob has all of it, except
// of a question: its question.answered, in the same commit, has the whole answers.
// Artifacts are what the call made for people to keep.
type ToolCompleted struct {
	Call      CallID     `json:"call"`
	Status    ToolStatus `json:"status"`
	Parts     []Part     `json:"parts,omitempty"`
	IsError   bool       `json:"is_error,omitempty"`
	Truncated bool       `json:"truncated,omitempty"`
	Blob      Digest     `json:"blob,omitempty"`
	Runner    string     `json:"runner,omitempty"` // process that ran it; empty if settled by rule
	Timing    ToolTiming `json:"timing"`
	Artifacts []Artifact `json:"artifacts,omitempty"` // in the order they were made
}

// ToolTiming is measured by the runner.
type ToolTiming struct {
	RanMS int64 `json:"ran_ms,omitempty"`
}

// EventType implements [Event].
func (ToolRequested) EventType() Type { return "tool.requested.v1" }
func (ToolRequested) sealed()         {}

// EventType implements [Event].
func (ToolStarted) EventType() Type { return "tool.started.v1" }
func (ToolStarted) sealed()         {}

// EventType implements [Event].
func (ToolCompleted) EventType() Type { return "tool.completed.v1" }
func (ToolCompleted) sealed()         {}
