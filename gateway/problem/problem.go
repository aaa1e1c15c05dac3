// Package problem is how the gateway says no over HTTP, as RFC 9457 has it.
package problem

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// ContentType is what a problem is.
const ContentType = "application/problem+json"

// Problem is a no to a request. Programs look at Code, people read Detail.
type Problem struct {
	Type   string      `json:"type"`             // always about:blank: Code says which problem it is
	Title  string      `json:"title"`            // what the code means
	Status int         `json:"status"`           // of HTTP
	Code   events.Code `json:"code"`             // as in docs/COMMANDS.md, and those of this package
	Detail string      `json:"detail,omitempty"` // what was wrong with this request, and what to do
	ID     string      `json:"id,omitempty"`     // of the command that was turned down
	Errors []Fault     `json:"errors,omitempty"` // of a request in which more than one thing is wrong

	Retry time.Duration `json:"-"` // after that long asking again may help; 0: it does not say
}

// Fault is one of the things that are wrong with a request.
type Fault struct {
	Where  string `json:"where"` // such as query.limit
	Detail string `json:"detail"`
}

// Codes that only a gateway has.
const (
	CodeUnauthorized events.Code = "unauthorized"           // no token, or none that counts
	CodeCrossSite    events.Code = "cross_site"             // a page of another site has asked
	CodeNotFound     events.Code = "not_found"              // no such route
	CodeBadMethod    events.Code = "bad_method"             // a route, and not by this method
	CodeTooMany      events.Code = "too_many"               // over a quota of the tenant
	CodeInternal     events.Code = "internal"               // our fault
	CodeStorageFull  events.Code = "storage_full"           // no room for commands now
	CodeBadRequest   events.Code = "bad_request"            // a parameter or header that is unknown or cannot be read
	CodeTimeout      events.Code = "request_timeout"        // a body that did not arrive in time
	CodeBadMedia     events.Code = "unsupported_media_type" // a body of a kind that is not read
)

// Codes are those that only a gateway has.
func Codes() []events.Code {
	return []events.Code{
		CodeUnauthorized, CodeCrossSite, CodeNotFound, CodeBadMethod, CodeTooMany, CodeInternal, CodeStorageFull, CodeBadRequest,
		CodeTimeout, CodeBadMedia,
	}
}

// meanings are the titles and statuses of those codes.
func meanings(c events.Code) (status int, title string) {
	switch c {
	case CodeUnauthorized:
		return http.StatusUnauthorized, "A token is wanted."
	case CodeCrossSite:
		return http.StatusForbidden, "Pages of other sites may not ask this."
	case CodeNotFound:
		return http.StatusNotFound, "There is nothing at this address."
	case CodeBadMethod:
		return http.StatusMethodNotAllowed, "This address does not take that method."
	case CodeTooMany:
		return http.StatusTooManyRequests, "A quota of the tenant is used up."
	case CodeStorageFull:
		return http.StatusInsufficientStorage, "There is no room for commands now."
	case CodeBadRequest:
		return http.StatusUnprocessableEntity, "A parameter or header is unknown, or cannot be read."
	case CodeTimeout:
		return http.StatusRequestTimeout, "The body did not arrive in time."
	case CodeBadMedia:
		return http.StatusUnsupportedMediaType, "A body of that kind is not read."
	case CodeInternal:
		return http.StatusInternalServerError, "The gateway has failed."
	}
	info := c.Info()
	return info.HTTP, info.Meaning
}

// New is the problem with that code.
func New(c events.Code, detail string) Problem {
	status, title := meanings(c)
	if title == "" {
		title = http.StatusText(status)
	}
	return Problem{Type: "about:blank", Title: title, Status: status, Code: c, Detail: detail}
}

// GetStatus is its status, GetHeaders what goes along with it, and ContentType what it
// is: as the JSON API asks for them.
func (p Problem) GetStatus() int { return p.Status }

// GetHeaders is as [Problem.GetStatus].
func (p Problem) GetHeaders() http.Header {
	h := http.Header{"Cache-Control": {"no-store"}}
	p.Headers(h)
	return h
}

// ContentType is as [Problem.GetStatus].
func (p Problem) ContentType(string) string { return ContentType }

// Error implements error.
func (p Problem) Error() string {
	if p.Detail == "" {
		return string(p.Code)
	}
	return string(p.Code) + ": " + p.Detail
}

// Of is the problem that err comes to. Only a [Problem] and a
// [*protocol.RefusedError] keep their words: any other might tell what is nobody's
// business, so it is one of ours, to be logged by the caller.
func Of(err error) Problem {
	if p, ok := errors.AsType[Problem](err); ok {
		return p
	}
	if no, ok := errors.AsType[*protocol.RefusedError](err); ok {
		return New(no.Code, no.Detail)
	}
	return New(CodeInternal, "the gateway's log says more, under the X-Request-Id of this answer")
}

// Write answers a request with p. Nothing of the answer may have been written yet.
func Write(w http.ResponseWriter, _ *http.Request, p Problem) {
	h := w.Header()
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store")
	p.Headers(h)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // who has gone away needs no answer
}

// Headers sets what goes along with p in the header of its answer.
func (p Problem) Headers(h http.Header) {
	if p.Retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.Retry.Seconds()))))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="everturn"`)
	}
}
