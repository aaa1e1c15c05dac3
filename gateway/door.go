package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/protocol"
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
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return identity.Identity{}, unauthorized("Authorization: want Bearer and a token")
		}
		return d.shown(r, strings.TrimSpace(token))
	}
	shown, hasSession := session(r)
	local := d.local.Tenant != "" && isLocal(r)
	if !hasSession && !local {
		return identity.Identity{}, unauthorized("show a token: Authorization: Bearer evt_…; `everturn tokens create` makes one")
	}
	if p := d.foreign(r); p != nil {
		return identity.Identity{}, p
	}
	if hasSession {
		if i, no := d.shown(r, shown); no == nil || !local {
			return i, no
		}
	}
	i := d.local
	return speaking(r, i, "", i.By)
}

// shown is who shows that token.
func (d *door) shown(r *http.Request, token string) (identity.Identity, *problem.Problem) {
	i, err := d.holder(token)
	switch {
	case errors.Is(err, ErrNoToken):
		return identity.Identity{}, unauthorized(err.Error())
	case err != nil:
		p := ProblemOf(err)
		return identity.Identity{}, &p
	}
	return speaking(r, i, i.By, "token:"+i.Token)
}

// holder is who has a token.
func (d *door) holder(token string) (identity.Identity, error) {
	if d.tokens == nil {
		return identity.Identity{}, ErrNoToken
	}
	return d.tokens.Identity(token)
}

// maxByBytes bounds who a client may say it is. Orchestrators take no more.
const maxByBytes = 256

// speaking is i with who is said to send what r asks for. Whoever made a token may
// have said it for good; else it is who the client says, and else it is otherwise.
func speaking(r *http.Request, i identity.Identity, always, otherwise string) (identity.Identity, *problem.Problem) {
	said := r.Header.Get(protocol.HeaderBy)
	no := func(detail string) (identity.Identity, *problem.Problem) {
		p := problem.New(problem.CodeBadRequest, protocol.HeaderBy+": "+detail)
		return identity.Identity{}, &p
	}
	switch {
	case len(said) > maxByBytes:
		return no(fmt.Sprintf("at most %d bytes are allowed", maxByBytes))
	case always != "" && said != "" && said != always:
		return no("this token speaks for somebody whom its maker has named, and for nobody else")
	}
	i.By = cmp.Or(always, said, otherwise)
	return i, nil
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
