package streams

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/protocol"
)

// get asks a stream's leader for one message: by Sequence, by Last, or by Next,
// which may have a Sequence to begin at.
//
// The leader has every message that was ever acknowledged. A direct get is
// answered by any replica, which may lack the newest: it is good only for what
// is checked or may be old, and where there is only one, see [connection.findSole].
type get struct {
	Sequence uint64 `json:"seq,omitempty"`          // this one, or with Next the first from here on
	Last     string `json:"last_by_subj,omitempty"` // the newest of this subject
	Next     string `json:"next_by_subj,omitempty"` // the first of this subject or filter

	Since *time.Time `json:"start_time,omitempty"` // with Next: the first stored then or later
}

// leader gives the message that g asks for. The error wraps
// [protocol.ErrNotFound] if the leader has none.
func (c *connection) leader(ctx context.Context, stream string, g get) (protocol.Stored, error) {
	question, err := json.Marshal(g)
	if err != nil {
		return protocol.Stored{}, err
	}
	if connects := c.connects(); readDirectly(stream) && c.soleAt.Load() == connects {
		m, err := c.direct(ctx, stream, question)
		if !errors.Is(err, errNobody) {
			if errors.Is(err, errNoAnswer) || errors.Is(err, context.DeadlineExceeded) {
				c.soleAt.CompareAndSwap(connects, 0) // it may be this way that is barred: the next try takes the other one
			}
			return m, translate(err, "read %s", stream)
		}
	}
	answer, err := c.request(ctx, &nats.Msg{Subject: c.prefix + "STREAM.MSG.GET." + stream, Data: question})
	if err != nil {
		return protocol.Stored{}, translate(err, "read %s", stream)
	}
	m, err := decodeStored(answer.Data)
	return m, translate(err, "read %s", stream)
}

// decodeStored reads the answer of a leader. The content, most of it, is cut out
// first: decoding it as JSON would take longer than everything else together.
func decodeStored(answer []byte) (protocol.Stored, error) {
	rest, data := cutValue(answer, `"data":"`)
	var got struct {
		apiAnswer
		Message struct {
			Subject  string    `json:"subject"`
			Sequence uint64    `json:"seq"`
			Header   []byte    `json:"hdrs"`
			Time     time.Time `json:"time"`
		} `json:"message"`
	}
	if err := json.Unmarshal(rest, &got); err != nil {
		return protocol.Stored{}, fmt.Errorf("answer of the server: %w", err)
	}
	if err := got.failure(); err != nil {
		return protocol.Stored{}, err
	}
	s := protocol.Stored{Subject: got.Message.Subject, Sequence: got.Message.Sequence, Time: got.Message.Time}
	var err error
	if s.Body, err = base64.StdEncoding.AppendDecode(nil, data); err != nil {
		return protocol.Stored{}, fmt.Errorf("content of message %d: %w", s.Sequence, err)
	}
	if len(got.Message.Header) > 0 {
		header, err := nats.DecodeHeadersMsg(got.Message.Header)
		if err != nil {
			return protocol.Stored{}, fmt.Errorf("headers of message %d: %w", s.Sequence, err)
		}
		s.Header = header
	}
	return s, nil
}

// cutValue takes out the value of a key whose string has no escapes, and gives
// what is left. The key with its quotes can be nothing else: inside a string
// they would be escaped.
func cutValue(object []byte, key string) (rest, value []byte) {
	start := bytes.Index(object, []byte(key))
	if start < 0 {
		return object, nil
	}
	start += len(key)
	length := bytes.IndexByte(object[start:], '"')
	if length < 0 {
		return object, nil
	}
	return slices.Concat(object[:start], object[start+length:]), object[start : start+length]
}
