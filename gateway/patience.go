package gateway

import (
	"net/http"
	"time"
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
