package transcript

import "github.com/everturn/everturn/events"

// Approval is what a call waits for, and what was decided.
type Approval struct {
	Mode      events.ApprovalMode `json:"mode"`   // by which it was judged
	Policy    events.Policy       `json:"policy"` // of its tool
	Arguments events.Digest       `json:"arguments"`
	Due       events.Time         `json:"due"` // when it is denied without an answer

	Review *events.Review `json:"review,omitempty"` // what a model said that was asked first

	Decision    events.ApprovalDecision `json:"decision,omitempty"` // empty while it waits
	By          events.Resolver         `json:"by,omitempty"`
	User        string                  `json:"user,omitempty"`
	Scope       events.ApprovalScope    `json:"scope,omitempty"`
	Reason      string                  `json:"reason,omitempty"`
	Permissions events.Permissions      `json:"permissions,omitzero"`
}
