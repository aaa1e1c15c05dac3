// Package problem is how the gateway says no over HTTP, as RFC 9457 has it.
package problem

import (
	"cmp"
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
type Problem struct { //nolint:errname // the name that RFC 9457 has for it
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

// own are what those codes mean. The titles say it in one sentence.
func own() []events.CodeInfo {
	return []events.CodeInfo{
		{Code: CodeUnauthorized, HTTP: http.StatusUnauthorized, Meaning: "A token is wanted."},
		{Code: CodeCrossSite, HTTP: http.StatusForbidden, Meaning: "Pages of other sites may not ask this."},
		{Code: CodeNotFound, HTTP: http.StatusNotFound, Meaning: "There is nothing at this address."},
		{Code: CodeBadMethod, HTTP: http.StatusMethodNotAllowed, Meaning: "This address does not take that method."},
		{Code: CodeTooMany, HTTP: http.StatusTooManyRequests, Meaning: "A quota of the tenant is used up."},
		{Code: CodeInternal, HTTP: http.StatusInternalServerError, Meaning: "The gateway has failed."},
		{Code: CodeStorageFull, HTTP: http.StatusInsufficientStorage, Meaning: "There is no room for commands now."},
		{Code: CodeBadRequest, HTTP: http.StatusUnprocessableEntity, Meaning: "A parameter or header is unknown, or cannot be read."},
		{Code: CodeTimeout, HTTP: http.StatusRequestTimeout, Meaning: "The body did not arrive in time."},
		{Code: CodeBadMedia, HTTP: http.StatusUnsupportedMediaType, Meaning: "A body of that kind is not read."},
	}
}

// Codes are those that only a gateway has.
func Codes() []events.Code {
	var list []events.Code
	for _, info := range own() {
		list = append(list, info.Code)
	}
	return list
}

// about is what a code means.
func about(c events.Code) events.CodeInfo {
	for _, info := range own() {
		if info.Code == c {
			return info
		}
	}
	return c.Info()
}

// New is the problem with that code.
func New(c events.Code, detail string) Problem {
	info := about(c)
	return Problem{
		Type: "about:blank", Title: cmp.Or(info.Meaning, http.StatusText(info.HTTP)), Status: info.HTTP, Code: c, Detail: detail,
	}
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
