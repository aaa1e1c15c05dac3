package projections

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// TranscriptRequest asks for a page of a chat's messages.
type TranscriptRequest struct {
	V      int    `json:"v,omitempty"`
	Chat   string `json:"chat"`
	At     Point  `json:"at,omitzero"`       // as it was then; default now
	MinRev uint64 `json:"min_rev,omitempty"` // wait for that commit, for 2 s at most
	After  int    `json:"after,omitempty"`   // messages with a higher number
	Limit  int    `json:"limit,omitempty"`   // how many at most; default 100
}

// ChatRequest asks for a chat's head.
type ChatRequest struct {
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

// before reports whether p lies before the commit.
func (p Point) before(c events.Commit) bool {
	return p.Rev != 0 && c.Rev > p.Rev || p.Time != 0 && c.At > p.Time
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

const (
	maxRequestBytes  = 4 << 10
	defaultPageLimit = 100
	maxPageLimit     = 1_000
)

// request is any of the three.
type request interface {
	TranscriptRequest | ChatRequest | CommandRequest
}

// decode reads the body of a query as strictly as that of a command. The error
// is a [*protocol.RefusedError].
func decode[T request](body []byte) (T, error) {
	var r T
	if len(body) > maxRequestBytes {
		return r, refuse(events.CodeTooLarge, "body of %d bytes, at most %d are allowed", len(body), maxRequestBytes)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, refuse(events.CodeBadCommand, "body: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return r, refuse(events.CodeBadCommand, "body: more than one JSON value")
	}
	return r, nil
}

// key names the chat that a request is about. The version may be left out.
func key(tenant, chat string, version int) (events.Key, error) {
	k := events.Key{Tenant: tenant, Chat: chat}
	if err := k.Validate(); err != nil {
		return k, refuse(events.CodeBadCommand, "%v", err)
	}
	if version != 0 && version != protocol.Version {
		return k, refuse(events.CodeBadCommand, `body: want "v":%d`, protocol.Version)
	}
	return k, nil
}

func refuse(code events.Code, format string, args ...any) *protocol.RefusedError {
	return &protocol.RefusedError{Code: code, Detail: fmt.Sprintf(format, args...)}
}
