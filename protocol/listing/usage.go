package listing

import "github.com/everturn/everturn/events"

// UsageBy says what usage is told apart by.
type UsageBy string

// What there is to choose from.
const (
	ByDay   UsageBy = "day"
	ByModel UsageBy = "model"
	ByAgent UsageBy = "agent"
	ByChat  UsageBy = "chat"
)

// UsageRequest asks what models were asked for by a tenant's chats. Days are those of
// UTC.
type UsageRequest struct {
	V     int     `json:"v,omitempty"`
	By    UsageBy `json:"by,omitempty"`    // default day
	From  string  `json:"from,omitempty"`  // the first day, as 2026-11-30
	To    string  `json:"to,omitempty"`    // the last day
	Chat  string  `json:"chat,omitempty"`  // only this chat
	Model string  `json:"model,omitempty"` // only this model
	Agent string  `json:"agent,omitempty"` // only this agent
	After Cursor  `json:"after,omitempty"` // the next of an answer
	Limit int     `json:"limit,omitempty"` // how many rows at most; default 50
}

// Usage is a page of what was used. Total is of all pages.
type Usage struct {
	Rows  []Spent `json:"rows"` // by their keys, upwards
	Total Spent   `json:"total"`
	Next  Cursor  `json:"next,omitempty"`
}

// Spent is what was used. What a chat was forked or imported with was used elsewhere,
// and is not counted again.
type Spent struct {
	Key      string       `json:"key,omitempty"` // the day, model, agent or chat; empty for no agent, and for the total
	Attempts int64        `json:"attempts"`      // failed ones, too
	Usage    events.Usage `json:"usage"`

	// CostMicros is what is known of the cost, in millionths of the price table's
	// currency. Unpriced attempts used tokens whose cost nobody knows: if there are
	// any, CostMicros is only the least that was spent.
	CostMicros int64 `json:"cost_micros"`
	Unpriced   int64 `json:"unpriced,omitempty"`
}
