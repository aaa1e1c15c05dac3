// Package sim tries to break the product: it runs the real orchestrators and
// tool runners, several of each, on a bus in memory, in time that is not real,
// and decides by one number, the seed, what happens next and what goes wrong.
//
// Everything a process asks of the bus is an operation that waits until the
// simulation lets it happen, and the simulation waits until no process can do
// anything more by itself. So there is exactly one order of things for a seed,
// and a seed that fails will fail again.
//
// What a process does by itself is done by several goroutines, and which of them
// runs first is not the simulation's choice. It makes no difference as long as those
// that run in one instant can be told apart by what they ask of the bus: by the
// operation, by the way of the code that came to it, and by the message because of
// which it is done. And things that take time end in instants of their own: what a
// model or a tool takes is never a whole number of milliseconds, and operations whose
// contexts end at once fail one after the other.
//
// In a run clients say and stop things at odd moments, models answer, fail,
// fall silent or break off, tools work, hang or panic; operations are refused,
// or done without an answer, or done much later; messages come twice, late or
// never; processes die between any two operations and come back knowing
// nothing, stand still and go on, and have clocks that differ. After a while
// nothing goes wrong any more. Then everything must come to rest, and the logs,
// the ledger of effects and the queues are judged.
package sim
