// Package transcript is how a chat is shown to people: what the queries about it
// ask and answer. Projections fold it from the log; clients read it.
package transcript
