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
// Nothing but the state says what is still to do, so a process that takes over
// from one that was killed does what it would have done anyway.
package chat
