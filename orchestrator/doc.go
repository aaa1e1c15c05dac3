// Package orchestrator moves chats forward: it takes what clients want, what
// models and tools came to and which timers are due, decides, writes down what
// follows, and sees to it that what is owed gets done.
//
// Whatever the message, six things happen in this order:
//
//	load, decide, commit, dispatch, answer, acknowledge
//
// The last of them removes the message, so until then nothing can get lost:
// whatever stops in between, a process or a server, is made good by the next
// delivery, because deciding it again changes nothing, and dispatching again
// changes nothing. Any number of orchestrators work on one log. They do not
// know of each other; the fence of each append is all that keeps order.
//
// The package speaks to the outside through the ports of [Bus] only and knows
// no NATS, so the same loops run on a server and in a simulation.
package orchestrator
