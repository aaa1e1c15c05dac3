package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/everturn/everturn/gateway/identity"
)

// known are tokens by their text.
type known map[string]identity.Identity

func (k known) Identity(token string) (identity.Identity, error) {
	if i, ok := k[token]; ok {
		return i, nil
	}
	return identity.Identity{}, ErrNoToken
}

// request is a GET that seems to come from an address.
func request(t *testing.T, from, host string, header ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chats", http.NoBody)
	r.RemoteAddr, r.Host = from, host
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func TestTheDoorSaysWhoIsAsking(t *testing.T) {
	t.Parallel()
	const here, there = "127.0.0.1:40000", "192.0.2.1:40000"
	tokens := known{"evt_acme": {Tenant: "acme", By: "ann"}}
	for _, tt := range []struct {
		name  string
		local bool
		r     *http.Request
		then  string // the tenant, or the code of the problem
	}{
		{"a token is its tenant", false, request(t, there, "chats.example", "Authorization", "Bearer evt_acme"), "acme"},
		{"the scheme is read in any case", false, request(t, there, "chats.example", "Authorization", "bearer evt_acme"), "acme"},
		{"a token that nobody made is none", false, request(t, there, "chats.example", "Authorization", "Bearer evt_other"), "unauthorized"},
		{"another scheme is none", false, request(t, there, "chats.example", "Authorization", "Basic evt_acme"), "unauthorized"},
		{"without a token there is nobody", false, request(t, here, "localhost:8080"), "unauthorized"},
		{"on a laptop this machine needs no token", true, request(t, here, "localhost:8080"), "default"},
		{"nor does it by its address", true, request(t, "[::1]:40000", "[::1]:8080"), "default"},
		{"a wrong token is wrong there, too", true, request(t, here, "localhost:8080", "Authorization", "Bearer evt_other"), "unauthorized"},
		{"a token counts there, too", true, request(t, here, "localhost:8080", "Authorization", "Bearer evt_acme"), "acme"},
		{"another machine needs one", true, request(t, there, "localhost:8080"), "unauthorized"},
		{"a name of somebody else's that leads here is not this machine", true, request(t, here, "rebound.example:8080"), "unauthorized"},
		{"a name that begins like this machine's is not it", true, request(t, here, "localhost.rebound.example"), "unauthorized"},
		{"what a proxy passes on does not come from here", true, request(t, here, "localhost:8080", "X-Forwarded-For", "192.0.2.1"), "unauthorized"},
		{"a page of another site is not this machine's user", true, request(t, here, "localhost:8080", "Sec-Fetch-Site", "cross-site"), "cross_site"},
		{"nor by an older browser", true, request(t, here, "localhost:8080", "Origin", "https://evil.example"), "cross_site"},
		{"our own page is", true, request(t, here, "localhost:8080", "Origin", "http://localhost:8080"), "default"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := door{tokens: tokens}
			if tt.local {
				d.local = identity.Identity{Tenant: "default"}
			}
			i, no := d.who(tt.r)
			got := i.Tenant
			if no != nil {
				got = string(no.Code)
			}
			if got != tt.then {
				t.Errorf("it is %q, want %q", got, tt.then)
			}
		})
	}
}

func TestAWayInIsAskedOnSomebodysBehalfOrNotAtAll(t *testing.T) {
	t.Parallel()
	asked := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, _ := identity.Of(r.Context())
		w.Header().Set("Tenant", i.Tenant)
	})
	g, err := New(Config{
		Chats: Limit(struct{ Chats }{}, Quotas{}, nil), Tokens: known{"evt_acme": {Tenant: "acme"}},
		Ways: []Way{{Pattern: "POST /v1/test", Handler: asked}, {Pattern: "GET /login", Handler: asked, Open: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method, path, token string
		status              int
		tenant              string
	}{
		{"POST", "/v1/test", "evt_acme", http.StatusOK, "acme"},
		{"POST", "/v1/test", "", http.StatusUnauthorized, ""},
		{"GET", "/login", "", http.StatusOK, ""},
		{"GET", "/healthz", "", http.StatusOK, ""},
		{"GET", "/readyz", "", http.StatusOK, ""},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(context.WithoutCancel(t.Context()), tt.method, tt.path, http.NoBody)
		if tt.token != "" {
			r.Header.Set("Authorization", "Bearer "+tt.token)
		}
		g.Handler().ServeHTTP(w, r)
		if w.Code != tt.status || w.Header().Get("Tenant") != tt.tenant {
			t.Errorf("%s %s: status %d for tenant %q, want %d for %q", tt.method, tt.path, w.Code, w.Header().Get("Tenant"), tt.status, tt.tenant)
		}
	}
}
