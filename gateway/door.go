package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/gateway/problem"
)

// door finds out on whose behalf a request is. A token in the header counts before
// all else; where requests of this machine need none, a wrong one is still wrong.
type door struct {
	tokens    Tokens
	local     identity.Identity
	crossSite http.CrossOriginProtection // by what browsers say of a request, and no other client
}

// who is on whose behalf r is, or the problem that it is on nobody's.
func (d *door) who(r *http.Request) (identity.Identity, *problem.Problem) {
	if header := r.Header.Get("Authorization"); header != "" {
		return d.shown(header)
	}
	if d.local.Tenant != "" && isLocal(r) {
		if p := d.foreign(r); p != nil {
			return identity.Identity{}, p
		}
		return d.local, nil
	}
	return identity.Identity{}, unauthorized("show a token: Authorization: Bearer evt_…; `everturn tokens create` makes one")
}

// shown is who shows the token in that header.
func (d *door) shown(header string) (identity.Identity, *problem.Problem) {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return identity.Identity{}, unauthorized("Authorization: want Bearer and a token")
	}
	if d.tokens != nil {
		if i, ok := d.tokens.Identity(strings.TrimSpace(token)); ok {
			return i, nil
		}
	}
	return identity.Identity{}, unauthorized("this token does not count: it was never made, was revoked, or has expired")
}

func unauthorized(detail string) *problem.Problem {
	p := problem.New(problem.CodeUnauthorized, detail)
	return &p
}

// foreign is the problem that a page of another site makes a browser ask. A browser
// sends along what it has been given, whoever wrote the page.
func (d *door) foreign(r *http.Request) *problem.Problem {
	if err := d.crossSite.Check(r); err != nil {
		p := problem.New(problem.CodeCrossSite, "the browser says that another site asks")
		return &p
	}
	return nil
}

// isLocal reports whether r comes from this machine, for a name that only this
// machine has: a name of somebody else's may lead here, too, for the pages of that
// somebody. What a proxy passes on comes from who knows where.
func isLocal(r *http.Request) bool {
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if r.Header.Get(header) != "" {
			return false
		}
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback() && isLoopbackName(r.Host)
}

// isLoopbackName reports whether a Host header names this machine itself.
func isLoopbackName(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil && ip.IsLoopback()
}
