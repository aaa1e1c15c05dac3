package events

// ApprovalDecision is what became of the question whether a call may run.
type ApprovalDecision string

// The decisions.
const (
	ApprovalApproved  ApprovalDecision = "approved"
	ApprovalDenied    ApprovalDecision = "denied"
	ApprovalCancelled ApprovalDecision = "cancelled" // nobody decided: the call was closed for another reason
)

// Resolver says who or what made a decision.
type Resolver string

// The resolvers.
const (
	ResolvedByUser     Resolver = "user"
	ResolvedByModel    Resolver = "model"
	ResolvedByRule     Resolver = "rule" // what was said before: the same call for this chat, the mode, the turn's end
	ResolvedByDeadline Resolver = "deadline"
)

// ApprovalScope says for how many calls a decision holds.
type ApprovalScope string

// The scopes.
const (
	ScopeCall ApprovalScope = "call" // for this one
	ScopeChat ApprovalScope = "chat" // and for the same tool with the same arguments, later in this chat
)

// ApprovalRequested says that a call waits for somebody to approve it. Calls of
// its step that need nobody run meanwhile. The mode and the policy are those that
// it was judged by.
type ApprovalRequested struct {
	Call      CallID       `json:"call"`
	Tool      string       `json:"tool"`
	Arguments Digest       `json:"arguments"` // of the arguments as the model wrote them; empty ones are {}
	Mode      ApprovalMode `json:"mode"`
	Policy    Policy       `json:"policy"`
	Due       Time         `json:"due"` // when it is denied because nobody has answered

	// Review is what a model came to that was asked first. If it approves the call,
	// the decision follows at once, and no person is asked.
	Review *Review `json:"review,omitempty"`
}

// Review is what came of asking a model whether a call may run. It never denies: it
// approves, or leaves it to a person.
type Review struct {
	Step   StepID     `json:"step"`             // in which the model was asked
	Reason string     `json:"reason,omitempty"` // what it says, or why it says nothing
	Class  ErrorClass `json:"class,omitempty"`  // of the failure, if the step failed
}

// ApprovalResolved says what was decided about a call that waited. Each request has
// one, in the commit of the call's result at the latest, and the first one holds.
//
// What the model asked for stays in its step.completed: Edited is what somebody made
// of the arguments, and what runs.
type ApprovalResolved struct {
	Call      CallID           `json:"call"`
	Arguments Digest           `json:"arguments"` // of the arguments that were asked about
	Decision  ApprovalDecision `json:"decision"`
	By        Resolver         `json:"by"`
	User      string           `json:"user,omitempty"` // who, as the sender says
	Scope     ApprovalScope    `json:"scope,omitempty"`
	Reason    string           `json:"reason,omitempty"`

	// Edited is the call with other arguments, as one part; empty if they stayed
	// as they were.
	Edited []Part `json:"edited,omitempty"`

	// Permissions are granted together with the call, and handed to its runner.
	Permissions Permissions `json:"permissions,omitzero"`
}

// Permissions are what a call may do beyond what its tool may by itself.
type Permissions struct {
	Grants []string `json:"grants,omitempty"` // names; what they mean is the tool's
}

// ModeSet says which calls need a person from now on: those of the open turn that
// are not judged yet, what waits already, and all later turns, until somebody asks
// for another mode. What was said in another one before does not bring that back.
//
// With Plan it also says, or only, whether turns plan, from the next one on: the
// model is told to change nothing yet, and has no tool that would. What is left out
// stays as it was.
type ModeSet struct {
	Approval ApprovalMode `json:"approval,omitempty"`
	Plan     *bool        `json:"plan,omitempty"` // the model changes nothing yet, from the next turn on
	By       string       `json:"by,omitempty"`
}

// EventType implements [Event].
func (ApprovalRequested) EventType() Type { return "approval.requested.v1" }
func (ApprovalRequested) sealed()         {}

// EventType implements [Event].
func (ApprovalResolved) EventType() Type { return "approval.resolved.v1" }
func (ApprovalResolved) sealed()         {}

// EventType implements [Event].
func (ModeSet) EventType() Type { return "mode.set.v1" }
func (ModeSet) sealed()         {}
