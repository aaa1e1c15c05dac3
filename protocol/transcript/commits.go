package transcript

import "encoding/json"

// QueryCommits asks for commits as they are stored.
const QueryCommits = "commits"

// CommitsRequest asks for the commits of a chat with After < rev <= Through.
type CommitsRequest struct {
	V       int    `json:"v,omitempty"`
	Chat    string `json:"chat"`
	After   uint64 `json:"after,omitempty"`   // a rev that the chat has reached; default 0: from the first on
	Through uint64 `json:"through,omitempty"` // default, and at most, the chat's newest
	Limit   int    `json:"limit,omitempty"`   // how many at most; default 100
}

// Commits are a page of a chat's commits, in order: the answer to the query
// "commits".
//
// Each is given byte for byte as it is stored. That each goes on from the one before
// is for the reader to check: the SHA-256 of a commit is the prev of the next. What a
// fork or an import goes on from is not among them: its first commit names it.
type Commits struct {
	Chat    string            `json:"chat"`
	Rev     uint64            `json:"rev"` // of the chat's newest commit, wherever the page ends
	Commits []json.RawMessage `json:"commits"`

	// Next is what to put into the next request's after; 0 if there is no more.
	Next uint64 `json:"next,omitempty"`
}
