package events

import (
	"cmp"
	"time"
)

// Settings are what a user may choose for a chat or a single input. Every field
// is optional: a missing one is taken from the chat, then from the agent, then
// from the defaults.
type Settings struct {
	// Agent names settings that operators keep. They hold for every other field
	// that is missing here.
	Agent string `json:"agent,omitempty"`

	Model  string `json:"model,omitempty"`
	System string `json:"system,omitempty"`

	// Tools names the tools the model may call. Nil means every tool that is
	// offered; empty means none.
	Tools *[]string `json:"tools,omitempty"`

	// Skills names the skills that the model is offered. Nil means all of them, unless
	// Tools has names and that of the tool that shows skills is not among them; empty
	// means none.
	Skills *[]string `json:"skills,omitempty"`

	Approval ApprovalMode `json:"approval,omitempty"`
	Limits   *Limits      `json:"limits,omitempty"`

	// Budget bounds what a turn may spend. When it is used up the turn waits until
	// somebody extends it.
	Budget *Budget `json:"budget,omitempty"`

	// ChatBudget bounds what all turns of the chat may spend together. It has no bound
	// of time, and is no single input's.
	ChatBudget *Budget `json:"chat_budget,omitempty"`

	// Reviewer is the model that judges calls whose tool has the policy review, in mode
	// auto. It approves one, or a person is asked. [ReviewerNone] is none, and so every
	// such call asks a person.
	Reviewer string `json:"reviewer,omitempty"`

	// Titler is the model that proposes a title for the chat when its first turn is
	// completed. [TitlerNone] is none.
	Titler string `json:"titler,omitempty"`

	// ClientTools are tools that the client runs itself. They are offered to the
	// model beside the others, whatever Tools names; nil means those of the chat.
	ClientTools *[]ClientTool `json:"client_tools,omitempty"`
}

// ReviewerNone stands in settings for no model that reviews, where others name one.
const ReviewerNone = "none"

// TitlerNone stands in settings for no model that proposes titles, where others name
// one.
const TitlerNone = "none"

// Limits bound a turn. Zero means the default.
type Limits struct {
	Steps        int `json:"steps,omitempty"`         // steps since the last user input; default [MaxStepsPerTurn]
	OutputTokens int `json:"output_tokens,omitempty"` // of one step; default the model's

	// ApprovalMS is how long a call waits for somebody to approve it before it is
	// denied; default [DefaultApprovalTime], at most [MaxApprovalTime].
	ApprovalMS int64 `json:"approval_ms,omitempty"`
}

// Merge is s with every field that over sets taken from over.
func (s Settings) Merge(over Settings) Settings {
	if over.Agent != "" {
		s.Agent = over.Agent
	}
	if over.Model != "" {
		s.Model = over.Model
	}
	if over.System != "" {
		s.System = over.System
	}
	if over.Tools != nil {
		s.Tools = over.Tools
	}
	if over.Skills != nil {
		s.Skills = over.Skills
	}
	if over.ClientTools != nil {
		s.ClientTools = over.ClientTools
	}
	if over.Approval != "" {
		s.Approval = over.Approval
	}
	if over.Reviewer != "" {
		s.Reviewer = over.Reviewer
	}
	if over.Titler != "" {
		s.Titler = over.Titler
	}
	s.Budget, s.ChatBudget = mergedBudget(s.Budget, over.Budget), mergedBudget(s.ChatBudget, over.ChatBudget)
	if over.Limits != nil {
		merged := Limits{}
		if s.Limits != nil {
			merged = *s.Limits
		}
		if over.Limits.Steps != 0 {
			merged.Steps = over.Limits.Steps
		}
		if over.Limits.OutputTokens != 0 {
			merged.OutputTokens = over.Limits.OutputTokens
		}
		if over.Limits.ApprovalMS != 0 {
			merged.ApprovalMS = over.Limits.ApprovalMS
		}
		s.Limits = &merged
	}
	return s
}

func mergedBudget(b, over *Budget) *Budget {
	if b == nil || over == nil {
		return cmp.Or(over, b)
	}
	return new(b.Merge(*over))
}

// ApprovalTime is how long a call waits for somebody to approve it.
func (l Limits) ApprovalTime() time.Duration {
	if l.ApprovalMS == 0 {
		return DefaultApprovalTime
	}
	return time.Duration(l.ApprovalMS) * time.Millisecond
}

// ApprovalMode says which calls need a person.
type ApprovalMode string

// The approval modes.
const (
	ApprovalAsk  ApprovalMode = "ask"  // every call that is not read-only
	ApprovalAuto ApprovalMode = "auto" // what the tool's policy says
	ApprovalFull ApprovalMode = "full" // nothing needs approval
)

// Policy is a tool's own wish about approval.
type Policy string

// The policies.
const (
	PolicyAllow  Policy = "allow"
	PolicyAsk    Policy = "ask"
	PolicyReview Policy = "review"
)

// Effective is what a turn runs with: settings merged and tools resolved when
// the turn started, so that a replay reads no live configuration.
type Effective struct {
	Agent   string `json:"agent,omitempty"`    // whose settings are among these
	NoAgent bool   `json:"no_agent,omitempty"` // there was none of that name: the turn fails

	Model    string       `json:"model"`
	Pool     string       `json:"pool"` // which workers ask the model
	System   string       `json:"system,omitempty"`
	Tools    []Tool       `json:"tools,omitempty"` // ordered by name
	Approval ApprovalMode `json:"approval"`
	Limits   Limits       `json:"limits"`

	// Skills are those the model is told of, ordered by name.
	Skills []Skill `json:"skills,omitempty"`

	// ClientTools describes those among Tools that the client runs itself.
	ClientTools []ClientTool `json:"client_tools,omitempty"`

	// Window is how many tokens the model takes, 0 if nobody knows.
	Window int64 `json:"window,omitempty"`

	// CompactAt is how much of the window may be used before older messages are
	// replaced by a summary, in percent; 100 never. 0 means 70 with a window, and
	// without one never.
	CompactAt int `json:"compact_at,omitempty"`

	// Reviewer is the model that judges calls whose tool has the policy review, empty
	// for none.
	Reviewer     string `json:"reviewer,omitempty"`
	ReviewerPool string `json:"reviewer_pool,omitempty"` // which workers ask it

	// Titler is the model that proposes a title when the turn is completed, if the chat
	// has none then and no model was asked for one before; empty for none.
	Titler     string `json:"titler,omitempty"`
	TitlerPool string `json:"titler_pool,omitempty"` // which workers ask it

	// Plan says that the turn plans only: its model is told so at the end of what it
	// reads, and Tools has nothing that would change something unasked.
	Plan bool `json:"plan,omitempty"`

	Budget     Budget `json:"budget,omitzero"`      // of the turn
	ChatBudget Budget `json:"chat_budget,omitzero"` // of all turns of the chat
}

// Tool is a tool as a turn may use it. Its description and schema are in the
// manifest; the flags stand here because operators may set them otherwise than
// the manifest, and a decision must read only the log.
type Tool struct {
	Name       string `json:"name"`
	Group      string `json:"group"`
	Manifest   Digest `json:"manifest"`
	ReadOnly   bool   `json:"read_only,omitempty"`
	Idempotent bool   `json:"idempotent,omitempty"`
	Parallel   bool   `json:"parallel,omitempty"`
	Exclusive  bool   `json:"exclusive,omitempty"`
	StopAfter  bool   `json:"stop_after,omitempty"`
	TimeoutMS  int64  `json:"timeout_ms"`
	Policy     Policy `json:"policy"`
	Client     bool   `json:"client,omitempty"` // the client runs it, and no runner
}
