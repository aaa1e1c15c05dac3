package mcp

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// reconnects is how often a stream that broke is taken up again before its calls are
// given up, which is after less than five seconds.
const reconnects = 3

// endpoint is the address of a server that speaks HTTP.
func endpoint(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("want http://… or https://…") // the error would show the address
	}
	return u, nil
}

// remote is how one connection to a server over HTTP is made.
func remote(s Server) (mcp.Transport, error) {
	u, err := endpoint(s.URL)
	if err != nil {
		return nil, err
	}
	h := &headed{base: http.DefaultTransport, host: u, headers: http.Header{}}
	for name, value := range s.Headers {
		h.headers.Set(name, value)
	}
	return &mcp.StreamableClientTransport{
		Endpoint: s.URL, MaxRetries: reconnects, MaxEventSize: maxMessageBytes,
		HTTPClient: &http.Client{Transport: h, CheckRedirect: h.redirected},
	}, nil
}

// headed adds headers to requests, and bounds answers.
type headed struct {
	base    http.RoundTripper
	host    *url.URL
	headers http.Header
}

// errElsewhere: headers are secrets of one host.
var errElsewhere = errors.New("the server sends us to another one, where we do not go")

func (h *headed) redirected(r *http.Request, _ []*http.Request) error {
	if !h.same(r.URL) {
		return errElsewhere
	}
	return nil
}

func (h *headed) same(u *url.URL) bool { return u.Scheme == h.host.Scheme && u.Host == h.host.Host }

// RoundTrip implements [http.RoundTripper].
func (h *headed) RoundTrip(r *http.Request) (*http.Response, error) {
	if !h.same(r.URL) {
		return nil, errElsewhere
	}
	r = r.Clone(r.Context())
	maps.Copy(r.Header, h.headers)
	answer, err := h.base.RoundTrip(r)
	if r.Method == http.MethodPost && !unsent(err) && !forgotten(r, answer) {
		begun(r.Context())
	}
	if err == nil && !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") { // whose events are bounded one by one
		answer.Body = &bounded{ReadCloser: answer.Body, left: maxMessageBytes}
	}
	return answer, err
}

// sessionHeader names the session that a request is of.
const sessionHeader = "Mcp-Session-Id"

// forgotten says whether an answer means that the server knows the session no more, and
// so has done nothing.
func forgotten(r *http.Request, answer *http.Response) bool {
	return answer != nil && answer.StatusCode == http.StatusNotFound && r.Header.Get(sessionHeader) != ""
}

// bounded is a body that may not be longer.
type bounded struct {
	io.ReadCloser

	left int64
}

// Read implements [io.Reader].
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("an answer of more than 16 MiB")
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
