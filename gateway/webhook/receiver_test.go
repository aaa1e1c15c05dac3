package webhook_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	cloudhttp "github.com/cloudevents/sdk-go/v2/protocol/http"
)

// secret is what the hooks of these tests sign with.
var secret = []byte("a secret of thirty-two bytes, ok")

// secretText is how a variable has it.
func secretText() string { return "whsec_" + base64.StdEncoding.EncodeToString(secret) }

// got is an event as the SDK of CloudEvents has read it.
type got struct {
	id, kind, subject, tenant string
	rev                       int32
	data                      string
}

// receiver takes events, as somebody else would.
type receiver struct {
	*testing.T
	*httptest.Server

	mu     sync.Mutex
	list   []got
	asked  int                                                      // requests, taken or not
	answer func(w http.ResponseWriter, r *http.Request, g got) bool // false: the event was not taken
	news   chan struct{}
}

// receive starts a receiver. Answer may refuse an event; nil takes all.
func receive(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, g got) bool) *receiver {
	t.Helper()
	r := &receiver{T: t, answer: answer, news: make(chan struct{}, 1)}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP implements [http.Handler].
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // the sender has gone
	}
	if err := signed(q.Header, body); err != nil {
		r.Error(err)
	}
	q.Body = io.NopCloser(bytes.NewReader(body))
	e, err := cloudhttp.NewEventFromHTTPRequest(q)
	if err == nil {
		err = e.Validate()
	}
	if err != nil {
		r.Errorf("the SDK says %v of %s", err, body)
		return
	}
	g := read(r.T, *e)
	if q.Header.Get("Webhook-Id") != g.id {
		r.Errorf("header has the id %s, the event %s", q.Header.Get("Webhook-Id"), g.id)
	}
	r.mu.Lock()
	r.asked++
	r.mu.Unlock()
	if r.answer != nil && !r.answer(w, q, g) {
		return
	}
	r.mu.Lock()
	r.list = append(r.list, g)
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// read is what stands in an event.
func read(t *testing.T, e event.Event) got {
	t.Helper()
	g := got{id: e.ID(), kind: e.Type(), subject: e.Subject(), data: string(e.Data())}
	g.tenant, _ = e.Extensions()["tenant"].(string)
	g.rev, _ = e.Extensions()["rev"].(int32)
	if e.Source() != "/everturn/"+g.tenant || e.Time().IsZero() || !json.Valid(e.Data()) {
		t.Errorf("event %s", e)
	}
	return g
}

// signed checks a signature as the page of Standard Webhooks says.
func signed(h http.Header, body []byte) error {
	sum := hmac.New(sha256.New, secret)
	fmt.Fprintf(sum, "%s.%s.%s", h.Get("webhook-id"), h.Get("webhook-timestamp"), body)
	want := "v1," + base64.StdEncoding.EncodeToString(sum.Sum(nil))
	for one := range strings.SplitSeq(h.Get("webhook-signature"), " ") {
		if one == want {
			return nil
		}
	}
	return fmt.Errorf("signature %q, want %q", h.Get("webhook-signature"), want)
}

// taken is what was taken so far.
func (r *receiver) taken() []got {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]got(nil), r.list...)
}

// requests is how many there were.
func (r *receiver) requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// until waits until enough was taken.
func (r *receiver) until(enough func(list []got) bool) []got {
	r.Helper()
	for {
		list := r.taken()
		if enough(list) {
			return list
		}
		select {
		case <-r.news:
		case <-r.Context().Done():
			r.Fatalf("taken: %v", list)
		}
	}
}

// ids are those of events.
func ids(list []got) []string {
	var all []string
	for _, g := range list {
		all = append(all, g.id)
	}
	return all
}
