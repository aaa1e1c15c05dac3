package protocol

import (
	"encoding/json"

	"github.com/everturn/everturn/events"
	"github.com/google/uuid"
)

// Work is something that a chat's state still has to cause outside of it. The
// set is closed; each has a subject of its own, so that publishing one again
// while it is stored changes nothing.
//
//sumtype:decl
type Work interface {
	// Kind is how the header [HeaderOwes] calls it.
	Kind() string
	// Key is the chat it belongs to.
	Key() events.Key
	work()
}

// What HeaderOwes calls the kinds of work.
const (
	OwesModel = "model"
	OwesTool  = "tool"
	OwesTimer = "timer"
	OwesChat  = "chat"
)

// ModelWork asks for one attempt of a step.
type ModelWork struct {
	V       int            `json:"v"`
	Tenant  string         `json:"tenant"`
	Chat    string         `json:"chat"`
	Rev     uint64         `json:"rev"` // of the commit that caused it
	Step    events.StepID  `json:"step"`
	Attempt int            `json:"attempt"`
	Purpose events.Purpose `json:"purpose"`
	Pool    string         `json:"pool"`
}

// ToolWork asks for one call.
type ToolWork struct {
	V              int                `json:"v"`
	Tenant         string             `json:"tenant"`
	Chat           string             `json:"chat"`
	Rev            uint64             `json:"rev"`
	Call           events.CallID      `json:"call"`
	Tool           string             `json:"tool"`
	Group          string             `json:"group"`
	Manifest       events.Digest      `json:"manifest"`
	Arguments      json.RawMessage    `json:"arguments,omitempty"` // an object, valid for the schema
	Blob           events.Digest      `json:"blob,omitempty"`      // of the arguments, if they are large
	IdempotencyKey string             `json:"key"`
	TimeoutMS      int64              `json:"timeout_ms"`
	Deadline       events.Time        `json:"deadline"`
	Permissions    events.Permissions `json:"permissions"`
}

// Timer asks to be woken. A name is never used twice in a chat.
type Timer struct {
	V      int         `json:"v"`
	Tenant string      `json:"tenant"`
	Chat   string      `json:"chat"`
	Rev    uint64      `json:"rev"`
	Name   string      `json:"name"`
	Due    events.Time `json:"due"`
}

// Kind implements [Work].
func (ModelWork) Kind() string { return OwesModel }

// Kind implements [Work].
func (ToolWork) Kind() string { return OwesTool }

// Kind implements [Work].
func (Timer) Kind() string { return OwesTimer }

// Key implements [Work].
func (w ModelWork) Key() events.Key { return events.Key{Tenant: w.Tenant, Chat: w.Chat} }
func (ModelWork) work()             {}

// Key implements [Work].
func (w ToolWork) Key() events.Key { return events.Key{Tenant: w.Tenant, Chat: w.Chat} }
func (ToolWork) work()             {}

// Key implements [Work].
func (t Timer) Key() events.Key { return events.Key{Tenant: t.Tenant, Chat: t.Chat} }
func (Timer) work()             {}

// Claim asks for the licence to run a call. A claim id is new for each delivery
// of the work. Rev is that of the work.
type Claim struct {
	V        int           `json:"v"`
	Call     events.CallID `json:"call"`
	Rev      uint64        `json:"rev"`
	Claim    string        `json:"claim"`
	Delivery uint64        `json:"delivery"`
	Runner   string        `json:"runner"`
}

// ClaimVerdict is the answer to a claim.
type ClaimVerdict string

// The verdicts.
const (
	ClaimGranted ClaimVerdict = "granted" // start within GrantMS of having sent the claim
	ClaimOver    ClaimVerdict = "over"    // not wanted any more: acknowledge the work
	ClaimBusy    ClaimVerdict = "busy"    // somebody else may run it: give the work back for RetryMS
)

// ClaimAnswer answers a claim. Why is for people.
type ClaimAnswer struct {
	Answer  ClaimVerdict `json:"answer"`
	Why     string       `json:"why,omitempty"`
	GrantMS int64        `json:"grant_ms,omitempty"`
	RetryMS int64        `json:"retry_ms,omitempty"`
}

// Result reports what a call came to.
type Result struct {
	V         int               `json:"v"`
	Call      events.CallID     `json:"call"`
	Rev       uint64            `json:"rev"`
	Runner    string            `json:"runner"`
	Status    events.ToolStatus `json:"status"`
	IsError   bool              `json:"is_error,omitempty"`
	Parts     []events.Part     `json:"parts,omitempty"`
	Truncated bool              `json:"truncated,omitempty"`
	Blob      events.Digest     `json:"blob,omitempty"`      // of the whole, uploaded before
	Artifacts []Artifact        `json:"artifacts,omitempty"` // what the call made for people to keep; of a success only
	Timing    events.ToolTiming `json:"timing"`
}

// ResultVerdict is the answer to a result.
type ResultVerdict string

// The verdicts. Only the first two settle the work.
const (
	ResultCommitted   ResultVerdict = "committed"
	ResultDropped     ResultVerdict = "dropped" // late, or never asked for: the first stands
	ResultUnavailable ResultVerdict = "unavailable"
)

// ResultAnswer answers a result.
type ResultAnswer struct {
	Answer ResultVerdict `json:"answer"`
	Rev    uint64        `json:"rev,omitempty"`
	Why    string        `json:"why,omitempty"`
}

// Stop says that a turn, or with Step and Attempt one attempt, or with Call one
// call, is not wanted any more.
type Stop struct {
	V       int            `json:"v"`
	Turn    int            `json:"turn"`
	Step    *events.StepID `json:"step,omitempty"`
	Attempt int            `json:"attempt,omitempty"`
	Call    *events.CallID `json:"call,omitempty"`
}

// RunnerQuestion asks a runner process whether it still runs what it claimed.
type RunnerQuestion struct {
	V      int           `json:"v"`
	Tenant string        `json:"tenant"`
	Chat   string        `json:"chat"`
	Call   events.CallID `json:"call"`
	Claim  string        `json:"claim"`
}

// RunnerAnswer is its answer: yes from the claim until the result was answered.
type RunnerAnswer struct {
	Running bool `json:"running"`
}

// Delta is a piece of an answer on its way. I counts the deltas of an attempt
// from 0, so that a watcher sees a gap; a higher attempt replaces what a lower
// one showed.
type Delta struct {
	Turn    int           `json:"turn"`
	Step    events.StepID `json:"step"`
	Attempt int           `json:"attempt"`
	Part    int           `json:"part"`
	I       int           `json:"i"`
	Kind    string        `json:"kind"`
	Text    string        `json:"text"`
}

// Progress is what a running tool says.
type Progress struct {
	Call events.CallID `json:"call"`
	I    int           `json:"i"`
	Text string        `json:"text"`
}

// Upload stores content of a chat by its digest: Data, at most
// [MaxChunkBytes], or the joined content of Chunks that were uploaded before,
// which must hash to Blob.
//
// Import says that it is for a chat that an import is going to make; any other
// chat must exist.
type Upload struct {
	V      int             `json:"v"`
	Data   []byte          `json:"data,omitempty"`
	Chunks []events.Digest `json:"chunks,omitempty"`
	Blob   events.Digest   `json:"blob,omitempty"`
	Import bool            `json:"import,omitempty"` // for a chat that an import is going to make
}

// UploadAnswer names what is stored now, or says what was wrong.
type UploadAnswer struct {
	Blob  events.Digest `json:"blob,omitempty"`
	Error string        `json:"error,omitempty"`
	Code  events.Code   `json:"code,omitempty"` // with Error: whether asking again may help
}

// Download asks for content of a chat from Offset on.
type Download struct {
	V      int           `json:"v"`
	Blob   events.Digest `json:"blob"`
	Offset int64         `json:"offset"`
}

// DownloadAnswer brings at most [MaxChunkBytes] of it. Bytes is the whole size.
type DownloadAnswer struct {
	Data  []byte `json:"data,omitempty"`
	Bytes int64  `json:"bytes"`
	Error string `json:"error,omitempty"`

	Code events.Code `json:"code,omitempty"` // with Error: whether asking again may help
}

// Sizes of uploads.
const (
	MaxChunkBytes  = 256 << 10
	MaxUploadBytes = 16 << 20               // joined, of a chat that exists
	MaxImportBytes = events.MaxHistoryBytes // joined, for an import
)

// keyNamespace is the UUIDv5 namespace of idempotency keys; it never changes.
var keyNamespace = uuid.MustParse("6f0c3a52-8f0e-5d3b-9a64-2c1f7f3f9a11")

// IdempotencyKey is the key handed to a tool: the same call has the same key
// for ever, and no other call has it.
func IdempotencyKey(k events.Key, call events.CallID) string {
	return uuid.NewSHA1(keyNamespace, []byte(k.Tenant+"/"+k.Chat+"/"+call.String())).String()
}
