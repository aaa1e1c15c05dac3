package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// How far a watcher may fall behind. One event is always kept for it: a commit may be
// larger, of 512 KiB.
const (
	MaxBehindBytes  = 256 << 10
	MaxBehindEvents = 1024
)

const (
	// defaultWatchers is how many watchers a hub takes.
	defaultWatchers = 10_000

	// defaultQuestions is how many questions a hub asks at a time.
	defaultQuestions = 32

	// defaultSilence is how long an open turn may be silent before its chat is asked
	// how it stands: the feed may have lost its end.
	defaultSilence = 5 * time.Second
)

// Config of a hub.
type Config struct {
	Feed  Feed
	Chats Chats

	Log       *slog.Logger  // of what is amiss; nil says nothing
	Watchers  int           // at most; 0 is 10,000
	Questions int           // asked at a time at most; 0 is 32
	Silence   time.Duration // of an open turn before its chat is asked after; 0 is 5 s
}

// Hub hears what happens in all chats and tells those who watch them. It is safe
// for concurrent use.
type Hub struct {
	cfg       Config
	questions chan struct{} // those that are being asked
	ready     chan struct{} // closed when the feed is heard
	stopped   chan struct{} // closed when Run has ended
	begun     sync.Once

	mu       sync.Mutex
	chats    map[events.Key]*chat // that somebody watches
	watchers int
	running  bool
}

// New gives a hub, which watches while [Hub.Run] runs.
func New(cfg Config) (*Hub, error) {
	if cfg.Feed == nil || cfg.Chats == nil {
		return nil, errors.New("watch: both a feed and queries are needed")
	}
	if cfg.Watchers < 0 || cfg.Questions < 0 || cfg.Silence < 0 {
		return nil, errors.New("watch: limits: want 0 or more")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Watchers == 0 {
		cfg.Watchers = defaultWatchers
	}
	if cfg.Questions == 0 {
		cfg.Questions = defaultQuestions
	}
	if cfg.Silence == 0 {
		cfg.Silence = defaultSilence
	}
	return &Hub{
		cfg: cfg, questions: make(chan struct{}, cfg.Questions), ready: make(chan struct{}), stopped: make(chan struct{}),
		chats: make(map[events.Key]*chat),
	}, nil
}

// Run hears the feed until ctx ends. Then it ends all watchers with [ErrStopped].
// It is called once.
func (h *Hub) Run(ctx context.Context) error {
	h.mu.Lock()
	again := h.running
	h.running = true
	h.mu.Unlock()
	if again {
		return errors.New("watch: the hub runs already, or has run")
	}
	defer close(h.stopped)
	err := h.cfg.Feed.Follow(ctx, h.gap, h.hear)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("watch: %w", err)
	}
	return nil
}

// Watchers is how many there are now.
func (h *Hub) Watchers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.watchers
}

// gap notes that something may have been missed, of every chat.
func (h *Hub) gap() {
	h.mu.Lock()
	all := make([]*chat, 0, len(h.chats))
	for _, c := range h.chats {
		all = append(all, c)
	}
	h.mu.Unlock()
	for _, c := range all {
		c.missed(time.Now())
	}
	h.begun.Do(func() { close(h.ready) })
}

// hear takes what the feed says. It waits for nobody.
func (h *Hub) hear(k events.Key, kind protocol.FeedKind, body []byte) {
	h.mu.Lock()
	c := h.chats[k]
	h.mu.Unlock()
	if c == nil {
		return
	}
	if err := c.hear(kind, body, time.Now()); err != nil {
		h.cfg.Log.Warn("what the feed says cannot be read", "chat", k, "kind", kind, "error", err)
	}
}

// join puts a watcher with its chat.
func (h *Hub) join(w *Watcher, k events.Key) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers >= h.cfg.Watchers {
		return ErrFull
	}
	c := h.chats[k]
	if c == nil {
		c = newChat(k)
		h.chats[k] = c
	}
	h.watchers++
	w.chat = c
	c.join(w, time.Now())
	return nil
}

// leave is called once for each that has joined.
func (h *Hub) leave(w *Watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers--
	if w.chat.leave(w) == 0 {
		delete(h.chats, w.chat.key)
	}
}

// ask asks a query, when there is room for one more.
func (h *Hub) ask(ctx context.Context, k events.Key, name string, question, answer any) error {
	select {
	case h.questions <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-h.stopped:
		return ErrStopped
	}
	defer func() { <-h.questions }()
	return h.cfg.Chats.Query(ctx, k.Tenant, name, question, answer)
}

// isNo reports whether an answer is one that asking again does not change.
func isNo(err error) bool {
	no, ok := errors.AsType[*protocol.RefusedError](err)
	return ok && no.Code != events.CodeUnavailable
}
