package events

// Boundary names the last thing of a chat that models are not shown any more: a
// step, or, with Step 0, the inputs of a turn. It counts for every path on which
// its turn lies: of several on one path that which is furthest from the root.
type Boundary struct {
	Turn int `json:"turn"`
	Step int `json:"step"` // number of the step within the turn; 0: only the inputs of the turn
}

// ContextCompacted says that models are shown Summary in place of everything up
// to Boundary. Nothing is open then, no call is parted from its result, and no
// input from the answer it still waits for.
//
// Without a Step nothing is summed up. Instead the outputs of the calls in Masked
// are left out wherever those calls are shown, and a note stands in their place:
// all of them were successful, and a model has answered since. Boundary is the
// step of the newest of them; what is shown begins where it did.
//
// Before and After estimate the tokens of the messages shown. Instructions and
// tools are not among them: they stay as they are.
type ContextCompacted struct {
	Step     *StepID  `json:"step,omitempty"`    // in which the summary was written
	Boundary Boundary `json:"boundary"`          // the last thing that is not shown any more
	Summary  []Part   `json:"summary,omitempty"` // what is shown in its place
	Masked   []CallID `json:"masked,omitempty"`  // calls whose outputs are left out, oldest first
	Before   int64    `json:"before"`            // tokens that were shown, about
	After    int64    `json:"after"`             // tokens that are shown now, about
}

// ContextCompactionFailed says that a summary was asked for and is of no use:
// models are shown what they were shown before. In a turn, the turn fails.
type ContextCompactionFailed struct {
	Step    StepID     `json:"step"`
	Class   ErrorClass `json:"class"`
	Message string     `json:"message"` // cleaned, for people, at most [MaxErrorChars]
}

// ContextCleared says that models are shown nothing of what is up to Boundary.
type ContextCleared struct {
	Boundary Boundary `json:"boundary"` // the last thing that is not shown any more
	By       string   `json:"by,omitempty"`
}

// ContextRestored undoes the context.compacted or context.cleared whose Boundary it
// names, and which counts on the path: models are shown again what stands before it,
// as far as no other is there. If outputs were left out since, those are shown again
// instead.
type ContextRestored struct {
	Boundary Boundary `json:"boundary"` // that counts no more
	By       string   `json:"by,omitempty"`
}

// EventType implements [Event].
func (ContextCompacted) EventType() Type { return "context.compacted.v1" }
func (ContextCompacted) sealed()         {}

// EventType implements [Event].
func (ContextCompactionFailed) EventType() Type { return "context.compaction_failed.v1" }
func (ContextCompactionFailed) sealed()         {}

// EventType implements [Event].
func (ContextCleared) EventType() Type { return "context.cleared.v1" }
func (ContextCleared) sealed()         {}

// EventType implements [Event].
func (ContextRestored) EventType() Type { return "context.restored.v1" }
func (ContextRestored) sealed()         {}
