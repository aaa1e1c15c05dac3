// Package orchestrator moves chats forward: it takes what clients want, what
// models and tools came to and which timers are due, decides, writes down what
// follows, and sees to it that what is owed gets done.
//
// There is one rule for every message:
//
//	load, decide, commit, dispatch, answer, acknowledge
//
// A message is acknowledged only when everything it caused is stored. Whatever
// stops in between, a process or a server, is made good by the next delivery of
// the same message: deciding it again changes nothing, and dispatching again
// changes nothing. Any number of orchestrators work on one log. They do not
// know of each other; the fence of each append is all that keeps order.
//
// The package speaks to the outside through the ports of [Bus] only and knows
// no NATS, so the same loops run on a server and in a simulation.
package orchestrator
