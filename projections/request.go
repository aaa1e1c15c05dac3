package projections

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// before reports whether p lies before the commit.
func before(p Point, c events.Commit) bool {
	return p.Rev != 0 && c.Rev > p.Rev || p.Time != 0 && c.At > p.Time
}

const (
	maxRequestBytes  = 4 << 10
	defaultPageLimit = 100
	maxPageLimit     = 1_000
)

// request is any of them.
type request interface {
	TranscriptRequest | ChatRequest | CommandRequest | BranchesRequest | CommitsRequest
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
		return r, refuse(events.CodeBadCommand, "body: %s", protocol.Unreadable(err))
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
