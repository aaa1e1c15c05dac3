package wiretap_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/model/internal/wiretap"
)

// notes is a sink that writes down what it is shown.
type notes struct {
	events  []string
	content string // an event that has this in it is content
	end     string
}

func (n *notes) Event(name string, data []byte) wiretap.Heard {
	n.events = append(n.events, name+"|"+string(data))
	switch {
	case n.end != "" && bytes.Contains(data, []byte(n.end)):
		return wiretap.End
	case n.content != "" && bytes.Contains(data, []byte(n.content)):
		return wiretap.Content
	}
	return wiretap.Nothing
}

// carrier answers every request with one body.
type carrier struct {
	body   io.Reader
	status int
	header http.Header
	seen   *http.Request
}

func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	c.seen = r
	if c.status == 0 {
		c.status = http.StatusOK
	}
	if c.header == nil {
		c.header = http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}
	}
	body, ok := c.body.(io.ReadCloser)
	if !ok {
		body = io.NopCloser(c.body)
	}
	return &http.Response{StatusCode: c.status, Header: c.header, Body: body, Request: r}, nil
}

// hear makes a request over a tap and reads all that comes.
func hear(ctx context.Context, t testing.TB, c *carrier, n *notes, limits wiretap.Limits) (got []byte, x *wiretap.Exchange, err error) {
	t.Helper()
	ctx, x = wiretap.Begin(ctx, n, limits)
	t.Cleanup(x.Close)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://provider.invalid/v1", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	client, _ := wiretap.Transport{Base: c}.Client()
	response, err := client.Do(r)
	if err != nil {
		return nil, x, err
	}
	got, err = io.ReadAll(response.Body)
	return got, x, err
}

const stream = "\xEF\xBB\xBF: hello\nevent: a\ndata: {\"x\":1}\n\ndata: one\ndata:two\r\n\r\nid: 7\nevent: empty\n\ndata: [DONE]\n\n"

func TestEventsAreShownAndNoByteIsChanged(t *testing.T) {
	t.Parallel()

	want := []string{`a|{"x":1}`, "|one\ntwo", "|[DONE]"}
	for name, source := range map[string]io.Reader{
		"at once":      strings.NewReader(stream),
		"byte by byte": iotest.OneByteReader(strings.NewReader(stream)),
		"in halves":    iotest.HalfReader(strings.NewReader(stream)),
		"with the end": iotest.DataErrReader(strings.NewReader(stream)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &notes{}
			got, x, err := hear(t.Context(), t, &carrier{body: source}, n, wiretap.Limits{})
			if err != nil || string(got) != stream {
				t.Errorf("handed on %q, %v", got, err)
			}
			if !slices.Equal(n.events, want) {
				t.Errorf("shown %q, want %q", n.events, want)
			}
			if x.Bytes != int64(len(stream)) || !x.Streaming || x.Status != http.StatusOK {
				t.Errorf("kept %+v", x)
			}
		})
	}
}

func TestAnEventWithoutItsEmptyLineCountsIfItIsWhole(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		"data: {\"x\":1}":        {`|{"x":1}`},
		"data: {\"x\":1}\n":      {`|{"x":1}`},
		"data: [DONE]":           {"|[DONE]"},
		"data: {\"x\":1":         nil,
		"data: [DO":              nil,
		"event: message_stop\nd": nil,
	} {
		n := &notes{}
		got, _, err := hear(t.Context(), t, &carrier{body: strings.NewReader(body)}, n, wiretap.Limits{})
		if err != nil || string(got) != body || !slices.Equal(n.events, want) {
			t.Errorf("%q: shown %q, want %q; handed on %q, %v", body, n.events, want, got, err)
		}
	}
}

func TestWhatIsNoStreamIsKept(t *testing.T) {
	t.Parallel()
	page := strings.Repeat("<p>busy</p>\n", 10_000)
	n := &notes{}
	c := &carrier{body: strings.NewReader(page), status: http.StatusBadGateway, header: http.Header{"Content-Type": {"text/html"}, "X-Ratelimit-Left": {"3"}, "Request-Id": {"r1"}}}
	got, x, err := hear(t.Context(), t, c, n, wiretap.Limits{})
	if err != nil || string(got) != page || n.events != nil {
		t.Errorf("handed on %d bytes, %v; shown %q", len(got), err, n.events)
	}
	if len(x.Head) != 64<<10 || !strings.HasPrefix(page, string(x.Head)) {
		t.Errorf("kept %d bytes", len(x.Head))
	}
	if x.RequestID() != "r1" || x.RateLimits()["x-ratelimit-left"] != "3" {
		t.Errorf("kept %q, %v", x.RequestID(), x.RateLimits())
	}
}

func TestLinesHaveALimit(t *testing.T) {
	t.Parallel()
	const limit = wiretap.DefaultLineBytes
	line := func(size int) io.Reader {
		return io.MultiReader(strings.NewReader("data: "), &endless{left: size - len("data: ")}, strings.NewReader("\n\n"))
	}
	for _, size := range []int{70 << 10, 1100 << 10, limit} {
		n := &notes{}
		got, _, err := hear(t.Context(), t, &carrier{body: line(size)}, n, wiretap.Limits{})
		if err != nil || len(got) != size+2 || len(n.events) != 1 {
			t.Errorf("%d bytes: handed on %d, shown %d events, %v", size, len(got), len(n.events), err)
		}
	}
	n := &notes{}
	got, x, err := hear(t.Context(), t, &carrier{body: line(17 << 20)}, n, wiretap.Limits{})
	tooLong, ok := errors.AsType[*wiretap.TooLongError](err)
	if !ok || tooLong.Limit != limit || len(got) != 0 || len(n.events) != 0 {
		t.Errorf("17 MiB: handed on %d bytes, shown %d events, %v", len(got), len(n.events), err)
	}
	if _, ok := errors.AsType[*wiretap.TooLongError](x.Cause()); !ok {
		t.Errorf("the cause is %v", x.Cause())
	}
}

// endless gives so many bytes.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	return n, nil
}

// Not parallel: it counts what is allocated.
func TestALineThatIsTooLongTakesLittleMemory(t *testing.T) { //nolint:paralleltest // see above
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	body := io.MultiReader(strings.NewReader("data: "), &endless{left: 1 << 30})
	_, _, err := hear(t.Context(), t, &carrier{body: body}, &notes{}, wiretap.Limits{})
	runtime.ReadMemStats(&after)
	if err == nil {
		t.Fatal("a line of 1 GiB was taken")
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 4*wiretap.DefaultLineBytes {
		t.Errorf("it took %d MiB in all", took>>20)
	}
}

func TestAStreamHasALimit(t *testing.T) {
	t.Parallel()
	body := io.MultiReader(strings.NewReader(strings.Repeat("data: {}\n\n", 1000)))
	_, _, err := hear(t.Context(), t, &carrier{body: body}, &notes{}, wiretap.Limits{StreamBytes: 5000})
	if _, ok := errors.AsType[*wiretap.TooLongError](err); !ok {
		t.Errorf("got %v", err)
	}
}

// pipe is a body that ends with the request's context, as a real one does.
func pipe(ctx context.Context) (*io.PipeReader, *io.PipeWriter) {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	return r, w
}

// Rule: S2.4.
func TestSilence(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		feed   func(w io.Writer, alive func() bool)
		notes  notes
		after  time.Duration
		what   string
		events int
		every  time.Duration // between keep-alives; 0: 10 s
	}{
		{
			name:  "no byte for 180 s",
			feed:  func(w io.Writer, _ func() bool) { fmt.Fprint(w, "data: word\n\n") },
			notes: notes{content: "word"}, after: 180 * time.Second, what: "nothing", events: 1,
		},
		{
			name: "keep-alives but no content for 10 min",
			feed: func(w io.Writer, alive func() bool) {
				fmt.Fprint(w, "data: word\n\n")
				for alive() {
					fmt.Fprint(w, ": still here\n\nevent: ping\ndata: {}\n\n")
				}
			},
			notes: notes{content: "word"}, after: 10 * time.Minute, what: "no content", events: 60,
		},
		{
			name:  "the answer is whole but the stream does not end",
			feed:  func(w io.Writer, _ func() bool) { fmt.Fprint(w, "data: word\n\ndata: the end\n\n") },
			notes: notes{content: "word", end: "the end"}, after: 5 * time.Second, events: 2,
		},
		{
			name: "the answer is whole but the stream is kept alive",
			feed: func(w io.Writer, alive func() bool) {
				fmt.Fprint(w, "data: word\n\ndata: the end\n\n")
				for alive() {
					fmt.Fprint(w, "data: word and the end\n\n")
				}
			},
			notes: notes{content: "word", end: "the end"}, after: 5 * time.Second, events: 2, every: time.Second,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, x := wiretap.Begin(t.Context(), &tt.notes, wiretap.Limits{})
				defer x.Close()
				r, w := pipe(ctx)
				go tt.feed(w, func() bool {
					select {
					case <-ctx.Done():
						return false
					case <-time.After(cmp.Or(tt.every, 10*time.Second)):
						return true
					}
				})
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://provider.invalid", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				client, _ := wiretap.Transport{Base: &carrier{body: r}}.Client()
				started := time.Now()
				response, err := client.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				_, err = io.ReadAll(response.Body)
				if took := time.Since(started); err == nil || took < tt.after || took > tt.after+10*time.Second {
					t.Errorf("ended after %v by %v, want %v", took, err, tt.after)
				}
				silence, ok := errors.AsType[*wiretap.SilenceError](x.Cause())
				if ok != (tt.what != "") || ok && silence.What != tt.what {
					t.Errorf("the cause is %v", x.Cause())
				}
				if len(tt.notes.events) < tt.events {
					t.Errorf("shown %d events", len(tt.notes.events))
				}
			})
		})
	}
}

// Rule: S2.4.
func TestASlowReaderIsNotTheProvidersSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, x := wiretap.Begin(t.Context(), &notes{content: "word"}, wiretap.Limits{})
		defer x.Close()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://provider.invalid", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		client, _ := wiretap.Transport{Base: &carrier{body: iotest.OneByteReader(strings.NewReader("data: word\n\n"))}}.Client()
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := response.Body.Read(make([]byte, 4)); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Hour)
		}
		if x.Cause() != nil {
			t.Error(x.Cause())
		}
	})
}

func TestOnlyOurOwnSecretsAreSent(t *testing.T) {
	t.Parallel()
	ctx, x := wiretap.Begin(t.Context(), &notes{}, wiretap.Limits{})
	defer x.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://provider.invalid", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer of another provider")
	r.Header.Set("Openai-Organization", "of another provider")
	c := &carrier{body: strings.NewReader("")}
	client, _ := wiretap.Transport{Base: c, Authorize: func(h http.Header) { h.Set("X-Api-Key", "ours") }}.Client()
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if h := c.seen.Header; h.Get("Authorization") != "" || h.Get("Openai-Organization") != "" || h.Get("X-Api-Key") != "ours" {
		t.Errorf("sent %v", h)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("somebody else was asked")
	}))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()

	ctx, x := wiretap.Begin(t.Context(), &notes{}, wiretap.Limits{})
	defer x.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	client, closeIdle := wiretap.Transport{}.Client()
	defer closeIdle()
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if x.Status != http.StatusTemporaryRedirect {
		t.Errorf("status %d", x.Status)
	}
}

func TestOneRequestInAnExchange(t *testing.T) {
	t.Parallel()
	client, _ := wiretap.Transport{Base: &carrier{body: strings.NewReader("")}}.Client()
	ctx, x := wiretap.Begin(t.Context(), &notes{}, wiretap.Limits{})
	defer x.Close()
	for i, ctx := range []context.Context{ctx, ctx, t.Context()} {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://provider.invalid", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if (err == nil) != (i == 0) {
			t.Errorf("request %d: %v", i+1, err)
		}
		if err == nil {
			response.Body.Close()
		}
	}
}
