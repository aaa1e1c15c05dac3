package gateway

import (
	"cmp"
	"io"
	"net/http"
	"time"

	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/protocol"
)

// patient bounds how long a client may take to send its request and to accept the
// answer. It is around everything: also who is turned away holds a connection, and
// the server waits for the rest of a body that nobody wants.
func (g *Gateway) patient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l := &leaving{
			ResponseWriter: w, control: http.NewResponseController(w),
			wait: g.cfg.AnswerWait, arrives: r.Body != nil && r.Body != http.NoBody,
		}
		_ = l.control.SetWriteDeadline(time.Time{}) // of the request before; where there are no deadlines, none is needed
		_ = l.SetReadDeadline(time.Now().Add(g.cfg.BodyWait))
		next.ServeHTTP(l, r)
	})
}

// leaving is an answer. Who writes one for long sets a deadline for each piece.
type leaving struct {
	http.ResponseWriter

	control *http.ResponseController
	wait    time.Duration
	arrives bool // there is a body
	begun   bool
}

// SetReadDeadline bounds how long a body may take to arrive. Without one the server
// reads already, to learn that the client has left, and would take a deadline for that.
func (l *leaving) SetReadDeadline(at time.Time) error {
	if !l.arrives {
		return nil
	}
	return l.control.SetReadDeadline(at)
}

func (l *leaving) begin() {
	if !l.begun {
		l.begun = true
		_ = l.control.SetWriteDeadline(time.Now().Add(l.wait))
	}
}

// WriteHeader implements [http.ResponseWriter].
func (l *leaving) WriteHeader(status int) {
	l.begin()
	l.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (l *leaving) Write(b []byte) (int, error) {
	l.begin()
	return l.ResponseWriter.Write(b)
}

// Unwrap lets [http.ResponseController] find what can be done with the connection.
func (l *leaving) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// body takes r's body into account. The request that it gives has one that ends that
// when it is closed.
func (g *Gateway) body(w Way, tenant string, r *http.Request) (held *http.Request, done func(), no *problem.Problem) {
	bytes := cmp.Or(w.MaxBodyBytes, protocol.MaxCommandBytes)
	if r.ContentLength >= 0 {
		bytes = min(bytes, r.ContentLength)
	}
	if bytes == 0 {
		return r, func() {}, nil
	}
	done, no = g.cfg.Chats.hold(tenant, bytes)
	if no != nil {
		return nil, nil, no
	}
	held = r.WithContext(r.Context()) // the server looks at the body of its own, to see what is left of it
	held.Body = counting{r.Body, done}
	return held, done, nil
}

// counting is a body that is counted until it is closed.
type counting struct {
	io.ReadCloser

	done func()
}

// Close implements [io.Closer].
func (c counting) Close() error {
	c.done()
	return c.ReadCloser.Close()
}
