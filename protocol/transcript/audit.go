package transcript

import (
	"encoding/json"

	"github.com/everturn/everturn/events"
)

// Names of the queries that look into a chat's log.
const (
	QueryState  = "state"
	QueryPrompt = "prompt"
	QueryVerify = "verify"
)

// StateRequest asks what decisions are made from, as it was after the commit of that
// rev; by default, as it is.
type StateRequest struct {
	V    int    `json:"v,omitempty"`
	Chat string `json:"chat"`
	Rev  uint64 `json:"rev,omitempty"`
}

// State is a chat folded from its log: the answer to the query "state".
type State struct {
	Chat string      `json:"chat"`
	Rev  uint64      `json:"rev"`
	At   events.Time `json:"at"`   // of that commit
	Fold int         `json:"fold"` // the version of the state's form: it may be another in another release
	Hash string      `json:"hash"` // of the whole state; equal states have equal hashes

	State json.RawMessage `json:"state"`
	Cut   []string        `json:"cut,omitempty"` // what was cut from State so that it fits, in words
}

// PromptRequest asks what a model was shown: for a step, or for the newest that was
// requested up to a rev, or for the newest of all.
type PromptRequest struct {
	V       int           `json:"v,omitempty"`
	Chat    string        `json:"chat"`
	Step    events.StepID `json:"step,omitzero"`
	Attempt int           `json:"attempt,omitempty"` // of the step; default the last
	Rev     uint64        `json:"rev,omitempty"`

	// Full puts large content, and what the tools' manifests say, in the place of their
	// digests.
	Full bool `json:"full,omitempty"`
}

// Prompt is what a model was shown for a step: the answer to the query "prompt".
type Prompt struct {
	Chat    string         `json:"chat"`
	Step    events.StepID  `json:"step"`
	Purpose events.Purpose `json:"purpose"`
	Attempt int            `json:"attempt"`
	Rev     uint64         `json:"rev"` // of the commit that requested it

	// Recorded is the digest of what it was shown, as the log has it, Digest that of what
	// the rules of this release make of the log. Same says that they are equal.
	Recorded events.Digest `json:"recorded"`
	Digest   events.Digest `json:"digest"`
	Same     bool          `json:"same"`
	Bytes    int           `json:"bytes"` // of its canonical form

	Request json.RawMessage `json:"request"`       // model, system, tools, messages
	Cut     []string        `json:"cut,omitempty"` // what was cut from Request so that it fits, in words
}

// VerifyRequest asks whether a chat's log breaks a rule.
type VerifyRequest struct {
	V    int    `json:"v,omitempty"`
	Chat string `json:"chat"`
}

// Verdict is the answer to the query "verify": no violation means that no rule is broken
// up to Rev. What only a chat that has come to rest shows is not judged.
type Verdict struct {
	Chat string `json:"chat"`
	Rev  uint64 `json:"rev"`

	Violations []Violation `json:"violations"`

	// Skipped are rules that were not judged, or not wholly: those that need the folded
	// state at every rev, which is too much work of a long chat.
	Skipped []string `json:"skipped,omitempty"`

	// Unread says why the log is not judged from some commit on: a newer release wrote
	// it, or the history that the chat goes on from cannot be read.
	Unread string `json:"unread,omitempty"`
}

// Violation is a rule that was broken, and where.
type Violation struct {
	Rule   string `json:"rule"`
	Means  string `json:"means"` // what the rule demands
	Rev    uint64 `json:"rev,omitempty"`
	Detail string `json:"detail"`
	Clash  uint64 `json:"clash,omitempty"` // the rev of the earlier commit that this one contradicts
}
