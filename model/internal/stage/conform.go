package stage

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/internal/wiretap"
)

// Format is an adapter to be tried with what its provider sends.
type Format struct {
	// Make makes the adapter.
	Make func(t testing.TB, s Setup) model.Model

	Begun  string // the beginning of an answer, with text in it
	Whole  string // a whole answer
	Failed string // a body that tells of a rate limit
}

// Setup is what differs between tries.
type Setup struct {
	URL                     string
	Transport               http.RoundTripper // nil: the adapter's own
	Silence, ContentSilence time.Duration     // 0: the default
}

// Asked is the request of tests that look at the answer only.
func Asked() model.Request {
	return model.Request{Model: "mine", Messages: []model.Message{{Role: model.RoleUser, Parts: []events.Part{events.Text("hello")}}}}
}

// Conform tries what every adapter promises, whatever its format.
func Conform(t *testing.T, f Format) {
	t.Run("cancelling closes the connection", func(t *testing.T) { t.Parallel(); f.cancel(t) })
	t.Run("leaving closes the connection", func(t *testing.T) { t.Parallel(); f.leave(t) })
	t.Run("cancelling before the response", func(t *testing.T) { t.Parallel(); f.cancelUnanswered(t) })
	t.Run("silence", func(t *testing.T) { t.Parallel(); f.silence(t) })
	t.Run("signs of life", func(t *testing.T) { t.Parallel(); f.life(t) })
	t.Run("nobody there", func(t *testing.T) { t.Parallel(); f.nobody(t) })
	t.Run("when to come back", func(t *testing.T) { t.Parallel(); f.retryAfter(t) })
	t.Run("one connection", func(t *testing.T) { t.Parallel(); f.oneConnection(t) })
	t.Run("images that cannot be shown", func(t *testing.T) { t.Parallel(); f.images(t) })
	t.Run("thoughts of others", func(t *testing.T) { t.Parallel(); f.strangers(t) })
	t.Run("the prefix stays", func(t *testing.T) { t.Parallel(); f.prefix(t) })
}

func (f Format) at(t testing.TB, url string) model.Model { return f.Make(t, Setup{URL: url}) }

func (f Format) cancel(t *testing.T) {
	p := New(t, Reply{Pieces: []string{f.Begun}, Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for d, err := range f.at(t, p.URL).Stream(ctx, Asked()) {
		if d.Text != "" {
			cancel()
		}
		last = err
	}
	if known, ok := errors.AsType[*model.Error](last); !ok || known.Class != events.ClassCancelled {
		t.Errorf("got %v", last)
	}
	<-p.Gone()
}

func (f Format) leave(t *testing.T) {
	p := New(t, Reply{Pieces: []string{f.Begun}, Hang: true})
	for _, err := range f.at(t, p.URL).Stream(t.Context(), Asked()) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	<-p.Gone()
}

// cancelUnanswered cancels while the provider has not said a thing, and before
// it was asked.
func (f Format) cancelUnanswered(t *testing.T) {
	p := New(t, Reply{Mute: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-p.Asked()
		cancel()
	}()
	for range 2 {
		if h := Hear(ctx, t, f.at(t, p.URL), Asked()); h.Err == nil || h.Err.Class != events.ClassCancelled {
			t.Errorf("got %v", h.Err)
		}
	}
	<-p.Gone()
}

func (f Format) silence(t *testing.T) {
	const short = 50 * time.Millisecond
	for name, tt := range map[string]struct {
		setup Setup
		reply Reply
	}{
		"no byte":                   {Setup{Silence: short}, Reply{Pieces: []string{f.Begun}, Hang: true}},
		"no response":               {Setup{Silence: short}, Reply{Mute: true}},
		"bytes, but of no content":  {Setup{ContentSilence: short}, Reply{Pieces: []string{f.Begun, ": still here\n\n"}, Hang: true}},
		"bytes, but never a letter": {Setup{ContentSilence: short}, Reply{Pieces: []string{": here\n\n"}, Hang: true}},
	} {
		p := New(t, tt.reply)
		tt.setup.URL = p.URL
		h := Hear(t.Context(), t, f.Make(t, tt.setup), Asked())
		if h.Err == nil || h.Err.Class != events.ClassStreamSilence {
			t.Errorf("%s: got %+v, %v", name, h.Answer, h.Err)
			continue
		}
		if _, ok := errors.AsType[*wiretap.SilenceError](h.Err); ok {
			t.Errorf("%s: the cause of the error is kept as text only", name)
		}
		if len(p.Requests()) > 0 { // on a busy machine the limit may be over before the request is read
			<-p.Gone()
		}
	}
}

// life has a provider that keeps the connection alive and says no more. Whoever
// listens is told that it is there, and the attempt ends when content should
// have come.
func (f Format) life(t *testing.T) {
	const every = 30 * time.Second
	synctest.Test(t, func(t *testing.T) {
		m := f.Make(t, Setup{URL: "http://memory.invalid", Transport: Carrier(func(r *http.Request) (*http.Response, error) {
			body, feed := io.Pipe()
			context.AfterFunc(r.Context(), func() { feed.CloseWithError(context.Cause(r.Context())) })
			go func() {
				for say, err := f.Begun, error(nil); err == nil; say = ": still here\n\n" {
					if _, err = io.WriteString(feed, say); err != nil {
						break
					}
					select {
					case <-time.After(every):
					case <-r.Context().Done():
					}
				}
			}()
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}, nil
		})})
		began, last, longest := time.Now(), time.Now(), time.Duration(0)
		var failed *model.Error
		for _, err := range m.Stream(t.Context(), Asked()) {
			failed, _ = errors.AsType[*model.Error](err)
			longest, last = max(longest, time.Since(last)), time.Now()
		}
		took := time.Since(began)
		if failed == nil || failed.Class != events.ClassStreamSilence || took < wiretap.DefaultContentSilence || took > wiretap.DefaultContentSilence+every {
			t.Errorf("ended after %v: %v", took, failed)
		}
		if longest > every {
			t.Errorf("nothing was heard for %v", longest)
		}

		for _, err := range m.Stream(t.Context(), Asked()) {
			if err != nil {
				t.Error(err)
			}
			if time.Since(last) >= every { // a sign of life: leave in the middle of it
				break
			}
		}
	})
}

func (f Format) nobody(t *testing.T) {
	if h := Hear(t.Context(), t, f.at(t, "http://127.0.0.1:1"), Asked()); h.Err == nil || h.Err.Class != events.ClassTransport {
		t.Errorf("nobody: got %v", h.Err)
	}
	late := &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	m := f.Make(t, Setup{URL: "http://memory.invalid", Transport: Carrier(func(*http.Request) (*http.Response, error) { return nil, late })})
	if h := Hear(t.Context(), t, m, Asked()); h.Err == nil || h.Err.Class != events.ClassStreamSilence {
		t.Errorf("nobody in time: got %v", h.Err)
	}
}

// retryAfter has every form in which a provider says when to come back. The
// replies are synthetic: none was recorded with one of these headers.
func (f Format) retryAfter(t *testing.T) {
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for name, tt := range map[string]struct {
		header, value string
		least, most   time.Duration
	}{
		"seconds":          {"Retry-After", "7", 7 * time.Second, 7 * time.Second},
		"a date":           {"Retry-After", in(10 * time.Minute), 9 * time.Minute, 10 * time.Minute},
		"milliseconds":     {"Retry-After-Ms", "1500", 1500 * time.Millisecond, 1500 * time.Millisecond},
		"the past":         {"Retry-After", in(-time.Minute), 0, 0},
		"negative":         {"Retry-After", "-1", 0, 0},
		"more than anyone": {"Retry-After", "86400", 0, 0},
		"words":            {"Retry-After", "soon", 0, 0},
	} {
		for _, status := range []int{http.StatusTooManyRequests, 529, http.StatusOK} {
			header := map[string]string{tt.header: tt.value, "Content-Type": "application/json"}
			p := New(t, Reply{Status: status, Header: header, Pieces: []string{f.Failed}})
			h := Hear(t.Context(), t, f.at(t, p.URL), Asked())
			if h.Err == nil || h.Err.RetryAfter < tt.least || h.Err.RetryAfter > tt.most || h.Err.Status != status || !h.Err.Class.Retryable() {
				t.Errorf("%s with %d: got %+v", name, status, h.Err)
			}
			if n := len(p.Requests()); n != 1 {
				t.Errorf("%s with %d: %d requests", name, status, n)
			}
		}
	}
}

func (f Format) oneConnection(t *testing.T) {
	p := New(t, Reply{Pieces: []string{f.Whole}})
	m := f.at(t, p.URL)
	for range 3 {
		if h := Hear(t.Context(), t, m, Asked()); h.Err != nil {
			t.Fatal(h.Err)
		}
	}
	if list := p.Requests(); list[0].From != list[2].From {
		t.Errorf("asked from %s and from %s", list[0].From, list[2].From)
	}
}

// prefix lets a chat grow, and wants each request to begin with the bytes of the
// one before: that is what a provider's cache goes by. Marks of what to keep may
// move, and are no part of it.
func (f Format) prefix(t *testing.T) {
	p := New(t, Reply{Pieces: []string{f.Whole}})
	m, c := f.at(t, p.URL), NewChat(t, "mine", "hello")
	const turns = 4
	for n := range turns {
		if n > 0 {
			c.Say(t, "and again")
		}
		h := Hear(t.Context(), t, m, c.Prompt())
		if h.Err != nil {
			t.Fatal(h.Err)
		}
		c.Answer(t, h.Answer, "seen")
	}
	list := p.Requests()
	if len(list) != turns {
		t.Fatalf("%d requests", len(list))
	}
	for n := range turns - 1 {
		for field, value := range list[n].raw(t) {
			next := list[n+1].raw(t)[field]
			if field == "messages" {
				value, next = strings.TrimSuffix(value, "]")+",", next[:min(len(value), len(next))]
			}
			if value != next {
				t.Errorf("request %d has other %s than the one before:\n%s\n%s", n+2, field, value, next)
			}
		}
	}
}

// images are told of where they cannot be shown. Providers refuse a whole request
// for one that they do not take.
func (f Format) images(t *testing.T) {
	p := New(t, Reply{Pieces: []string{f.Whole}})
	r := Asked()
	var parts []events.Part
	for name, image := range map[string]events.Part{
		"elsewhere.png": {URL: "https://example.invalid/elsewhere.png"},
		"drawing.svg":   {MediaType: "image/svg+xml", Opaque: []byte("<svg/>")},
		"untold.png":    {Opaque: []byte("\x89PNG")},
		"stored.png":    {MediaType: "image/png", Blob: events.DigestOf([]byte("x")), Bytes: 1},
		"broken.png":    {URL: "data:image/png;base64,?"},
		"empty.png":     {URL: "data:image/png;base64,"},
		"huge.png":      {MediaType: "image/png", Opaque: make([]byte, 11<<20)},
	} {
		image.Type, image.Name = events.PartImage, name
		parts = append(parts, image)
	}
	r.Messages = []model.Message{{Role: model.RoleUser, Parts: parts}}
	if h := Hear(t.Context(), t, f.at(t, p.URL), r); h.Err != nil {
		t.Fatal(h.Err)
	}
	for _, part := range parts {
		told := part.Name
		if part.Blob != "" {
			told += ", image/png, 1 bytes, " + string(part.Blob)
		}
		if body := p.Requests()[0].Body; !strings.Contains(body, "(an image that cannot be shown here: "+told+")") {
			t.Errorf("nothing about %s in %.200s", part.Name, body)
		}
	}
}

// strangers has a message of which nothing is left, as all of it was thought by
// others. It is not sent: no provider takes an empty one.
func (f Format) strangers(t *testing.T) {
	p := New(t, Reply{Pieces: []string{f.Whole}})
	r := Asked()
	r.Messages = append(r.Messages, model.Message{Role: model.RoleAssistant, Parts: []events.Part{
		{Type: events.PartReasoning, Text: "hm", Opaque: []byte(`{"signature":"s"}`), Provider: "another", Model: "mine"},
	}}, r.Messages[0])
	if h := Hear(t.Context(), t, f.at(t, p.URL), r); h.Err != nil {
		t.Fatal(h.Err)
	}
	if body := p.Requests()[0].Body; strings.Contains(body, `"assistant"`) {
		t.Errorf("sent %s", body)
	}
}

// Carrier is a transport without a network.
type Carrier func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (c Carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }
