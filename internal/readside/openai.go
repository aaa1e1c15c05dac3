package readside

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/openai"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/gateway/watch"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// openaiWays are the ways in for clients of the API of OpenAI.
func openaiWays(cfg gateway.Config, hub *watch.Hub, a *agents) ([]gateway.Way, error) {
	door, err := openai.New(openai.Config{Chats: cfg.Chats, Agents: a, Feed: sights{hub}, Log: cfg.Log})
	if err != nil {
		return nil, err
	}
	ways := []gateway.Way{
		{Pattern: "GET /v1/models", Handler: http.HandlerFunc(door.List), Refuse: openai.Refuse},
		{Pattern: "POST /v1/chat/completions", Handler: http.HandlerFunc(door.Complete), Refuse: openai.Refuse, Watches: true, MaxBodyBytes: openai.MaxRequestBytes},
	}
	for _, pattern := range openai.Others() {
		ways = append(ways, gateway.Way{Pattern: pattern, Handler: http.HandlerFunc(openai.NoSuch), Refuse: openai.Refuse, Open: true})
	}
	return ways, nil
}

// sights are what a hub tells, in the words of that door.
type sights struct{ hub *watch.Hub }

// Open implements [openai.Feed].
func (s sights) Open(ctx context.Context, k events.Key, after uint64) (openai.Sights, error) {
	w, err := s.hub.Open(ctx, k, strconv.FormatUint(after, 10))
	if err != nil {
		return nil, watched(err)
	}
	return &resumed{hub: s.hub, key: k, w: w}, nil
}

// resumed is one watcher after the other: one that fell behind goes on where it was.
type resumed struct {
	hub *watch.Hub
	key events.Key
	w   *watch.Watcher
}

// Next implements [openai.Sights].
func (w *resumed) Next(ctx context.Context) (openai.Sight, error) {
	e, err := w.w.Next(ctx)
	if errors.Is(err, watch.ErrLagged) {
		cursor := w.w.Cursor()
		w.w.Close()
		again, err := w.hub.Open(ctx, w.key, cursor)
		if err != nil {
			return openai.Sight{}, watched(err)
		}
		w.w = again
		return openai.Sight{}, nil
	}
	if err != nil {
		return openai.Sight{}, watched(err)
	}
	switch e.Kind {
	case watch.KindReset: // it was restored from a backup, or what was sent is gone otherwise
		return openai.Sight{}, problem.New(events.CodeUnavailable, "the chat's log was replaced by another one: "+e.Reset.Detail)
	case watch.KindCommit:
		if e.Commit == nil {
			return openai.Sight{}, problem.New(events.CodeUnavailable, "a newer release writes this chat")
		}
	case watch.KindSnapshot, watch.KindDelta, watch.KindProgress:
	}
	return openai.Sight{Commit: e.Commit, Delta: e.Delta}, nil
}

// Close implements [openai.Sights].
func (w *resumed) Close() { w.w.Close() }

// watched says an error of the hub in the words of the gateway.
func watched(err error) error {
	switch {
	case errors.Is(err, watch.ErrStopped), errors.Is(err, watch.ErrUnanswered):
		return errors.Join(gateway.ErrUnavailable, err)
	case errors.Is(err, watch.ErrFull):
		return &protocol.RefusedError{Code: events.CodeLimitReached, Detail: err.Error()}
	}
	return err
}

// agents are the named settings, read when they are asked for: the streams may be
// set up later than a gateway is started.
type agents struct {
	nc      *nats.Conn
	options streams.Options

	mu     sync.Mutex
	reader *streams.Reader
}

// List implements [openai.Agents].
func (a *agents) List(ctx context.Context, tenant string) (map[string]events.Settings, error) {
	reader, err := a.open(ctx)
	if err != nil {
		return nil, errors.Join(gateway.ErrUnavailable, err)
	}
	list, err := reader.Agents.List(ctx, tenant)
	if err != nil {
		return nil, errors.Join(gateway.ErrUnavailable, err)
	}
	return list, nil
}

func (a *agents) open(ctx context.Context) (*streams.Reader, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reader != nil {
		return a.reader, nil
	}
	var err error
	a.reader, err = streams.OpenReader(ctx, a.nc, a.options)
	return a.reader, err
}

// Close ends what was opened.
func (a *agents) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reader != nil {
		a.reader.Close()
	}
}
