package streams

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// fenceHeader is the sequence that the last message of the subject must have.
// It holds for one literal subject; with a wildcard two writers could both win.
const fenceHeader = jetstream.ExpectedLastSubjSeqHeader

// Log is the append-only log of all chats, spread over the LOG streams. It
// implements the log port of orchestrators and projections.
type Log struct {
	c      *connection
	shards int
}

// subject and stream of a chat.
func (l *Log) place(k events.Key) (subject, stream string) {
	n := protocol.Shard(k, l.shards)
	return protocol.LogSubject(n, k), LogStream(n)
}

// Shards is the number of LOG streams.
func (l *Log) Shards() int { return l.shards }

// Append tries once to store a commit behind the fence and gives its sequence.
// [events.ErrConflict] means that nothing was written; after any other error
// than [protocol.ErrStorageFull] the commit may be stored or not.
func (l *Log) Append(ctx context.Context, a protocol.Append) (uint64, error) {
	subject, _ := l.place(a.Key)
	header := nats.Header{
		fenceHeader:          {strconv.FormatUint(a.Fence, 10)},
		protocol.HeaderTypes: {a.Types},
		protocol.HeaderOwes:  {a.Owes},
	}
	if a.Trace != "" {
		header[protocol.HeaderTraceparent] = []string{a.Trace}
	}
	sequence, err := l.c.publish(ctx, &nats.Msg{Subject: subject, Header: header, Data: a.Body})
	if err != nil {
		return 0, appendError(err, a.Key)
	}
	return sequence, nil
}

// Last is the chat's newest commit as the leader has it, or
// [protocol.ErrNotFound].
//
// A server that cannot read a chat's newest message says that there is none. So
// when it says so it is asked for the first one, too: a chat that has one and no
// last is [protocol.ErrDamaged].
func (l *Log) Last(ctx context.Context, k events.Key) (protocol.Stored, error) {
	subject, stream := l.place(k)
	last, err := l.c.leader(ctx, stream, get{Last: subject})
	if !errors.Is(err, protocol.ErrNotFound) {
		return last, err
	}
	first, firstErr := l.c.leader(ctx, stream, get{Next: subject, Sequence: 1})
	switch {
	case errors.Is(firstErr, protocol.ErrNotFound):
		return last, err
	case firstErr != nil:
		return protocol.Stored{}, firstErr
	}
	if last, err = l.c.leader(ctx, stream, get{Last: subject}); errors.Is(err, protocol.ErrNotFound) { // it did not begin in between
		return protocol.Stored{}, fmt.Errorf("read %s: its newest commit cannot be read, and message %d can: %w", k, first.Sequence, protocol.ErrDamaged)
	}
	return last, err
}

// Read yields the chat's commits with after < sequence <= through, in order. It
// has reached through when it ends without an error.
//
// The first comes from the leader: what is read most is the one commit that
// somebody else has added. More are read in batches from any replica. One that
// is behind gives fewer, never others, so what it lacks is asked of the leader.
func (l *Log) Read(ctx context.Context, k events.Key, after, through uint64) iter.Seq2[protocol.Stored, error] {
	return func(yield func(protocol.Stored, error) bool) {
		subject, stream := l.place(k)
		next := l.one
		for after < through {
			got, err := next(ctx, stream, subject, after, through)
			if err != nil {
				yield(protocol.Stored{}, fmt.Errorf("read %s after %d: %w", k, after, err))
				return
			}
			if len(got) == 0 {
				return
			}
			for _, m := range got {
				if !yield(m, nil) {
					return
				}
			}
			after, next = got[len(got)-1].Sequence, l.many
		}
	}
}

// one gives the chat's next commit; none if it has no more up to through.
func (l *Log) one(ctx context.Context, stream, subject string, after, through uint64) ([]protocol.Stored, error) {
	m, err := l.c.leader(ctx, stream, get{Next: subject, Sequence: after + 1})
	switch {
	case errors.Is(err, protocol.ErrNotFound), err == nil && m.Sequence > through:
		return nil, l.reaches(ctx, stream, through)
	case err != nil:
		return nil, err
	}
	return []protocol.Stored{m}, nil
}

// reaches is an error unless the stream has the message at that sequence: a log
// that ends before what was once acknowledged has lost something.
func (l *Log) reaches(ctx context.Context, stream string, sequence uint64) error {
	_, err := l.c.leader(ctx, stream, get{Sequence: sequence})
	if errors.Is(err, protocol.ErrNotFound) {
		return fmt.Errorf("%s does not have message %d, which is known to have been stored: "+
			"it was deleted, or the server has lost data and must be restored", stream, sequence)
	}
	return err
}

// many gives the next commits as any replica has them, or else as the leader has.
func (l *Log) many(ctx context.Context, stream, subject string, after, through uint64) ([]protocol.Stored, error) {
	got, err := l.c.batch(ctx, stream, subject, after, through)
	if err != nil {
		return nil, err
	}
	if len(got) == 0 {
		return l.one(ctx, stream, subject, after, through)
	}
	return got, nil
}
