package membus

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// shard is one stream of the log.
type shard struct {
	last  uint64
	chats map[events.Key][]protocol.Stored
}

func newShard() *shard { return &shard{chats: map[events.Key][]protocol.Stored{}} }

func (s *Server) shard(k events.Key) (*shard, int) {
	n := protocol.Shard(k, len(s.shards))
	return s.shards[n], n
}

// Log is all that is stored of a chat, in order.
func (s *Server) Log(k events.Key) []protocol.Stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh, _ := s.shard(k)
	return slices.Clone(sh.chats[k])
}

// Chats are the keys of all chats that have a log, sorted.
func (s *Server) Chats() []events.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chats()
}

func (s *Server) chats() []events.Key {
	var all []events.Key
	for _, sh := range s.shards {
		for k := range sh.chats {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b events.Key) int {
		switch {
		case a.String() < b.String():
			return -1
		case a.String() > b.String():
			return 1
		}
		return 0
	})
	return all
}

// log implements [orchestrator.Log].
type log struct{ p *Process }

func (l log) Append(ctx context.Context, a protocol.Append) (uint64, error) {
	s := l.p.server
	op := Op{Kind: "log.append", Subject: a.Key.String(), Stage: StageWrite}
	return step(ctx, l.p, op, func(Fate) (uint64, error) {
		sh, n := s.shard(a.Key)
		stored := sh.chats[a.Key]
		var last uint64
		if len(stored) > 0 {
			last = stored[len(stored)-1].Sequence
		}
		if last != a.Fence {
			return 0, fmt.Errorf("append: last sequence is %d, not %d: %w", last, a.Fence, events.ErrConflict)
		}
		sh.last++
		m := protocol.Stored{
			Subject: protocol.LogSubject(n, a.Key), Sequence: sh.last, Time: time.Now(), Body: slices.Clone(a.Body),
			Header: map[string][]string{protocol.HeaderTypes: {a.Types}, protocol.HeaderOwes: {a.Owes}},
		}
		if a.Trace != "" {
			m.Header[protocol.HeaderTraceparent] = []string{a.Trace}
		}
		sh.chats[a.Key] = append(stored, m)
		for _, w := range s.heads {
			w.note(a.Key)
		}
		if s.options.Observer.Appended != nil {
			s.options.Observer.Appended(a.Key, m)
		}
		s.change()
		return m.Sequence, nil
	})
}

func (l log) Last(ctx context.Context, k events.Key) (protocol.Stored, error) {
	op := Op{Kind: "log.last", Subject: k.String(), Stage: StageRead}
	return step(ctx, l.p, op, func(Fate) (protocol.Stored, error) {
		sh, _ := l.p.server.shard(k)
		stored := sh.chats[k]
		if len(stored) == 0 {
			return protocol.Stored{}, fmt.Errorf("log of %s: %w", k, protocol.ErrNotFound)
		}
		return stored[len(stored)-1], nil
	})
}

func (l log) Read(ctx context.Context, k events.Key, after, through uint64) iter.Seq2[protocol.Stored, error] {
	return func(yield func(protocol.Stored, error) bool) {
		op := Op{Kind: "log.read", Subject: k.String(), Stage: StageRead}
		part, err := step(ctx, l.p, op, func(Fate) ([]protocol.Stored, error) {
			sh, _ := l.p.server.shard(k)
			stored := sh.chats[k]
			from, _ := slices.BinarySearchFunc(stored, after+1, bySequence)
			to, _ := slices.BinarySearchFunc(stored, through+1, bySequence)
			return stored[min(from, to):to:to], nil // never changed once stored
		})
		if err != nil {
			yield(protocol.Stored{}, err)
			return
		}
		for _, m := range part {
			if !yield(m, nil) {
				return
			}
		}
	}
}

func (l log) Delete(ctx context.Context, k events.Key, sequence uint64) error {
	_, err := step(ctx, l.p, Op{Kind: "log.delete", Subject: k.String(), Stage: StageWrite}, func(Fate) (struct{}, error) {
		sh, _ := l.p.server.shard(k)
		kept := make([]protocol.Stored, 0, len(sh.chats[k])) // others may be reading those that are there
		for _, m := range sh.chats[k] {
			if m.Sequence != sequence {
				kept = append(kept, m)
			}
		}
		sh.chats[k] = kept
		return struct{}{}, nil
	})
	return err
}

func bySequence(m protocol.Stored, sequence uint64) int {
	switch {
	case m.Sequence < sequence:
		return -1
	case m.Sequence > sequence:
		return 1
	}
	return 0
}

// watcher follows the heads of all chats for one process.
type watcher struct {
	news []events.Key // chats with a new head that was not told yet, each once
}

func (w *watcher) note(k events.Key) {
	if !slices.Contains(w.news, k) {
		w.news = append(w.news, k)
	}
}

// Heads implements [orchestrator.Log].
func (l log) Heads(ctx context.Context, head func(protocol.Head), ready func()) error {
	s, w := l.p.server, &watcher{}
	all, err := step(ctx, l.p, Op{Kind: "log.heads", Stage: StageRead}, func(Fate) ([]protocol.Head, error) {
		s.heads = append(s.heads, w)
		return s.headsOf(s.chats()), nil
	})
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.heads = slices.DeleteFunc(s.heads, func(o *watcher) bool { return o == w })
	}()
	if err != nil {
		return err
	}
	for _, h := range all {
		head(h)
	}
	ready()
	op := Op{Kind: "log.heads.follow", Stage: StageRead, ready: func() bool { return len(w.news) > 0 }}
	for {
		news, err := step(ctx, l.p, op, func(Fate) ([]protocol.Head, error) {
			keys := w.news
			w.news = nil
			return s.headsOf(keys), nil
		})
		if err != nil {
			return err
		}
		for _, h := range news {
			head(h)
		}
	}
}

func (s *Server) headsOf(keys []events.Key) []protocol.Head {
	heads := make([]protocol.Head, 0, len(keys))
	for _, k := range keys {
		sh, _ := s.shard(k)
		m := sh.chats[k][len(sh.chats[k])-1]
		heads = append(heads, protocol.Head{Key: k, Sequence: m.Sequence, Stored: m.Time, Owes: m.Get(protocol.HeaderOwes)})
	}
	return heads
}
