package sse

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/gateway/watch"
	"github.com/everturn/everturn/protocol"
)

// Config of a handler.
type Config struct {
	Hub *watch.Hub

	// Refuse answers a request that gets no events: a [*protocol.RefusedError],
	// [watch.ErrFull], [watch.ErrStopped], [ErrNobody], or what should not have
	// happened.
	Refuse func(w http.ResponseWriter, r *http.Request, err error)

	KeepAlive    time.Duration // 0 is [KeepAlive]
	WriteTimeout time.Duration // 0 is [WriteTimeout]
}

// ErrNobody means that nobody has said at the door on whose behalf a request is.
var ErrNobody = errors.New("nobody has said who is asking")

// Handler answers GET /v1/chats/{chat}/events: it gives what happens in the chat, to
// the tenant that the request is for, until the client leaves. The cursor is the
// header Last-Event-ID, or else the query parameter "after". It must be mounted at a
// pattern with a wildcard "chat".
func Handler(cfg Config) (http.Handler, error) {
	if cfg.Hub == nil || cfg.Refuse == nil {
		return nil, errors.New("server-sent events: both a hub and a way to refuse are needed")
	}
	if cfg.KeepAlive == 0 {
		cfg.KeepAlive = KeepAlive
	}
	if cfg.WriteTimeout == 0 {
		cfg.WriteTimeout = WriteTimeout
	}
	return cfg, nil
}

// ServeHTTP implements [http.Handler].
func (cfg Config) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	who, ok := identity.Of(r.Context())
	if !ok {
		cfg.Refuse(w, r, ErrNobody)
		return
	}
	cursor, err := cursorOf(r)
	if err != nil {
		cfg.Refuse(w, r, err)
		return
	}
	watcher, err := cfg.Hub.Open(r.Context(), events.Key{Tenant: who.Tenant, Chat: r.PathValue("chat")}, cursor)
	if err != nil {
		cfg.Refuse(w, r, err)
		return
	}
	defer watcher.Close()
	out, err := newWriter(w, cfg.WriteTimeout)
	if err != nil {
		return // nobody is left to tell
	}
	cfg.give(r.Context(), watcher, out)
}

// cursorOf is the cursor of a request. What a browser sends by itself when it comes
// back counts before what stands in its address, which is from before; and it cannot
// be told that it is wrong, only to begin anew.
func cursorOf(r *http.Request) (string, error) {
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		return last, nil
	}
	after := r.URL.Query().Get("after")
	if after == "" {
		return "", nil
	}
	if _, err := strconv.ParseUint(after, 10, 64); err != nil {
		return "", &protocol.RefusedError{Code: events.CodeBadCommand, Detail: "after: want the rev of the newest commit that was seen, or 0"}
	}
	return after, nil
}

// give writes events until one of both ends leaves.
func (cfg Config) give(ctx context.Context, from *watch.Watcher, out *Writer) {
	for {
		e, err := cfg.next(ctx, from)
		switch {
		case err == nil:
			err = out.Event(idOf(e), string(e.Kind), e.Data)
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			err = out.Comment("here")
		case errors.Is(err, watch.ErrLagged):
			_ = out.Event("", "lagged", said("lagged", err)) // it leaves in any case
		case !errors.Is(err, watch.ErrStopped) && ctx.Err() == nil:
			_ = out.Event("", "gone", said(codeOf(err), err))
		}
		if err != nil {
			return
		}
	}
}

// next waits for an event, but not for longer than a connection may be silent.
func (cfg Config) next(ctx context.Context, from *watch.Watcher) (watch.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.KeepAlive)
	defer cancel()
	return from.Next(ctx)
}

func idOf(e watch.Event) string {
	if e.Rev == 0 {
		return ""
	}
	return strconv.FormatUint(e.Rev, 10)
}

// codeOf is the word for what has ended a watcher.
func codeOf(err error) string {
	if no, ok := errors.AsType[*protocol.RefusedError](err); ok {
		return string(no.Code)
	}
	return string(events.CodeUnavailable)
}

func said(code string, err error) []byte {
	data, cannot := json.Marshal(struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}{code, err.Error()})
	if cannot != nil {
		return []byte("{}")
	}
	return data
}
