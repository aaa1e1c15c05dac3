package transcript

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/everturn/everturn/events"
)

// Names of the queries.
const (
	QueryPage    = "transcript"
	QueryHead    = "chat"
	QueryCommand = "command"

	QueryBranches = "branches"
)

// Request asks for a page of a chat's messages.
type Request struct {
	V      int    `json:"v,omitempty"`
	Chat   string `json:"chat"`
	At     Point  `json:"at,omitzero"`       // as it was then; default now
	MinRev uint64 `json:"min_rev,omitempty"` // wait for that commit, for 2 s at most
	After  int    `json:"after,omitempty"`   // messages with a higher number
	Limit  int    `json:"limit,omitempty"`   // how many at most; default 100
	Branch int    `json:"branch,omitempty"`  // up to the end of that turn, whatever branch is selected
}

// BranchesRequest asks which branches a chat has.
type BranchesRequest struct {
	V      int    `json:"v,omitempty"`
	Chat   string `json:"chat"`
	MinRev uint64 `json:"min_rev,omitempty"`
}

// HeadRequest asks for a chat's head.
type HeadRequest struct {
	V      int    `json:"v,omitempty"`
	Chat   string `json:"chat"`
	MinRev uint64 `json:"min_rev,omitempty"`
}

// CommandRequest asks what was decided about a command.
type CommandRequest struct {
	V    int    `json:"v,omitempty"`
	Chat string `json:"chat"`
	ID   string `json:"id"`
}

// Point is a point of a chat's log: a rev, in JSON a number, or a time, in JSON
// a string. The zero Point is the log's end.
type Point struct {
	Rev  uint64
	Time events.Time
}

// IsZero reports whether p is the log's end.
func (p Point) IsZero() bool { return p == Point{} }

// MarshalJSON implements [json.Marshaler].
func (p Point) MarshalJSON() ([]byte, error) {
	if p.Time != 0 {
		return json.Marshal(p.Time)
	}
	return strconv.AppendUint(nil, p.Rev, 10), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *Point) UnmarshalJSON(b []byte) error {
	*p = Point{}
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &p.Time)
	}
	rev, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil || rev == 0 {
		return errors.New("at: want a rev from 1 on, or a time")
	}
	p.Rev = rev
	return nil
}
