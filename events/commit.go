package events

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
)

// CommitVersion is the version of the commit's own form.
const CommitVersion = 1

// Commit is what one decision wrote: 1..n events of one chat, one message in
// the log, all or nothing.
//
// Rev counts a chat's commits from 1 without gaps. Prev is the SHA-256, in hex,
// of the bytes of the commit before, so that a changed, missing or swapped
// commit shows. At is the committer's clock, never before the previous At;
// no decision reads it.
type Commit struct {
	ID     string
	Key    Key
	Rev    uint64
	Prev   string
	At     Time
	Cause  Cause
	Events []Event
}

// CauseKind says what sort of message a commit answers.
type CauseKind string

// The kinds of cause.
const (
	CausedByCommand CauseKind = "command"
	CausedByAttempt CauseKind = "attempt" // a model worker; id is "<step>-<attempt>"
	CausedByClaim   CauseKind = "claim"   // a tool runner before the effect; id is the claim
	CausedByResult  CauseKind = "result"  // a tool runner after it; id is the call
	CausedByAsk     CauseKind = "ask"     // a tool runner in the middle of it, for a person; id is the call
	CausedByTimer   CauseKind = "timer"   // id is the timer's name
	CausedByChat    CauseKind = "chat"    // another chat
	CausedByRestore CauseKind = "restore" // an operator, after a restore from a backup
)

// Cause names the message that a commit answers. Sequence is a command's
// sequence in COMMANDS.
type Cause struct {
	Kind     CauseKind `json:"kind"`
	ID       string    `json:"id"`
	Verb     string    `json:"verb,omitempty"`
	By       string    `json:"by,omitempty"`
	Sequence uint64    `json:"sequence,omitempty"`
}

// ErrConflict means that somebody else appended first. An append that is sent
// twice gets it too, when the first sending did arrive; so whoever sees it reads
// the log and looks for a commit with its own ID before deciding anew.
//
// It comes wrapped: ask with [errors.Is].
var ErrConflict = errors.New("the chat has grown since it was read")

// ErrMalformed means that bytes are no commit and never were one.
var ErrMalformed = errors.New("not a commit")

// Encode is the commit's bytes. Equal commits have equal bytes.
func Encode(c Commit) ([]byte, error) {
	w := wireCommit{
		V: CommitVersion, ID: c.ID, Tenant: c.Key.Tenant, Chat: c.Key.Chat, Rev: c.Rev, Prev: c.Prev,
		At: c.At, Cause: c.Cause, Events: make([]wireEvent, len(c.Events)),
	}
	for i, e := range c.Events {
		w.Events[i] = wireEvent{Type: e.EventType(), Data: e}
	}
	b, err := marshal(&w)
	if err != nil {
		return nil, fmt.Errorf("encode commit: %w", err)
	}
	return b, nil
}

// Decode reads a commit. The error wraps [ErrMalformed], or is a
// [*VersionError] when a newer release wrote the bytes.
func Decode(b []byte) (Commit, error) {
	var w wireCommit
	err := unmarshal(b, &w)
	if v := version(b, w, err); v > CommitVersion {
		return Commit{}, &VersionError{What: "commit", Name: strconv.Itoa(v)}
	}
	if err != nil {
		return Commit{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if w.V != CommitVersion {
		return Commit{}, fmt.Errorf("%w: version %d", ErrMalformed, w.V)
	}
	if len(w.Events) == 0 {
		return Commit{}, fmt.Errorf("%w: no events", ErrMalformed)
	}
	c := Commit{
		ID: w.ID, Key: Key{Tenant: w.Tenant, Chat: w.Chat}, Rev: w.Rev, Prev: w.Prev, At: w.At, Cause: w.Cause,
		Events: make([]Event, len(w.Events)),
	}
	for i, e := range w.Events {
		if e.Data == nil {
			return Commit{}, unknown(e.Type)
		}
		c.Events[i] = e.Data
	}
	return c, nil
}

// version is the version the bytes claim to have, 0 if none. Bytes of a newer
// version may not even have the shape of this one, so it is then read alone.
func version(b []byte, w wireCommit, err error) int {
	if err == nil {
		return w.V
	}
	var only struct {
		V int `json:"v"`
	}
	if unmarshal(b, &only) != nil {
		return 0
	}
	return only.V
}

// Hash is the SHA-256 of a commit's bytes in hex, as the next commit's Prev
// holds it.
func Hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
