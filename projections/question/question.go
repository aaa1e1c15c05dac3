// Package question is what all projections have in common: how a question is read,
// how it is answered or refused, and how a chat's log is found.
package question

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

const (
	// MaxBytes is the most that a question may have.
	MaxBytes = 4 << 10

	// MaxAnswerBytes is the most that an answer may have, as JSON. Servers take messages
	// of 1 MiB unless told otherwise.
	MaxAnswerBytes = 768 << 10
)

// Query answers one kind of question about the chats of a tenant. A no is a
// [*protocol.RefusedError]; any other error means "not now".
type Query = func(ctx context.Context, tenant string, body []byte) ([]byte, error)

// Answered puts JSON around a question.
func Answered[Q, A any](ask func(ctx context.Context, tenant string, q Q) (A, error)) Query {
	return func(ctx context.Context, tenant string, body []byte) ([]byte, error) {
		q, err := Decode[Q](body)
		if err != nil {
			return nil, err
		}
		a, err := ask(ctx, tenant, q)
		if err != nil {
			return nil, err
		}
		return Encode(a)
	}
}

// Decode reads a question as strictly as the body of a command. The error is a
// [*protocol.RefusedError].
func Decode[Q any](body []byte) (Q, error) {
	var q Q
	if len(body) > MaxBytes {
		return q, Refuse(events.CodeTooLarge, "body of %d bytes, at most %d are allowed", len(body), MaxBytes)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return q, Refuse(events.CodeBadCommand, "body: %s", protocol.Unreadable(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return q, Refuse(events.CodeBadCommand, "body: more than one JSON value")
	}
	return q, nil
}

// Encode is the JSON of an answer.
func Encode(answer any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(answer); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Key names the chat that a question is about. The version may be left out.
func Key(tenant, chat string, version int) (events.Key, error) {
	k := events.Key{Tenant: tenant, Chat: chat}
	if err := k.Validate(); err != nil {
		return k, Refuse(events.CodeBadCommand, "%v", err)
	}
	if version != 0 && version != protocol.Version {
		return k, Refuse(events.CodeBadCommand, `body: want "v":%d`, protocol.Version)
	}
	return k, nil
}

// Refuse is a no.
func Refuse(code events.Code, format string, args ...any) *protocol.RefusedError {
	return &protocol.RefusedError{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Log is the append-only log of all chats, as far as it is needed to find a chat.
type Log interface {
	// Last is the chat's newest commit as the leader has it, never older than
	// the newest acknowledged one. [protocol.ErrNotFound] if the chat has none.
	Last(ctx context.Context, k events.Key) (protocol.Stored, error)
}

// Place is where a commit is: its sequence in the stream, and its rev in the chat. The
// zero Place is before the first.
type Place struct{ Sequence, Rev uint64 }

// Newest finds the newest commit of a chat. It refuses a chat that does not exist, and
// one that was erased.
func Newest(ctx context.Context, log Log, k events.Key) (Place, error) {
	last, err := log.Last(ctx, k)
	if errors.Is(err, protocol.ErrNotFound) {
		return Place{}, Refuse(events.CodeUnknownChat, "there is no chat %s", k.Chat)
	}
	if err != nil {
		return Place{}, fmt.Errorf("last commit of %s: %w", k, err)
	}
	if events.Erased(last.Body) {
		return Place{}, Refuse(events.CodeErased, "chat %s was erased", k.Chat)
	}
	rev, err := RevOf(k, last)
	return Place{last.Sequence, rev}, err
}

// RevOf is the rev of stored bytes. They may be of a newer release: nothing else is
// looked at, but that they are one JSON object and say that they are of the chat.
func RevOf(k events.Key, m protocol.Stored) (uint64, error) {
	var c struct {
		Tenant string `json:"tenant"`
		Chat   string `json:"chat"`
		Rev    uint64 `json:"rev"`
	}
	object := bytes.HasPrefix(m.Body, []byte("{")) && bytes.HasSuffix(m.Body, []byte("}"))
	err := json.Unmarshal(m.Body, &c)
	if !object || err != nil || c.Tenant != k.Tenant || c.Chat != k.Chat || c.Rev == 0 {
		return 0, Refuse(events.CodeChatStopped, "the chat's log is damaged: what is stored at sequence %d is no commit of it", m.Sequence)
	}
	return c.Rev, nil
}
