package events

// Type is the wire name of an event with its version: "tool.completed.v1".
// It is chosen by hand and outlives the Go type.
type Type string

// Event is one fact about a chat, in the past tense. Events are values: nobody
// changes one after it was decided.
//
// The set is closed. A switch over it lists every case and has no default, so
// that the sum-type checker names the case a new event still lacks.
//
//sumtype:decl
type Event interface {
	// EventType is the wire name under which the event is stored.
	EventType() Type
	sealed()
}
