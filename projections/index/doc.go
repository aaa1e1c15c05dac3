// Package index keeps what can be asked across chats: which there are, what was said
// in them, what they used, and what waits for somebody.
//
// It reads every commit of every LOG stream, in the order of each, and keeps what
// follows from them in an SQLite file of its own. The place it has read to stands in
// the same transaction as the rows, so a process that dies goes on with neither a hole
// nor a repetition. Nothing in the file is a fact: it can be built again from the logs
// at any time, and is when it is missing, or when this release folds otherwise.
//
// It never waits for a value to become storable: where something cannot be kept, it is
// repaired with a visible mark; a commit that makes no sense is set aside with its
// reason; and the next one is read.
package index
