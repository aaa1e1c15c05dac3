// Package toolrunner executes tools for chats and reports what they came to.
//
// A [Runner] takes calls from the queue of its group, asks an orchestrator for
// the licence to run each of them, runs the tool and sends the result until it
// has been answered. It keeps nothing on disk: whatever happens to the process,
// the queue hands the call to another one, and the licence decides whether it
// may run again.
//
// To offer tools of your own, implement [Tool], or wrap a function with [Func],
// and give them to [New]. Package tools below has a few that are ready to use.
package toolrunner
