package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

const (
	eventsPerOther = 2   // of each commit of the others
	otherBytes     = 600 // of each of them
	otherChats     = 5_000
	fillAhead      = 256 // of each shard, not yet acknowledged
	fillPatience   = time.Minute
)

// filler writes commits of other chats to the log, side by side to its shards.
// They are where and as long as real ones; nobody is to look into them.
type filler struct{ shards []*shardFiller }

type shardFiller struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	subjects []string // of the chats of this shard
	written  int

	mu   sync.Mutex
	errs []error
}

// newFiller is to be closed.
func (r *rig) newFiller() (*filler, error) {
	topology, err := streams.LoadTopology("")
	if err != nil {
		return nil, err
	}
	f := &filler{}
	for range topology.Shards() {
		s := &shardFiller{}
		if s.nc, err = r.server.Connect("bench others"); err != nil {
			f.close()
			return nil, err
		}
		f.shards = append(f.shards, s)
		s.js, err = jetstream.New(s.nc,
			jetstream.WithPublishAsyncMaxPending(fillAhead),
			jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, _ *nats.Msg, err error) { s.fail(err) }))
		if err != nil {
			f.close()
			return nil, fmt.Errorf("bench: %w", err)
		}
	}
	for n := range otherChats {
		k := events.Key{Tenant: client.DefaultTenant, Chat: "other-" + strconv.Itoa(n)}
		shard := protocol.Shard(k, topology.Shards())
		f.shards[shard].subjects = append(f.shards[shard].subjects, protocol.LogSubject(shard, k))
	}
	return f, nil
}

func (f *filler) close() {
	for _, s := range f.shards {
		s.nc.Close()
	}
}

// write adds so many commits, and returns when all are stored.
func (f *filler) write(ctx context.Context, count int) error {
	var all sync.WaitGroup
	for i, s := range f.shards {
		all.Go(func() {
			if err := s.write(ctx, share(count, i, len(f.shards))); err != nil {
				s.fail(err)
			}
		})
	}
	all.Wait()
	var errs []error
	for _, s := range f.shards {
		s.mu.Lock()
		errs = append(errs, s.errs...)
		s.mu.Unlock()
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("bench: fill the log: %w", err)
	}
	return nil
}

func (s *shardFiller) write(ctx context.Context, count int) error {
	body := slices.Repeat([]byte("x"), otherBytes)
	for range count {
		m := nats.NewMsg(s.subjects[s.written%len(s.subjects)])
		m.Header.Set(protocol.HeaderTypes, commitTypes[len(commitTypes)-1])
		m.Header.Set(protocol.HeaderOwes, "")
		m.Data = body
		if _, err := s.js.PublishMsgAsync(m, jetstream.WithStallWait(fillPatience)); err != nil {
			return err
		}
		s.written++
	}
	select {
	case <-s.js.PublishAsyncComplete():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fail keeps the first failure; there may be one for each message.
func (s *shardFiller) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.errs) == 0 {
		s.errs = append(s.errs, err)
	}
}
