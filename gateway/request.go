package gateway

import (
	"context"
	"net/http"
	"runtime/debug"

	"github.com/oklog/ulid/v2"

	"github.com/everturn/everturn/gateway/problem"
)

const (
	headerRequestID   = "X-Request-Id"
	maxRequestIDBytes = 128
)

type requestKey struct{}

// requestID is by what the log and the client know a request.
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// named gives each request an id, that of its client if it has one that can be
// written anywhere.
func named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(headerRequestID)
		if !isPlain(id) {
			id = ulid.Make().String()
		}
		h := w.Header()
		h.Set(headerRequestID, id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store") // whoever knows better says so
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, id)))
	})
}

// isPlain reports whether id consists of at least one, and not too many, of the
// characters that ids are made of.
func isPlain(id string) bool {
	if id == "" || len(id) > maxRequestIDBytes {
		return false
	}
	for _, c := range []byte(id) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// caught turns a panic into an answer: one request that nobody thought of must not
// end what all others are served by.
func (g *Gateway) caught(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
				panic(p)
			}
			g.metrics.panics.Add(r.Context(), 1)
			g.cfg.Log.ErrorContext(r.Context(), "a request panicked",
				"request", requestID(r.Context()), "route", r.Pattern, "panic", p, "stack", string(debug.Stack()))
			if l, ok := w.(*leaving); ok && l.begun { // the client is not to take it for a whole answer
				panic(http.ErrAbortHandler)
			}
			problem.Write(w, r, problem.New(problem.CodeInternal, "the gateway's log says more, under the X-Request-Id of this answer"))
		}()
		next.ServeHTTP(w, r)
	})
}

// found answers what no way in is for as all other problems are answered.
func found(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		said := &refusal{header: http.Header{}}
		mux.ServeHTTP(said, r) // it knows which methods there are
		if allow := said.header.Get("Allow"); allow != "" {
			w.Header().Set("Allow", allow)
			problem.Write(w, r, problem.New(problem.CodeBadMethod, "allowed are "+allow))
			return
		}
		problem.Write(w, r, problem.New(problem.CodeNotFound, "docs/HTTP.md has a table of what there is; /openapi.json has it for programs"))
	})
}

// refusal is an answer of which only the header is wanted.
type refusal struct{ header http.Header }

func (r *refusal) Header() http.Header       { return r.header }
func (*refusal) Write(b []byte) (int, error) { return len(b), nil }
func (*refusal) WriteHeader(int)             {}
