package events

// Purpose says what a step is for.
type Purpose string

// The purposes. Steps of all of them share their turn's counter. Only an answer is
// shown to the model later and can call tools.
const (
	PurposeAnswer  Purpose = "answer"
	PurposeSummary Purpose = "summary" // of what was said so far, to be shown in its place
	PurposeReview  Purpose = "review"  // of a call, in place of a person
	PurposeTitle   Purpose = "title"   // of the chat, in a step outside of any turn
)

// Stop says why the model stopped, in our words.
type Stop string

// The reasons to stop.
const (
	StopEnd     Stop = "end"     // it said it was done
	StopCalls   Stop = "calls"   // it waits for the results of its calls
	StopLength  Stop = "length"  // its answer was cut off by the output limit
	StopRefused Stop = "refused" // it, or a filter, declined
	StopPaused  Stop = "paused"  // it wants to be asked again with what it said
)

// StepRequested says that the model is to be asked. It is stored before the
// model is: a request on the provider's bill without one does not exist.
//
// Prompt is the digest of the canonical request and Bytes its size, so that a
// replay can say whether the model would be shown the same today.
type StepRequested struct {
	Step    StepID  `json:"step"`
	Purpose Purpose `json:"purpose"`
	Attempt int     `json:"attempt"` // from 1
	Model   string  `json:"model"`
	Pool    string  `json:"pool"`
	Prompt  Digest  `json:"prompt"`
	Bytes   int64   `json:"bytes"`

	// Until is the last thing that a summary is to be about; for a title it is the
	// turn whose inputs that is about.
	Until *Boundary `json:"until,omitempty"`

	// Call is the call that a review is about, and Due when that is over at the
	// latest: a person is asked then.
	Call *CallID `json:"call,omitempty"`
	Due  Time    `json:"due,omitempty"`
}

// StepCompleted closes the open attempt with the model's whole answer. Every
// part of type call is a call that gets exactly one tool.completed.
type StepCompleted struct {
	Step     StepID   `json:"step"`
	Attempt  int      `json:"attempt"`
	Parts    []Part   `json:"parts,omitempty"`
	Stop     Stop     `json:"stop"`
	RawStop  string   `json:"raw_stop,omitempty"` // the provider's own word
	Usage    Usage    `json:"usage"`
	Provider Provider `json:"provider"`
	Timing   Timing   `json:"timing"`

	// CostMicros is in millionths of the price table's currency; nil means the
	// model is not in the table, which is not the same as free.
	CostMicros *int64 `json:"cost_micros,omitempty"`

	// RawUsage is what the provider itself reported of usage, each report as it
	// came: JSON as text, with whatever else it counts. The newest stands last;
	// before it the one of the answer's beginning, where the format has one. What
	// is over [MaxRawUsageBytes] in all is left out, the older first.
	RawUsage []string `json:"raw_usage,omitempty"`
}

// Provider is what the provider calls an answer, for asking its support.
type Provider struct {
	Name       string `json:"name,omitempty"`
	RequestID  string `json:"request_id,omitempty"`
	ResponseID string `json:"response_id,omitempty"`
	Model      string `json:"model,omitempty"` // the model that really answered
}

// Timing of an attempt as its worker saw it, in ms after the request was sent.
// Deltas are not kept; this is what remains of their pace.
type Timing struct {
	FirstMS      int64 `json:"first_ms"`       // to the first delta
	LastMS       int64 `json:"last_ms"`        // to the last delta
	Deltas       int   `json:"deltas"`         // how many there were
	LongestGapMS int64 `json:"longest_gap_ms"` // between two of them
}

// StepFailed closes the open attempt without an answer. With RetryAt the next
// attempt follows then; with AfterCompaction after a summary, or at once where old
// outputs of tools could be left out; a crashed attempt is followed at once by the
// next, in the same commit; else the turn fails. Nothing of the attempt's text is kept.
type StepFailed struct {
	Step    StepID     `json:"step"`
	Attempt int        `json:"attempt"`
	Class   ErrorClass `json:"class"`
	Message string     `json:"message"` // cleaned, for people, at most [MaxErrorChars]
	RetryAt Time       `json:"retry_at,omitempty"`
	Usage   Usage      `json:"usage"`

	// AfterCompaction says that the next attempt follows when the context has been
	// compacted.
	AfterCompaction bool `json:"after_compaction,omitempty"`

	// CostMicros is what Usage cost, as in [StepCompleted]; nil means nobody knows.
	CostMicros *int64 `json:"cost_micros,omitempty"`
}

// StepInterrupted closes the attempt that was open when its turn was
// interrupted, or whose review nobody needs any more. Parts is what had arrived, without any call: half a call is
// never shown or run.
type StepInterrupted struct {
	Step    StepID `json:"step"`
	Attempt int    `json:"attempt"`
	Parts   []Part `json:"parts,omitempty"`
	Usage   Usage  `json:"usage"`

	// CostMicros is what Usage cost, as in [StepCompleted]; nil means nobody knows.
	CostMicros *int64 `json:"cost_micros,omitempty"`
}

// TurnedAway reports whether the model refused the request itself, or there is no
// such model: nobody has worked on it.
func (e StepFailed) TurnedAway() bool {
	return e.Class == ClassInvalidRequest && e.Usage == Usage{} && (e.CostMicros == nil || *e.CostMicros == 0)
}

// EventType implements [Event].
func (StepRequested) EventType() Type { return "step.requested.v1" }
func (StepRequested) sealed()         {}

// EventType implements [Event].
func (StepCompleted) EventType() Type { return "step.completed.v1" }
func (StepCompleted) sealed()         {}

// EventType implements [Event].
func (StepFailed) EventType() Type { return "step.failed.v1" }
func (StepFailed) sealed()         {}

// EventType implements [Event].
func (StepInterrupted) EventType() Type { return "step.interrupted.v1" }
func (StepInterrupted) sealed()         {}
