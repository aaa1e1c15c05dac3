package page

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/protocol"
)

// trouble is a no in words for people.
type trouble struct {
	Status int    // of HTTP
	Title  string // what went wrong, in a few words
	Detail string // and what to do
	Code   events.Code
	Chat   string // to which there is a way back; may be empty
}

func (t trouble) Error() string { return t.Title + ": " + t.Detail }

// troubleOf says an error kindly. What it cannot name is for the log only: it might
// tell what is nobody's business.
func (p *Page) troubleOf(r *http.Request, err error) trouble {
	t := trouble{Chat: r.PathValue("chat")}
	known, isKnown := errors.AsType[trouble](err)
	no, isNo := errors.AsType[*protocol.RefusedError](err)
	switch {
	case isKnown:
		known.Chat = t.Chat
		return known
	case isNo:
		t.Status, t.Code, t.Title, t.Detail = no.Code.Info().HTTP, no.Code, title(no.Code), no.Detail
		if no.Code == events.CodeUnknownChat || no.Code == events.CodeErased {
			t.Chat = ""
		}
	case errors.Is(err, gateway.ErrUndecided):
		t.Status, t.Title = http.StatusAccepted, "Not decided yet"
		t.Detail = "What you sent is stored and will be decided. There is no need to send it again."
	case errors.Is(err, gateway.ErrUnavailable):
		t.Status, t.Title = http.StatusServiceUnavailable, "Nobody answers right now"
		t.Detail = "Please try again in a moment."
		if r.Method != http.MethodGet {
			t.Detail = "Nothing was sent. " + t.Detail
		}
	case errors.Is(err, protocol.ErrStorageFull):
		t.Status, t.Title = http.StatusInsufficientStorage, "There is no room right now"
		t.Detail = "Nothing was stored. Please try again later."
	case r.Context().Err() != nil:
		t.Status, t.Title, t.Detail = http.StatusServiceUnavailable, "This took too long", "Please try again."
	default:
		p.log.ErrorContext(r.Context(), "page", "path", r.URL.Path, "error", err)
		t.Status, t.Title, t.Detail = http.StatusInternalServerError, "Something went wrong here", "The gateway's log says more."
	}
	return t
}

// title is what a code means to a person.
func title(c events.Code) string {
	switch c {
	case events.CodeUnknownChat:
		return "No such chat"
	case events.CodeErased:
		return "This chat was erased"
	case events.CodeUnavailable:
		return "Not available right now"
	case events.CodeExists:
		return "This chat exists already"
	default:
		return cmp.Or(strings.TrimSuffix(c.Info().Meaning, "."), "This was refused")
	}
}

// refuse says no: as a fragment to htmx, which puts it where people look, and else as
// a page.
func (p *Page) refuse(w http.ResponseWriter, r *http.Request, t trouble) {
	name, status := "trouble", t.Status
	if isFragment(r) {
		name = "notice"
	}
	if err := p.show(w, status, name, t); err != nil {
		p.log.ErrorContext(r.Context(), "page", "path", r.URL.Path, "error", err)
		http.Error(w, t.Title, status)
	}
}

// isFragment reports whether htmx asks, for a piece of the page that is there.
func isFragment(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }

// turnAway says what the door says, in the form of the page.
func (p *Page) turnAway(w http.ResponseWriter, r *http.Request, no problem.Problem) {
	secure(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	if no.Code == problem.CodeUnauthorized {
		w.Header().Del("WWW-Authenticate") // a browser would ask by itself
		toLogin(w, r)
		return
	}
	p.refuse(w, r, trouble{Status: no.Status, Title: strings.TrimSuffix(no.Title, "."), Detail: no.Detail, Code: no.Code})
}
