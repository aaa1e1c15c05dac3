package gateway

import (
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/everturn/everturn/gateway/problem"
)

// A browser shows its token in a cookie, since it can put none into the header of
// what a page opens by itself: an image, a stream of events. No script can read it,
// and no other site makes the browser send it.
const (
	sessionCookie       = "everturn_token"
	secureSessionCookie = "__Host-everturn_token" // of https: no other name may set it, either
	sessionTime         = 30 * 24 * time.Hour     // the token may count for less
	maxLoginBytes       = 8 << 10
)

// session is the token that a browser shows.
func session(r *http.Request) (token string, ok bool) {
	name := sessionCookie
	if isSecure(r) {
		name = secureSessionCookie
	}
	c, err := r.Cookie(name)
	if err != nil || c.Value == "" {
		return "", false
	}
	return c.Value, true
}

// isSecure reports whether the browser speaks https, to us or to a proxy of ours. A
// client that lies about it hurts itself.
func isSecure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// keep has the browser keep a token, for no time at all if it is empty.
func keep(w http.ResponseWriter, r *http.Request, token string) {
	c := http.Cookie{
		Name: sessionCookie, Value: token, Path: "/", MaxAge: int(sessionTime.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: isSecure(r),
	}
	if c.Secure {
		c.Name = secureSessionCookie
	}
	if token == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, &c)
}

// login begins a session with the field token of a form. The field next says where to
// go then.
func (g *Gateway) login(w http.ResponseWriter, r *http.Request) {
	if p := g.door.foreign(r); p != nil {
		problem.Write(w, r, *p)
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		problem.Write(w, r, problem.New(problem.CodeBadMedia, "want a form, application/x-www-form-urlencoded, with the field token"))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxLoginBytes)
	token, next := strings.TrimSpace(r.PostFormValue("token")), r.PostFormValue("next")
	_, no := g.door.shown(r, token)
	switch {
	case no == nil:
		keep(w, r, token)
		http.Redirect(w, r, inHere(next), http.StatusSeeOther)
	case asksForPage(r):
		http.Redirect(w, r, "/login?failed="+string(no.Code), http.StatusSeeOther)
	default:
		problem.Write(w, r, *no)
	}
}

// logout ends a session. The token stays good elsewhere.
func (g *Gateway) logout(w http.ResponseWriter, r *http.Request) {
	if p := g.door.foreign(r); p != nil {
		problem.Write(w, r, *p)
		return
	}
	keep(w, r, "")
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// inHere is an address of ours to go on to, so that nobody can have a login lead
// elsewhere.
func inHere(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return next
}

// asksForPage reports whether r wants something to look at.
func asksForPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }
