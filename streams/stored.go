package streams

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/protocol"
)

// get asks a stream's leader for one message. One of the fields is set; First
// goes with From.
//
// The leader has every message that was ever acknowledged. A direct get is
// answered by any replica, which may lack the newest: it is good only for what
// is checked or may be old.
type get struct {
	Sequence uint64 `json:"seq,omitempty"`          // this one, or with Next the first from here on
	Last     string `json:"last_by_subj,omitempty"` // the newest of this subject
	Next     string `json:"next_by_subj,omitempty"` // the first of this subject or filter
}

// leader gives the message that g asks for. The error wraps
// [protocol.ErrNotFound] if the leader has none.
func (c *connection) leader(ctx context.Context, stream string, g get) (protocol.Stored, error) {
	var answer struct {
		apiAnswer
		Message struct {
			Subject  string    `json:"subject"`
			Sequence uint64    `json:"seq"`
			Header   []byte    `json:"hdrs"`
			Data     []byte    `json:"data"`
			Time     time.Time `json:"time"`
		} `json:"message"`
	}
	if err := c.api(ctx, "STREAM.MSG.GET."+stream, g, &answer); err != nil {
		return protocol.Stored{}, translate(err, "read %s", stream)
	}
	m := answer.Message
	s := protocol.Stored{Subject: m.Subject, Sequence: m.Sequence, Time: m.Time, Body: m.Data}
	if len(m.Header) > 0 {
		header, err := nats.DecodeHeadersMsg(m.Header)
		if err != nil {
			return protocol.Stored{}, fmt.Errorf("read %s: headers of message %d: %w", stream, m.Sequence, err)
		}
		s.Header = header
	}
	return s, nil
}
