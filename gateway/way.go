package gateway

import (
	"net/http"

	"github.com/everturn/everturn/gateway/problem"
)

// Way is a way in beside the JSON API: what happens in a chat, the API of others, a
// page. Its handler finds in identity.Of(r.Context()) on whose behalf it is asked.
type Way struct {
	// Pattern is that of http.ServeMux, with a method: "GET /v1/chats/{chat}/events".
	Pattern string

	Handler http.Handler

	// Open lets in whoever asks: a form to log in, style sheets. There need be no
	// identity then.
	Open bool

	// Watches says that each request stays open, and counts against the tenant's
	// quota of watchers for as long as it does.
	Watches bool

	// MaxBodyBytes is how large the body of a request may be, where it may be larger than
	// that of a command. The handler holds to it. Until it has closed the body, or
	// returned, the body counts against what bodies of the tenant may take of memory.
	MaxBodyBytes int64

	// Refuse says no in the form that the clients of this way understand. Default:
	// [problem.Write].
	Refuse func(http.ResponseWriter, *http.Request, problem.Problem)
}

// refuse says no.
func (w Way) refuse(rw http.ResponseWriter, r *http.Request, p problem.Problem) {
	if w.Refuse != nil {
		p.Headers(rw.Header())
		w.Refuse(rw, r, p)
		return
	}
	problem.Write(rw, r, p)
}
