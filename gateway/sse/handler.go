package sse

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/gateway/watch"
	"github.com/everturn/everturn/protocol"
)

// Pattern is where [Handler] is mounted.
const Pattern = "GET /v1/chats/{chat}/events"

// retrySoon is when to ask again where nobody could answer.
const retrySoon = time.Second

// Handler gives what happens in a chat, to the tenant that the request is for, until
// the client leaves. The cursor is the header Last-Event-ID, or else the query
// parameter "after". It is mounted at [Pattern], behind the door.
type Handler struct {
	Hub *watch.Hub

	KeepAlive    time.Duration // 0 is [KeepAlive]
	WriteTimeout time.Duration // 0 is [WriteTimeout]
}

// ServeHTTP implements [http.Handler].
func (h Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	watcher, err := h.open(r)
	if err != nil {
		problem.Write(w, r, problemOf(err))
		return
	}
	defer watcher.Close()
	out, err := newWriter(w, cmp.Or(h.WriteTimeout, WriteTimeout))
	if err != nil {
		return // nobody is left to tell
	}
	h.give(r.Context(), watcher, out)
}

func (h Handler) open(r *http.Request) (*watch.Watcher, error) {
	who, ok := identity.Of(r.Context())
	if !ok {
		return nil, problem.New(problem.CodeUnauthorized, "")
	}
	cursor, err := cursorOf(r)
	if err != nil {
		return nil, err
	}
	return h.Hub.Open(r.Context(), events.Key{Tenant: who.Tenant, Chat: r.PathValue("chat")}, cursor)
}

// problemOf is why nothing can be watched. What is neither about the request nor about
// the chat passes.
func problemOf(err error) problem.Problem {
	if errors.As(err, new(problem.Problem)) || errors.As(err, new(*protocol.RefusedError)) {
		return problem.Of(err)
	}
	detail := "nobody answers now; try again"
	if errors.Is(err, watch.ErrFull) || errors.Is(err, watch.ErrStopped) {
		detail = err.Error()
	}
	p := problem.New(events.CodeUnavailable, detail)
	p.Retry = retrySoon
	return p
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
		return "", problem.New(problem.CodeBadRequest, "after: want the rev of the newest commit that was seen, or 0")
	}
	return after, nil
}

// give writes events until one of both ends leaves.
func (h Handler) give(ctx context.Context, from *watch.Watcher, out *Writer) {
	for {
		e, err := h.next(ctx, from)
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
func (h Handler) next(ctx context.Context, from *watch.Watcher) (watch.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(h.KeepAlive, KeepAlive))
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
