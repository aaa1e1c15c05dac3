// Package chat is the pure middle of Everturn: what a chat is, what may happen
// to it, what must happen next, and what the model gets to read.
//
// It knows no clock, no network and no NATS. Times, configuration and the words
// of the outside come in as arguments; facts go out. So a chat can be decided
// again anywhere, by anyone, from its log alone:
//
//	state    = Apply(commit) over the log
//	facts    = Handle(state, message, now, live)
//	to do    = Owed(state)
//	to show  = Prompt(state)
//
// What is owed is derived from the state and remembered nowhere else. Recovery
// after a crash is therefore no special path: load, and do what is owed.
package chat
