// Package bench measures Everturn against the least it could cost.
//
// The workload is the one-tool turn: an input of 1 KiB, a step of 1 KiB of text
// with one call, a tool that does nothing in a process of its own and answers
// 1 KiB, and a last step of 1 KiB. The model is scripted and takes no time.
//
// The floor is the same turn without Everturn: the same publishes behind the
// same fences, the same deliveries of work and acknowledgements, of the same
// sizes, to the same kinds of streams, with nothing decided in between. Chats are
// made in both, one for every few turns. They run in turns in one process, each
// time with a server and a store of their own, so that a machine that is busy
// slows both and neither pays for the other.
package bench
