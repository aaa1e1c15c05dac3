package chat

import (
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// FoldVersion numbers the form of the folded state. Snapshots of another
// version are not read.
const FoldVersion = 2

const (
	// ringCommands is how many decided commands a chat remembers the outcome of.
	ringCommands = 256
	// ringSettings is how many bodies of settings a chat remembers.
	ringSettings = 8
)

// State is a chat folded from its log. The zero State is a chat that does not
// exist.
//
// A State is a value: Apply returns a new one and leaves the old as it was, so
// both may be used, from any goroutine. Parts of them are shared.
type State struct {
	f fields

	// Not part of what a state is, only of where it stands in its log: both
	// change when a commit's clock does.
	prev string
	at   events.Time

	// path is the path to the tip, without the open turn; of that one's parent if
	// there is one. It follows from the rest.
	path []*turn

	// What was computed of the past and need not be again. No answer depends on it.
	hashed *hashed

	wrong string // see Wrong
}

// fields is the explicit, sorted JSON form of a state. Every slice in it is
// replaced, never written to.
type fields struct {
	Tenant   string            `json:"tenant"`
	Chat     string            `json:"chat"`
	Rev      uint64            `json:"rev"`
	Created  uint64            `json:"created"`
	Decided  uint64            `json:"decided"`            // see [State.Decided]
	Commands []*protocol.Reply `json:"commands,omitempty"` // copied for each command, so without what they hold
	Settings events.Settings   `json:"settings"`
	Modes    int               `json:"modes,omitempty"` // how often an approval mode was set
	Bodies   []body            `json:"bodies,omitempty"`
	Archived bool              `json:"archived"`
	Plan     bool              `json:"plan,omitempty"`      // turns are to plan only, from the next one on
	Allowed  []allowed         `json:"allowed,omitempty"`   // calls that were approved for the whole chat, the newest last
	Waiting  []input           `json:"waiting,omitempty"`   // in the order they will be taken
	Past     []*turn           `json:"past,omitempty"`      // ended turns, oldest first
	Current  *turn             `json:"current,omitempty"`   // the open turn
	Aside    *step             `json:"aside,omitempty"`     // the step outside of any turn that is under way
	Asides   int               `json:"asides"`              // how many steps outside of any turn there were
	Naming   naming            `json:"naming,omitempty"`    // how far it has come to a title
	NoTitler string            `json:"no_titler,omitempty"` // the newest model that was to bring one and is none
	Spent    events.Spending   `json:"spent"`               // by all attempts, those outside of any turn too
	Accepted int               `json:"accepted,omitempty"`  // attempts of unknown cost that were accepted for the chat

	// Artifacts are how far each artifact has come, in the order of their first
	// versions.
	Artifacts []artifact `json:"artifacts,omitempty"`

	// Tip is the turn that the next one follows, 0 for none: the newest one, unless
	// another branch was selected since that was started.
	Tip int `json:"tip"`

	// Sibling is a turn that is due when the open one has ended.
	Sibling *sibling `json:"sibling,omitempty"`

	// Inherited is the newest turn that the chat has from another one.
	Inherited int `json:"inherited,omitempty"`

	// Boundaries are where what models are shown begins, the newest last: see
	// [State.boundary]. Between them stands which outputs were left out. All of them
	// stay, as the turns do that they are about: any branch may be selected again, and
	// nothing says how far somebody will go back.
	Boundaries []*boundary `json:"boundaries,omitempty"`
	Measured   measured    `json:"measured"`
	Compacted  bool        `json:"compacted"`          // by a summary, by itself, and nothing was answered since
	LeftOut    uint64      `json:"left_out,omitempty"` // rev of the commit that left outputs out, if nothing was answered since

	// Stalled is a chat whose last turn failed: what waits keeps waiting until a
	// person sends or retries.
	Stalled bool `json:"stalled"`

	// Forgotten are the traces of the decided commands that Commands has no more, the
	// oldest first.
	Forgotten [][]byte `json:"forgotten,omitempty"`

	// Spawned is set in a chat that works for another.
	Spawned *spawnedBy `json:"spawned,omitempty"`

	Erasure *erasure `json:"erasure,omitempty"` // of a chat that is to be erased, or was
}

// body is a set of settings that a turn.started wrote out.
type body struct {
	Digest    events.Digest    `json:"digest"`
	Effective events.Effective `json:"effective"`
}

// input is what a user said.
type input struct {
	ID       string           `json:"id"`
	Parts    []events.Part    `json:"parts,omitempty"`
	Mode     events.SendMode  `json:"mode"`
	Settings *events.Settings `json:"settings,omitempty"`

	// Modes is how often an approval mode had been set when the input came.
	Modes int `json:"modes,omitempty"`

	// Rolls is the turn that ran when the input came to take it back. The next turn
	// does not follow that one, unless another branch is selected by then.
	Rolls int `json:"rolls,omitempty"`
}

// ending says how a turn ended; empty means it has not.
type ending string

const (
	endedCompleted   ending = "completed"
	endedFailed      ending = "failed"
	endedInterrupted ending = "interrupted"
)

type turn struct {
	Number   int              `json:"number"`
	Parent   int              `json:"parent"`
	Again    int              `json:"again,omitempty"` // the turn beside which it was started
	Cause    events.TurnCause `json:"cause"`
	Inputs   []input          `json:"inputs,omitempty"`
	Steered  []steered        `json:"steered,omitempty"`
	Skills   []activeSkill    `json:"skills,omitempty"` // that people named in it
	Settings events.Digest    `json:"settings"`
	Rules    int              `json:"rules"`
	Steps    []*step          `json:"steps,omitempty"`
	Attempts int              `json:"attempts"`
	Calls    int              `json:"calls,omitempty"`
	Usage    events.Usage     `json:"usage"`
	Spent    events.Spending  `json:"spent"`

	Allowance allowance `json:"allowance"`

	Ended  ending        `json:"ended"`
	Finish events.Finish `json:"finish,omitempty"`

	Message string `json:"message,omitempty"` // why it failed

	// Approval is the mode that was set while the turn runs; empty: that of its settings.
	Approval events.ApprovalMode `json:"approval,omitempty"`

	// Interrupted is when the end timer is due; zero while nobody interrupts.
	Interrupted events.Time `json:"interrupted,omitempty"`
	Reason      string      `json:"reason,omitempty"`

	shown *shown // of an ended turn
}

// phase says where a step stands.
type phase string

const (
	phaseOpen        phase = "open"      // an attempt is under way
	phaseWaiting     phase = "waiting"   // for the retry timer
	phaseCrashed     phase = "crashed"   // the next attempt is due at once
	phaseFailed      phase = "failed"    // for good
	phaseTooLarge    phase = "too_large" // the next attempt is due when the context is compacted
	phaseInterrupted phase = "interrupted"
	phaseCompleted   phase = "completed"
	phaseDone        phase = "done" // what it was asked for stands in an event of its own
)

type step struct {
	Number  int               `json:"number"`
	Purpose events.Purpose    `json:"purpose"`
	Phase   phase             `json:"phase"`
	Attempt int               `json:"attempt"`
	Rev     uint64            `json:"rev"` // of the commit that requested the attempt
	Quick   int               `json:"quick"`
	Model   string            `json:"model"`
	Pool    string            `json:"pool"`
	RetryAt events.Time       `json:"retry_at,omitempty"`
	Class   events.ErrorClass `json:"class,omitempty"`
	Message string            `json:"message,omitempty"`
	Parts   []events.Part     `json:"parts,omitempty"`
	Stop    events.Stop       `json:"stop,omitempty"`
	Calls   []call            `json:"calls,omitempty"`
	Action  *action           `json:"action,omitempty"` // what the client was asked to do

	// Until is the last thing that a summary is about.
	Until *events.Boundary `json:"until,omitempty"`

	// Call is what a review is about, and Due when a person is asked instead.
	Call *events.CallID `json:"call,omitempty"`
	Due  events.Time    `json:"due,omitempty"`
}

type call struct {
	Ordinal   int           `json:"ordinal"`
	WireID    string        `json:"wire_id"` // towards providers; no other call of the chat has it
	Tool      string        `json:"tool"`
	Arguments string        `json:"arguments"`
	Blob      events.Digest `json:"blob,omitempty"` // in place of large arguments

	Question *question `json:"question,omitempty"` // what it asks a person
	Heard    []heard   `json:"heard,omitempty"`    // what a person answered a runner that has it
	Asked    bool      `json:"asked,omitempty"`    // the client was asked to run it; likewise
	Edited   bool      `json:"edited,omitempty"`   // the arguments are not the model's
	Masked   bool      `json:"masked,omitempty"`   // its output is shown to no model

	Child *child `json:"child,omitempty"` // the chat that works for it; likewise

	Approval  *approval  `json:"approval,omitempty"`
	Requested *requested `json:"requested,omitempty"`
	Started   *started   `json:"started,omitempty"`
	Starts    int        `json:"starts"`
	Result    *result    `json:"result,omitempty"`
}

// requested is a call that was handed out.
type requested struct {
	Rev        uint64        `json:"rev"`
	Group      string        `json:"group"`
	Manifest   events.Digest `json:"manifest"`
	Idempotent bool          `json:"idempotent"`
	ReadOnly   bool          `json:"read_only"`
	TimeoutMS  int64         `json:"timeout_ms"`
	Deadline   events.Time   `json:"deadline"`
}

// started is the newest licence given for a call.
type started struct {
	Claim    string      `json:"claim"`
	Delivery uint64      `json:"delivery"`
	Runner   string      `json:"runner"`
	At       events.Time `json:"at"`
}

type result struct {
	Status  events.ToolStatus `json:"status"`
	Parts   []events.Part     `json:"parts,omitempty"`
	IsError bool              `json:"is_error"`
}

// Exists reports whether the chat was created.
func (s State) Exists() bool { return s.f.Rev > 0 }

// Key names the chat.
func (s State) Key() events.Key { return events.Key{Tenant: s.f.Tenant, Chat: s.f.Chat} }

// Wrong says why a commit that was folded makes no sense, such as one with the
// result of a call that was never made; empty if all do. No release writes such a
// commit. A state with one is of no use: what it owes or shows would be made up.
func (s State) Wrong() string { return s.wrong }

// Rev is the number of the last commit folded.
func (s State) Rev() uint64 { return s.f.Rev }

// Prev is the hash of the last commit folded, for the next one to name.
func (s State) Prev() string { return s.prev }

// At is the time of the last commit folded; the next one's is not before it.
func (s State) At() events.Time { return s.at }

// OpenTurn is the number of the turn that runs and when it began; false if none does.
func (s State) OpenTurn() (number int, began events.Time, open bool) {
	t := s.f.Current
	if t == nil {
		return 0, 0, false
	}
	return t.Number, t.Allowance.Began, true
}

// Created is the sequence in COMMANDS of the command that created the chat.
func (s State) Created() uint64 { return s.f.Created }

// Decided is the sequence in COMMANDS of the last command that was decided, 0 if
// none was. Commands are decided in the order in which they are stored, so none
// up to there is still to be decided, also when its outcome is forgotten.
func (s State) Decided() uint64 { return s.f.Decided }

// Outcome is what was decided about a command, if it is among the newest 256.
func (s State) Outcome(command string) (protocol.Reply, bool) {
	for i := range slices.Backward(s.f.Commands) { // the newest are asked for most
		if s.f.Commands[i].ID == command {
			return *s.f.Commands[i], true
		}
	}
	return protocol.Reply{}, false
}

// Running is the number of the open turn.
func (s State) Running() (int, bool) {
	if s.f.Current == nil {
		return 0, false
	}
	return s.f.Current.Number, true
}

// Interrupting reports whether the open turn is on its way to turn.interrupted.
func (s State) Interrupting() bool {
	return s.f.Current != nil && s.f.Current.Interrupted != 0
}

// InterruptingStep reports whether that step is one of a turn on its way to
// turn.interrupted.
func (s State) InterruptingStep(id events.StepID) bool {
	return s.Interrupting() && id.Turn == s.f.Current.Number
}

// OpenAttempt is the attempt whose outcome is awaited: that of the open turn, or
// else the one outside of any turn.
func (s State) OpenAttempt() (events.StepID, int, bool) {
	if t, st := s.pending(); st != nil && st.Phase == phaseOpen {
		return events.StepID{Turn: t.Number, Step: st.Number}, st.Attempt, true
	}
	if st := s.f.Aside; st != nil && st.Phase == phaseOpen {
		return events.StepID{Step: st.Number}, st.Attempt, true
	}
	return events.StepID{}, 0, false
}

// AttemptOpen reports whether the outcome of that attempt is awaited.
func (s State) AttemptOpen(id events.StepID, attempt int) bool {
	st := s.step(id)
	return st != nil && st.Phase == phaseOpen && st.Attempt == attempt
}

// CallOpen reports whether the call was handed out and has no result.
func (s State) CallOpen(id events.CallID) bool {
	c := s.call(id)
	return c != nil && c.Requested != nil && c.Result == nil
}

// Effective is what the turn at the tip runs, or ran, with.
func (s State) Effective() (events.Effective, bool) {
	t := s.tip()
	if t == nil {
		return events.Effective{}, false
	}
	return s.effective(t), true
}

// effective gives the settings of a turn. Of one that is so old that they are not
// remembered, the newest stand in for them.
func (s State) effective(t *turn) events.Effective {
	for i := range slices.Backward(s.f.Bodies) {
		if s.f.Bodies[i].Digest == t.Settings {
			return s.f.Bodies[i].Effective
		}
	}
	if n := len(s.f.Bodies); n > 0 {
		return s.f.Bodies[n-1].Effective
	}
	return events.Effective{}
}

// lastStep is the open turn and the newest of its steps that answer; both may be
// nil.
func (s State) lastStep() (*turn, *step) {
	t := s.f.Current
	if t == nil {
		return nil, nil
	}
	return t, t.lastAnswer()
}

// call is a call of the newest step of the open turn: no other can be open.
func (s State) call(id events.CallID) *call {
	t, st := s.lastStep()
	if st == nil || t.Number != id.Turn || st.Number != id.Step {
		return nil
	}
	if id.Ordinal < 1 || id.Ordinal > len(st.Calls) {
		return nil
	}
	return &st.Calls[id.Ordinal-1]
}

func (t *turn) callID(st *step, c *call) events.CallID {
	return events.CallID{Turn: t.Number, Step: st.Number, Ordinal: c.Ordinal}
}

func (t *turn) totals() events.Totals {
	return events.Totals{Steps: len(t.Steps), Attempts: t.Attempts, Calls: t.Calls, Usage: t.Usage}
}

func (c *call) open() bool { return c.Result == nil }

// settledWithout says what an open call comes to when nobody can tell: cancelled
// (or timeout) only if the effect certainly did not happen.
func (c *call) settledWithout(certainly events.ToolStatus) events.ToolStatus {
	r := c.Requested
	if r == nil || r.ReadOnly || !r.Idempotent && c.Started == nil {
		return certainly
	}
	return events.ToolUnknown
}
