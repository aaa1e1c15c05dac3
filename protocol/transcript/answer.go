package transcript

import "github.com/everturn/everturn/events"

// Status says what a chat is doing.
type Status string

// The statuses of a chat.
const (
	StatusIdle         Status = "idle"         // nothing goes on
	StatusRunning      Status = "running"      // a turn is open
	StatusInterrupting Status = "interrupting" // a turn is open and about to end
	StatusFailed       Status = "failed"       // the last turn failed; what waits goes on waiting
)

// Head is how a chat stands: the answer to the query "chat".
type Head struct {
	Chat     string      `json:"chat"`
	Rev      uint64      `json:"rev"`
	At       events.Time `json:"at"`      // of the newest commit
	Created  events.Time `json:"created"` // of the first
	Title    string      `json:"title"`   // the beginning of the first input if nobody set one
	Archived bool        `json:"archived,omitempty"`
	Plan     bool        `json:"plan,omitempty"` // turns only plan, from the next one on
	Status   Status      `json:"status"`
	Turn     int         `json:"turn,omitempty"`    // the newest
	Tip      int         `json:"tip,omitempty"`     // the one that the next follows, if that is another
	Step     string      `json:"step,omitempty"`    // the step whose answer is awaited
	Attempt  int         `json:"attempt,omitempty"` // of that step
	RetryAt  events.Time `json:"retry_at,omitzero"` // when a failed attempt is followed by the next

	MessageCount int `json:"message_count"`
	WaitingCount int `json:"waiting_count"` // inputs that wait for their turn

	Awaiting []events.CallID `json:"awaiting,omitempty"` // calls that wait for somebody to approve them

	// Reached is what the open turn waits for: a budget that somebody must extend.
	Reached *events.BudgetReached `json:"reached,omitempty"`

	Parent   *events.Parent `json:"parent,omitempty"`   // the call that the chat works for, if it works for one
	Children []Child        `json:"children,omitempty"` // those that work for its open calls, as they stand now
}

// Page is a page of a chat as people read it: the answer to the query
// "transcript". It is whole in itself as of Rev.
type Page struct {
	Head
	Messages []Message `json:"messages"`
	Turns    []Turn    `json:"turns"`             // those that the messages belong to, the newest 500 at most
	Waiting  []Waiting `json:"waiting,omitempty"` // on every page, in the order they will be taken
	Marks    []Mark    `json:"marks,omitempty"`   // where models were shown something else from then on

	// Next is what to put into the next request's after; 0 if there is no more.
	Next int `json:"next,omitempty"`
}

// Role says who speaks.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is something that somebody said. Its number never changes; what it
// holds does while its calls run, and Rev with it.
type Message struct {
	N           int           `json:"n"`   // from 1
	Rev         uint64        `json:"rev"` // of the commit that changed it last
	At          events.Time   `json:"at"`  // when it was said
	Turn        int           `json:"turn"`
	Role        Role          `json:"role"`
	Input       string        `json:"input,omitempty"` // of a user: the command that brought it
	By          string        `json:"by,omitempty"`
	Step        string        `json:"step,omitempty"` // of the assistant
	Parts       []Part        `json:"parts"`
	Stop        events.Stop   `json:"stop,omitempty"`
	Interrupted bool          `json:"interrupted,omitempty"` // it was stopped while it spoke
	Model       string        `json:"model,omitempty"`
	Usage       *events.Usage `json:"usage,omitempty"`
	CostMicros  *int64        `json:"cost_micros,omitempty"`
}

// Part is a piece of a message. Truncated says that Text, Arguments or JSON is
// only the beginning; Bytes is then the size of the whole.
type Part struct {
	events.Part
	Truncated bool  `json:"truncated,omitempty"`
	Call      *Call `json:"call,omitempty"` // of a part of type call
}

// CallStatus is that of a call that has no result yet, or of its result.
type CallStatus string

// The statuses of calls without a result. The others are those of [events.ToolStatus].
const (
	CallWaiting   CallStatus = "waiting"   // for other calls of its step
	CallReview    CallStatus = "review"    // for a model to judge it
	CallApproval  CallStatus = "approval"  // for somebody to approve it
	CallRequested CallStatus = "requested" // handed out to a tool runner
	CallStarted   CallStatus = "started"   // a runner has leave to run it
	CallAsking    CallStatus = "asking"    // a person, whose answer it waits for
	CallClient    CallStatus = "client"    // the client is to run it and to send its result
)

// Call is what became of a call.
type Call struct {
	ID        events.CallID `json:"id"`
	Status    CallStatus    `json:"status"`
	Approval  *Approval     `json:"approval,omitempty"` // of a call that somebody was asked about
	Edited    []Part        `json:"edited,omitempty"`   // the call with the arguments that somebody made of the model's
	Result    []Part        `json:"result,omitempty"`
	IsError   bool          `json:"is_error,omitempty"`
	Truncated bool          `json:"truncated,omitempty"` // the model read only a part, too
	Blob      events.Digest `json:"blob,omitempty"`      // of the whole result
	RanMS     int64         `json:"ran_ms,omitempty"`

	Artifacts []events.Artifact `json:"artifacts,omitempty"` // what it made for people to keep
	Due       events.Time       `json:"due,omitzero"`        // of the client's result
	Question  *Question         `json:"question,omitempty"`  // of a call that asks a person
	Work      *Work             `json:"work,omitempty"`      // of a call that another chat works for
}

// Question is what a call asks a person, and what was answered. While the status
// of the call is asking, anybody may answer.
type Question struct {
	Questions []events.Question `json:"questions"`
	Due       events.Time       `json:"due"`               // then the first option of each is taken
	Held      bool              `json:"held,omitempty"`    // somebody thinks about it: its clock stands still
	LeftMS    int64             `json:"left_ms,omitempty"` // of the time to answer, when it was held
	Answers   []events.Answer   `json:"answers,omitempty"`
	Expired   bool              `json:"expired,omitempty"` // nobody answered
	By        string            `json:"by,omitempty"`
}

// TurnStatus says how a turn stands.
type TurnStatus string

// The statuses of a turn.
const (
	TurnRunning     TurnStatus = "running"
	TurnCompleted   TurnStatus = "completed"
	TurnFailed      TurnStatus = "failed"
	TurnInterrupted TurnStatus = "interrupted"
)

// Turn is what a turn came to. First and Last are the numbers of its messages;
// Last is one less than First if it has none.
type Turn struct {
	Turn    int               `json:"turn"`
	Parent  int               `json:"parent,omitempty"`
	Again   int               `json:"again,omitempty"` // beside which it was started
	Cause   events.TurnCause  `json:"cause"`
	Status  TurnStatus        `json:"status"`
	Rev     uint64            `json:"rev"` // of the commit that changed it last
	Started events.Time       `json:"started"`
	Ended   events.Time       `json:"ended,omitzero"`
	First   int               `json:"first"`
	Last    int               `json:"last"`
	Finish  events.Finish     `json:"finish,omitempty"`  // of a completed turn
	Class   events.ErrorClass `json:"class,omitempty"`   // of a failed one
	Message string            `json:"message,omitempty"` // of a failed one, for people
	Reason  string            `json:"reason,omitempty"`  // of an interrupted one
	Totals  events.Totals     `json:"totals,omitzero"`
	// Siblings are the turns of the same parent, this one among them, if there are
	// several: any of them can be selected.
	Siblings []int `json:"siblings,omitempty"`
}

// Branches are those that a chat has: the answer to the query "branches".
type Branches struct {
	Head
	Branches []Branch `json:"branches"` // by their last turns; the newest 500
}

// Branch is one way through a chat, from its first turn to one that none follows,
// or to the one that is selected.
type Branch struct {
	Turn      int         `json:"turn"`               // its last
	From      int         `json:"from,omitempty"`     // the last that it has in common with the selected one
	TurnCount int         `json:"turn_count"`         // of all its turns
	Status    TurnStatus  `json:"status"`             // of the last
	At        events.Time `json:"at"`                 // when that ended or, while it is open, began
	Text      string      `json:"text"`               // the beginning of what was said last
	Selected  bool        `json:"selected,omitempty"` // people read, and go on, here
}

// MarkKind says what changed in what models are shown.
type MarkKind string

// The kinds of mark.
const (
	MarkCompacted MarkKind = "compacted" // a summary stands in place of older messages, or outputs of tools are left out
	MarkFailed    MarkKind = "compaction_failed"
	MarkCleared   MarkKind = "cleared"
	MarkRestored  MarkKind = "restored"
	MarkSkill     MarkKind = "skill" // a person named a skill, which the model reads from there on
)

// Mark is a place among the messages behind which models are shown something else
// of what stands before it. People are shown everything.
type Mark struct {
	After   int         `json:"after"` // the number of the message behind which it is
	Rev     uint64      `json:"rev"`
	At      events.Time `json:"at"`
	Kind    MarkKind    `json:"kind"`
	Summary string      `json:"summary,omitempty"` // its beginning
	Masked  int         `json:"masked,omitempty"`  // how many outputs of tools were left out
	Before  int64       `json:"before,omitempty"`  // about how many tokens were shown
	Tokens  int64       `json:"tokens,omitempty"`  // and how many are now
	Message string      `json:"message,omitempty"` // why there is no summary
	Skill   string      `json:"skill,omitempty"`   // which was named
}

// Waiting is an input that waits for its turn.
type Waiting struct {
	Input     string          `json:"input"`
	Rev       uint64          `json:"rev"`
	At        events.Time     `json:"at"`
	Mode      events.SendMode `json:"mode"`
	By        string          `json:"by,omitempty"`
	Text      string          `json:"text"` // its beginning
	Truncated bool            `json:"truncated,omitempty"`
}
