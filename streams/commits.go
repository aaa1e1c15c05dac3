package streams

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/protocol"
)

// Follow calls commit with every message of LOG stream n from sequence from[n] on, in
// the order of each stream, first what is there and then what comes; ready once, when
// it has given what was there. From[n] was read before, and is given again so that it
// can be compared; 0 is nothing. The place is the caller's to keep: nothing is left of
// it on the server.
//
// It returns when ctx ends, with the error of commit or ready, or with an error when
// it may have missed a message: then call it again. The error wraps
// [protocol.ErrReplaced] if a stream ends before from[n].
func (l *Log) Follow(ctx context.Context, from []uint64, commit func(shard int, m protocol.Stored) error, ready func() error) error {
	if len(from) != l.shards {
		return fmt.Errorf("follow the log: %d places are named and there are %d streams", len(from), l.shards)
	}
	shardOf := make(map[string]int, l.shards)
	f := follower{
		c: l.c, policy: jetstream.DeliverByStartSequencePolicy, ready: ready,
		on: func(m *nats.Msg, meta *nats.MsgMetadata) error {
			return commit(shardOf[meta.Stream], protocol.Stored{
				Subject: m.Subject, Sequence: meta.Sequence.Stream, Time: meta.Timestamp, Header: m.Header, Body: m.Data,
			})
		},
	}
	for n := range l.shards {
		name := LogStream(n)
		stream, err := l.c.js.Stream(ctx, name)
		if err != nil {
			return translate(err, "follow %s", name)
		}
		if last := stream.CachedInfo().State.LastSeq; last < from[n] {
			return fmt.Errorf("follow %s: it ends at message %d, and %d was read: %w", name, last, from[n], protocol.ErrReplaced)
		}
		shardOf[name] = n
		f.sources = append(f.sources, source{stream: name, filter: logSubjects(n), from: max(from[n], 1)})
	}
	return f.run(ctx)
}
