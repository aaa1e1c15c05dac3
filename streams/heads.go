package streams

import (
	"context"
	"maps"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// AllHeads are the newest commits of all chats as they are now, in the order of
// their keys. Bodies are not read.
func (l *Log) AllHeads(ctx context.Context) ([]protocol.Head, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	newest := map[events.Key]protocol.Head{}
	complete := false
	err := l.Heads(ctx, func(h protocol.Head) {
		if !complete {
			newest[h.Key] = h
		}
	}, func() { complete = true; cancel() })
	if !complete {
		return nil, err
	}
	heads := slices.Collect(maps.Values(newest))
	slices.SortFunc(heads, func(a, b protocol.Head) int { return a.Key.Compare(b.Key) })
	return heads, nil
}

// Heads calls head with the newest commit of every chat, ready once when it has
// given all of them, and then head with each commit as it is stored. It returns
// when ctx ends, or with an error when it may have missed one: then call it
// again. Bodies are not read.
func (l *Log) Heads(ctx context.Context, head func(protocol.Head), ready func()) error {
	f := follower{
		c: l.c, policy: jetstream.DeliverLastPerSubjectPolicy, headers: true,
		on: func(m *nats.Msg, meta *nats.MsgMetadata) error {
			_, k, err := protocol.ParseLogSubject(m.Subject)
			if err != nil {
				return nil //nolint:nilerr // no chat has such a subject; only an operator can have stored it
			}
			head(protocol.Head{
				Key: k, Sequence: meta.Sequence.Stream, Stored: meta.Timestamp, Owes: m.Header.Get(protocol.HeaderOwes),
			})
			return nil
		},
		ready: func() error { ready(); return nil },
	}
	for n := range l.shards {
		f.sources = append(f.sources, source{stream: LogStream(n), filter: logSubjects(n)})
	}
	return f.run(ctx)
}
