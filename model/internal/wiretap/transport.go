package wiretap

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"
)

// foreignHeaders are those that the library fills from the environment of the
// process: somebody else's secrets, as far as this provider is concerned.
var foreignHeaders = [...]string{
	"Authorization", "X-Api-Key", "Api-Key", "Openai-Organization", "Openai-Project", "Cookie",
}

// Transport is the round tripper to give to a provider's client. It is safe for
// concurrent use, and works only below a context of [Begin].
type Transport struct {
	// Base does the work; nil means one of our own, with the limits of Connect.
	Base http.RoundTripper

	// Authorize adds what the provider wants to see; nothing else identifies us.
	Authorize func(http.Header)

	// Connect bounds the own base's connecting; 0 means [DefaultConnect].
	Connect time.Duration
}

// Client is an HTTP client over t and the function that closes what it keeps
// open. It follows no redirect: that would carry the key to somebody else.
func (t Transport) Client() (client *http.Client, closeIdle func()) {
	if t.Base == nil {
		t.Base = base(cmp.Or(t.Connect, DefaultConnect))
	}
	client = &http.Client{
		Transport:     &t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return client, func() {
		if c, ok := t.Base.(interface{ CloseIdleConnections() }); ok {
			c.CloseIdleConnections()
		}
	}
}

// base is a transport as the standard library's own, with the limits of ours.
func base(connect time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: connect}).DialContext,
		TLSHandshakeTimeout: connect,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: idleConnections,
		IdleConnTimeout:     idleTime,
	}
}

const (
	idleConnections = 32 // kept to one provider
	idleTime        = 90 * time.Second
)

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	x, ok := r.Context().Value(exchangeKey{}).(*Exchange)
	if !ok {
		return nil, errors.New("wiretap: a request outside of an exchange")
	}
	if x.Sent {
		return nil, errors.New("wiretap: a second request in one exchange")
	}
	x.Sent = true
	x.started = time.Now()
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.Connecting = false }}
	r = r.Clone(httptrace.WithClientTrace(r.Context(), trace))
	for _, name := range foreignHeaders {
		r.Header.Del(name)
	}
	if t.Authorize != nil {
		t.Authorize(r.Header)
	}

	done := x.wait()
	response, err := t.Base.RoundTrip(r)
	done()
	if err != nil {
		x.Err = err
		return nil, fmt.Errorf("wiretap: %w", err)
	}
	x.Status, x.Header = response.StatusCode, response.Header.Clone()
	x.Streaming = isStream(response)
	x.body = response.Body
	response.Body = &body{exchange: x, source: response.Body}
	return response, nil
}
