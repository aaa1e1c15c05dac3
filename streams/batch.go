package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/protocol"
)

const (
	maxBatch      = 256
	maxBatchBytes = 4 << 20
	batchChan     = 2*maxBatch + requestChan // messages a batch's lane can hold
)

// Headers that the server adds to what it gives in a batch.
const (
	batchSubject  = "Nats-Subject"
	batchSequence = "Nats-Sequence"
	batchTime     = "Nats-Time-Stamp"
	batchBefore   = "Nats-Last-Sequence" // of the message before it in the batch
)

// batch gives messages of a subject with after < sequence <= through from
// whichever replica answers, in order and without gaps, as many as it has and
// a batch holds. None means that this replica has none, or nobody answered.
func (c *connection) batch(ctx context.Context, stream, subject string, after, through uint64) ([]protocol.Stored, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.try, errNoAnswer)
	defer cancel()
	body, err := json.Marshal(struct {
		Sequence uint64 `json:"seq"`
		Next     string `json:"next_by_subj"`
		Batch    int    `json:"batch"`
		MaxBytes int    `json:"max_bytes"`
	}{after + 1, subject, maxBatch, maxBatchBytes})
	if err != nil {
		return nil, err
	}
	l, err := c.batches.take()
	if err != nil {
		return nil, err
	}
	reply := l.next()
	if err := c.nc.PublishMsg(&nats.Msg{Subject: c.prefix + "DIRECT.GET." + stream, Reply: reply, Data: body}); err != nil {
		c.batches.discard(l)
		return nil, err
	}
	var got []protocol.Stored
	for {
		select {
		case m := <-l.messages:
			if m.Subject != reply {
				continue // of a batch that was given up
			}
			if m.Header.Get(batchSubject) == "" { // a status: the end, nothing found, or nobody there
				c.batches.put(l)
				return got, nil
			}
			s, err := batched(m, got)
			if err != nil {
				c.batches.discard(l)
				return nil, err
			}
			if s.Sequence <= through {
				got = append(got, s)
			}
			if s.Sequence >= through {
				c.batches.put(l) // has room for the rest of this batch and the whole of the next
				return got, nil
			}
		case <-ctx.Done():
			c.batches.discard(l)
			return nil, context.Cause(ctx)
		}
	}
}

// batched reads one message that follows those in before.
func batched(m *nats.Msg, before []protocol.Stored) (protocol.Stored, error) {
	s, err := directlyStored(m)
	if err != nil {
		return protocol.Stored{}, fmt.Errorf("batch: %w", err)
	}
	var last uint64
	if len(before) > 0 {
		last = before[len(before)-1].Sequence
	}
	if m.Header.Get(batchBefore) != strconv.FormatUint(last, 10) {
		return protocol.Stored{}, fmt.Errorf("batch: %w", errMissed)
	}
	return s, nil
}
