package protocol

// The verbs that change what models are shown of a chat, and nothing else.
const (
	VerbCompact Verb = "compact"
	VerbClear   Verb = "clear"
	VerbRestore Verb = "restore"
)

// Compact has older messages replaced by a summary. It works while no turn runs;
// what is sent meanwhile waits until it is done.
type Compact struct {
	V int `json:"v"`
}

// Clear makes what is said next a new beginning: models are shown nothing of what
// was said before. The chat keeps it.
type Clear struct {
	V int `json:"v"`
}

// Restore undoes the last compaction, or the last clearing.
type Restore struct {
	V int `json:"v"`
}

// Verb implements [Body].
func (Compact) Verb() Verb { return VerbCompact }
func (Compact) body()      {}

// Verb implements [Body].
func (Clear) Verb() Verb { return VerbClear }
func (Clear) body()      {}

// Verb implements [Body].
func (Restore) Verb() Verb { return VerbRestore }
func (Restore) body()      {}
