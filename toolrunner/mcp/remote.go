package mcp

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// reconnects is how often a stream that broke is taken up again before its calls are
// given up, which is after less than five seconds.
const reconnects = 3

// Limits of what is sent that nobody waits for: answers to what a server asks, and the
// word that its news are listened to.
const (
	unhurriedWait = 5 * time.Second // for the beginning of an answer
	maxUnhurried  = 64              // at once
)

const maxRedirects = 10

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
	h := &headed{base: http.DefaultTransport, host: u, headers: http.Header{}, unhurried: make(chan struct{}, maxUnhurried)}
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

	unhurried chan struct{} // has room for requests without a deadline
}

// errElsewhere: headers are secrets of one host.
var errElsewhere = errors.New("the server sends us to another one, where we do not go")

func (h *headed) redirected(r *http.Request, before []*http.Request) error {
	if len(before) >= maxRedirects {
		return errors.New("the server sends us on and on")
	}
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
	answer, err := h.send(r)
	if r.Method == http.MethodPost && !unsent(err) && !forgotten(r, answer) {
		begun(r.Context())
	}
	if err == nil && !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") { // whose events are bounded one by one
		answer.Body = &bounded{ReadCloser: answer.Body, left: maxMessageBytes}
	}
	return answer, err
}

// send sends a request. One that has no deadline, and is no stream that we ask for, gets
// one for the beginning of its answer: else a server could make us wait for ever, and
// with it whoever waits for the end of the session.
func (h *headed) send(r *http.Request) (*http.Response, error) {
	if _, bounded := r.Context().Deadline(); bounded || r.Method != http.MethodPost {
		return h.base.RoundTrip(r)
	}
	select {
	case h.unhurried <- struct{}{}:
		defer func() { <-h.unhurried }()
	default:
		return nil, errors.New("the server asks and does not take the answers")
	}
	ctx, cancel := context.WithCancel(r.Context())
	late := time.AfterFunc(unhurriedWait, cancel)
	answer, err := h.base.RoundTrip(r.WithContext(ctx))
	if err != nil || !late.Stop() {
		cancel()
		return answer, err
	}
	answer.Body = &released{ReadCloser: answer.Body, release: cancel}
	return answer, nil
}

// released is a body with whose end something else ends.
type released struct {
	io.ReadCloser

	release func()
}

// Close implements [io.Closer].
func (r *released) Close() error {
	defer r.release()
	return r.ReadCloser.Close()
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
