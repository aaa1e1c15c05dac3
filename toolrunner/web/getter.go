package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Limits of asking.
const (
	DefaultTime    = 20 * time.Second // for everything: names, connections, redirects, content
	MaxURLBytes    = 8 << 10
	MaxPageBytes   = 5 << 20 // as unpacked
	maxRedirects   = 5
	maxHeaderBytes = 64 << 10
)

// userAgent is what servers are told of who asks.
const userAgent = "Everturn (fetch_url)"

// Config says whom to ask, and how. The zero value asks the public internet.
type Config struct {
	// Allowed may be asked as well.
	Allowed Allowed

	// Time is how long getting a page may take in all. Default [DefaultTime].
	Time time.Duration

	// Resolver looks names up. Default: that of the system.
	Resolver *net.Resolver

	// Roots are who may vouch for a server. Default: those of the system.
	Roots *x509.CertPool
}

// Getter gets pages. It is safe for concurrent use, keeps no cookies, and goes through
// no proxy, whatever the environment says.
type Getter struct {
	cfg    Config
	client *http.Client
}

// NewGetter makes a getter.
func NewGetter(cfg Config) *Getter {
	cfg.Time = cmp.Or(cfg.Time, DefaultTime)
	g := &Getter{cfg: cfg}
	g.client = &http.Client{
		Transport: &http.Transport{
			DialContext:            g.dial,
			TLSClientConfig:        &tls.Config{RootCAs: cfg.Roots, MinVersion: tls.VersionTLS12},
			DisableKeepAlives:      true, // each request is judged by its own connection
			MaxResponseHeaderBytes: maxHeaderBytes,
		},
		CheckRedirect: redirect,
	}
	return g
}

// Page is what lay at an address.
type Page struct {
	URL       string // where it was found in the end, without a fragment
	Status    int
	MediaType string // in lower case, without parameters; as the server says, or as it looks
	Charset   string // as the server says, or empty
	Content   []byte // the first [MaxPageBytes]
	Truncated bool   // there is more
	Broken    bool   // the connection broke off within the content
}

// Get asks for what lies at an address. An error says what the one who chose the
// address can do; it names nothing of the own network.
func (g *Getter) Get(ctx context.Context, address string) (Page, error) {
	target, err := parse(address)
	if err != nil {
		return Page{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, g.cfg.Time, errTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return Page{}, errors.New("this is no address")
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", "text/html, text/*;q=0.9, application/json;q=0.9, image/*;q=0.8, */*;q=0.5")
	response, err := g.client.Do(request) //nolint:bodyclose // closed by content
	switch {
	case err != nil:
		return Page{}, explain(ctx, err)
	case response.StatusCode == http.StatusSwitchingProtocols: // such a connection is ours, and no end of ctx would end it
		_ = response.Body.Close() // nothing was read of it
		return Page{}, errors.New("it wants to speak another protocol than HTTP")
	}
	return content(ctx, response)
}

var errTime = errors.New("the time for it is over")

// parse is an address of the web, or what is wrong with it.
func parse(address string) (*url.URL, error) {
	if len(address) > MaxURLBytes {
		return nil, fmt.Errorf("the address has %d bytes, at most %d are allowed", len(address), MaxURLBytes)
	}
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return nil, errors.New("this is no address; want one such as https://example.com/page")
	}
	if err := check(u); err != nil {
		return nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func check(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%.20q addresses are not fetched, only http and https", u.Scheme)
	case u.User != nil:
		return errors.New("an address with a name or a password in it is not fetched")
	case u.Hostname() == "" || u.Opaque != "":
		return errors.New("the address names no host")
	case strings.ContainsAny(u.Hostname(), "%\x00 "):
		return errors.New("the address names a host that there cannot be")
	}
	return nil
}

var errRedirects = fmt.Errorf("more than %d redirects", maxRedirects)

// redirect judges each further address as the first.
func redirect(r *http.Request, before []*http.Request) error {
	if len(before) > maxRedirects {
		return errRedirects
	}
	if err := check(r.URL); err != nil {
		return fmt.Errorf("it redirects: %w", err)
	}
	if len(r.URL.String()) > MaxURLBytes {
		return fmt.Errorf("it redirects to an address of more than %d bytes", MaxURLBytes)
	}
	r.Header.Del("Referer") // the next one need not know
	return nil
}

// dial connects to a host that may be asked.
func (g *Getter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Resolver: g.cfg.Resolver, ControlContext: g.control}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	if g.cfg.Allowed.name(host, uint16(n)) {
		dialer.ControlContext = nil
	}
	return dialer.DialContext(ctx, network, address)
}

// control is called with the address that a connection is about to be made to.
func (g *Getter) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !g.cfg.Allowed.address(to) {
		return ErrAddress
	}
	return nil
}

// explain says what went wrong, without the addresses that names led to.
func explain(ctx context.Context, err error) error {
	var (
		name    *net.DNSError
		foreign *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		asked   *url.Error
	)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, ErrAddress):
		return ErrAddress
	case errors.Is(err, errRedirects):
		return errRedirects
	case errors.As(err, &name):
		return fmt.Errorf("there is no host %.100q, or nobody could say", name.Name)
	case errors.As(err, &foreign):
		return fmt.Errorf("its certificate is not trusted: %w", foreign.Err)
	case errors.As(err, &record):
		return errors.New("it does not speak TLS")
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return errors.New("nobody answers there")
	case errors.As(err, &asked):
		if _, network := errors.AsType[*net.OpError](asked.Err); !network {
			return asked.Err
		}
	}
	return errors.New("the connection broke off")
}

// content reads the content of a response, as much of it as is kept.
func content(ctx context.Context, r *http.Response) (Page, error) {
	defer r.Body.Close()
	final := *r.Request.URL
	final.Fragment, final.RawFragment = "", ""
	p := Page{URL: final.String(), Status: r.StatusCode}
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxPageBytes+1))
	switch {
	case err == nil:
	case ctx.Err() != nil && len(body) == 0:
		return Page{}, context.Cause(ctx)
	case len(body) == 0:
		return Page{}, errors.New("the connection broke off before there was any content")
	default:
		p.Broken = true
	}
	if p.Truncated = len(body) > MaxPageBytes; p.Truncated {
		body = body[:MaxPageBytes]
	}
	p.Content = bytes.Clone(body)
	media, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media == "" {
		media, parameters, _ = mime.ParseMediaType(http.DetectContentType(body)) // what comes of that is well formed
		delete(parameters, "charset")
	}
	p.MediaType, p.Charset = media, parameters["charset"]
	return p, nil
}
