// Package streams speaks NATS, so that no other part has to.
//
// It has two halves. The topology is streams.yaml: every stream, consumer,
// bucket and object store with its limits, how it is compared with a server and
// applied. The bus is what runs over it: one file and type for each job, which
// together fit the ports that the loops declare, without knowing the loops.
//
// Rules that hold in every job: what a decision rests on is read from the
// stream's leader; a fence is on one literal subject; nothing rests on message
// ids; whatever may have missed a message says so with an error; and no message
// is on its way to somebody who has not asked for it.
package streams
