// Package membus is the bus in memory: the streams, buckets and subjects that
// orchestrators and tool runners use, held by one [Server], and their ports for
// any number of processes, each of which can be killed.
//
// Left alone it simply works, for tests. Given a [Gate] it asks before each
// operation when that may happen and how it shall go wrong, which makes it the
// world of the simulation: everything that the real bus may do to a process,
// and nothing that it promises not to do.
package membus

import (
	"context"
	"sync"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Defaults of [Options].
const (
	DefaultShards         = 4
	DefaultAckWait        = 15 * time.Second
	DefaultRequestTimeout = 2 * time.Second
)

// Options say how a server behaves.
type Options struct {
	Shards         int           // streams of the log; default [DefaultShards]
	AckWait        time.Duration // of every queue; default [DefaultAckWait]
	RequestTimeout time.Duration // until a request without answer fails; default [DefaultRequestTimeout]
	Gate           Gate          // decides when each operation happens and how; nil: at once, and well
	Observer       Observer      // sees what happens inside
}

// Observer is told of what happens inside the server, at the moment it happens
// and under the server's lock: its functions may not call the server. Those
// that are nil are not called.
type Observer struct {
	// Appended is told of each commit that is stored.
	Appended func(k events.Key, m protocol.Stored)

	// Dispatched is told of work and timers that are stored, also when they
	// were before.
	Dispatched func(subject string)

	// Settled is told of each message that leaves a queue, and which operation
	// took it out.
	Settled func(kind string, m protocol.Stored)

	// Asked is told of each request when its sender begins to send it, and who
	// that is.
	Asked func(process, subject string, request []byte)

	// Answered is told of each answer to a request that is sent.
	Answered func(subject string, request, answer []byte)

	// Replied is told of each outcome of a command that is sent.
	Replied func(tenant string, r protocol.Reply)

	// Snapped is told of each snapshot that is stored.
	Snapped func(k events.Key, version int)
}

// Server holds what is stored. Its clock is the time package's, which a
// synctest bubble replaces.
type Server struct {
	options Options

	mu        sync.Mutex
	changed   chan struct{} // closed and made anew at each change
	shards    []*shard
	commands  *queue
	work      *queue
	timers    *queue
	schedules map[string]*schedule
	requests  []*request
	serving   int
	stops     []*subscription
	answerers map[string]*answerer
	replies   map[string][]chan protocol.Reply
	heads     []*watcher
	deltas    map[attemptKey][]protocol.Delta
	blobs     map[blobKey][]byte
	manifests map[events.Digest]protocol.Manifest
	tools     map[string]protocol.ToolEntry
	toolsAt   int // changes of tools so far
	snapshots map[snapshotKey][][]byte
	notes     map[string]int
	dead      []DeadLetter
}

// New is an empty server.
func New(o Options) *Server {
	if o.Shards == 0 {
		o.Shards = DefaultShards
	}
	if o.AckWait == 0 {
		o.AckWait = DefaultAckWait
	}
	if o.RequestTimeout == 0 {
		o.RequestTimeout = DefaultRequestTimeout
	}
	s := &Server{
		options: o, changed: make(chan struct{}),
		commands: newQueue(), work: newQueue(), timers: newQueue(),
		schedules: map[string]*schedule{}, answerers: map[string]*answerer{},
		replies: map[string][]chan protocol.Reply{}, deltas: map[attemptKey][]protocol.Delta{},
		blobs: map[blobKey][]byte{}, manifests: map[events.Digest]protocol.Manifest{},
		tools: map[string]protocol.ToolEntry{}, snapshots: map[snapshotKey][][]byte{}, notes: map[string]int{},
	}
	for range o.Shards {
		s.shards = append(s.shards, newShard())
	}
	return s
}

// change wakes those who wait without a gate. The lock is held.
func (s *Server) change() {
	if s.options.Gate == nil {
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

func (s *Server) settled(kind string, m protocol.Stored) {
	if s.options.Observer.Settled != nil {
		s.options.Observer.Settled(kind, m)
	}
}

func (s *Server) dispatched(subject string) {
	if s.options.Observer.Dispatched != nil {
		s.options.Observer.Dispatched(subject)
	}
}

func (s *Server) asked(process, subject string, request []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.options.Observer.Asked != nil {
		s.options.Observer.Asked(process, subject, request)
	}
}

// Next is the earliest time from which on something is there to be handed over
// that is not now; zero if nothing waits for a time.
func (s *Server) Next() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next()
}

func (s *Server) next() time.Time {
	now := time.Now()
	var next time.Time
	consider := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, q := range []*queue{s.commands, s.work, s.timers} {
		for _, m := range q.messages {
			consider(m.visible)
		}
	}
	for _, t := range s.schedules {
		consider(t.fires)
	}
	return next
}

// Publish stores a command as a client does, and gives its sequence.
func (s *Server) Publish(k events.Key, verb string, header map[string]string, body []byte) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := make(map[string][]string, len(header))
	for key, value := range header {
		h[key] = []string{value}
	}
	m := s.commands.put(protocol.CommandSubject(k, verb), h, body)
	s.change()
	return m.Sequence, nil
}

// Listen subscribes to the outcome of a command; the function waits for it.
func (s *Server) Listen(tenant, command string) (func(context.Context) (protocol.Reply, error), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan protocol.Reply, 1)
	subject := protocol.ReplySubject(tenant, command)
	s.replies[subject] = append(s.replies[subject], c)
	return func(ctx context.Context) (protocol.Reply, error) {
		select {
		case r := <-c:
			return r, nil
		case <-ctx.Done():
			return protocol.Reply{}, ctx.Err()
		}
	}, nil
}
