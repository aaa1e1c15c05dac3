package page

import (
	"net/http"
	"net/url"
)

// loginPage is the form by which a browser shows its token from then on. The gateway
// takes what it sends.
type loginPage struct {
	Next   string // where to go then
	Failed bool   // the token before did not count
}

func (p *Page) login(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	asked := r.URL.Query()
	shown := loginPage{Next: asked.Get("next"), Failed: asked.Has("failed")}
	if err := p.show(w, http.StatusOK, "login", shown); err != nil {
		p.refuse(w, r, p.troubleOf(r, err))
	}
}

// toLogin sends a browser to the form, and back from there.
func toLogin(w http.ResponseWriter, r *http.Request) {
	address := "/login"
	if r.Method == http.MethodGet && !isFragment(r) {
		address += "?" + url.Values{"next": {r.URL.RequestURI()}}.Encode()
	}
	if isFragment(r) {
		w.Header().Set("HX-Redirect", address)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	http.Redirect(w, r, address, http.StatusSeeOther)
}
