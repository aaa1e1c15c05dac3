// Package projections reads logs and answers questions about chats.
//
// A transcript is a fold of its own: what people see never enters the state that
// decisions are made from. It is folded from the log when somebody asks, kept in
// a bounded cache and caught up from there, so it is as current as the log at
// the moment of the question, and losing it costs time only.
package projections
