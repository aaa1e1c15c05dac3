package page

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/identity"
)

// Config is what a page works with.
type Config struct {
	Chats Chats        // is asked and told everything
	Watch Watch        // says what happens in a chat while it does
	Log   *slog.Logger // default: nothing is logged
}

// Page serves HTML to people. It keeps nothing between two requests.
type Page struct {
	chats     Chats
	watch     Watch
	log       *slog.Logger
	templates *template.Template
	static    static
	mux       *http.ServeMux
	asks      []string // the patterns behind which somebody is asked for
	crossSite http.CrossOriginProtection
}

// New makes a page. Its requests carry an identity, as the gateway's door gives it.
func New(cfg Config) (*Page, error) {
	if cfg.Chats == nil || cfg.Watch == nil {
		return nil, errors.New("page: want Chats and Watch")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	files, err := readStatic()
	if err != nil {
		return nil, err
	}
	p := &Page{chats: cfg.Chats, watch: cfg.Watch, log: cfg.Log, static: files, mux: http.NewServeMux()}
	if p.templates, err = parseTemplates(files); err != nil {
		return nil, err
	}
	for pattern, handle := range map[string]handler{
		"GET /{$}":                       p.list,
		"POST /chats":                    p.create,
		"GET /c/{chat}":                  p.chat,
		"GET /c/{chat}/live":             p.live,
		"GET /c/{chat}/timeline":         p.timeline,
		"GET /c/{chat}/timeline/at":      p.timelineAt,
		"GET /c/{chat}/timeline/verify":  p.verify,
		"GET /c/{chat}/branches":         p.branches,
		"GET /c/{chat}/content/{digest}": p.content,
		"POST /c/{chat}/{verb}":          p.command,
	} {
		p.mux.Handle(pattern, p.asked(handle))
		p.asks = append(p.asks, pattern)
	}
	p.mux.Handle("GET /static/{file}", files)
	p.mux.HandleFunc("GET /login", p.login)
	return p, nil
}

// Ways are the ways in that the page has.
func (p *Page) Ways() []gateway.Way {
	ways := []gateway.Way{
		// The same for everybody.
		{Pattern: "GET /static/", Handler: p, Open: true},
		{Pattern: "GET /login", Handler: p, Open: true},
	}
	for _, pattern := range append(slices.Clone(p.asks), "GET /c/", "POST /c/") { // what is below is a page, too, if only to say that there is none
		ways = append(ways, gateway.Way{Pattern: pattern, Handler: p, Watches: strings.HasSuffix(pattern, "/live")})
	}
	for i := range ways {
		ways[i].Refuse = p.turnAway
	}
	return ways
}

// handler answers a request on behalf of somebody. Nothing was written yet when it
// returns an error.
type handler func(http.ResponseWriter, *http.Request, identity.Identity) error

// contentPolicy lets nothing in that is not ours: no script or style inside of a
// page, nothing of another site, no frame around it.
const contentPolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// ServeHTTP implements [http.Handler].
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	p.mux.ServeHTTP(w, r)
}

// secure sets the headers that every answer has.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// asked answers on behalf of whoever asks. What changes something must come from a
// page of ours: a browser sends along who somebody is, whoever wrote the page.
func (p *Page) asked(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		who, known := identity.Of(r.Context())
		if !known {
			p.refuse(w, r, trouble{Status: http.StatusUnauthorized, Title: "Please log in", Detail: "Nobody has said who you are."})
			return
		}
		if err := p.crossSite.Check(r); err != nil {
			p.refuse(w, r, trouble{Status: http.StatusForbidden, Title: "This came from another site", Detail: "Only this page may send commands."})
			return
		}
		if err := handle(w, r, who); err != nil {
			p.refuse(w, r, p.troubleOf(r, err))
		}
	})
}

// key names the chat that a request is about.
func key(r *http.Request, who identity.Identity) (events.Key, error) {
	k := events.Key{Tenant: who.Tenant, Chat: r.PathValue("chat")}
	if k.Validate() != nil {
		return k, trouble{Status: http.StatusNotFound, Title: "No such chat", Detail: "A chat has no such name."}
	}
	return k, nil
}

// show writes a template as a whole page. It is made before anything is written, so
// that a page is whole or an error.
func (p *Page) show(w http.ResponseWriter, status int, name string, data any) error {
	b, err := p.render(name, data)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b) // who has gone away needs no answer
	return nil
}

func (p *Page) render(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := p.templates.ExecuteTemplate(&b, name, data); err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	return b.Bytes(), nil
}
