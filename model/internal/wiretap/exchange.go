package wiretap

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Heard says what an event was.
type Heard int

// What an event can be.
const (
	Nothing Heard = iota // a keep-alive, or nobody knows
	Content              // a piece of an answer
	End                  // nothing of the answer can follow: it is whole, or has failed
)

// A Sink is shown every event of a stream, in order, before anybody else reads
// it. The name is empty if the event has none. The data belongs to the exchange
// and is only there during the call.
type Sink interface {
	Event(name string, data []byte) Heard
}

// Exchange is one request and its answer. Its fields are read by the goroutine
// that reads the answer, or when that has ended.
type Exchange struct {
	Status     int           // of HTTP; 0 if there was no response
	Header     http.Header   // of the response
	Head       []byte        // the beginning of a body that is no stream
	FirstByte  time.Duration // from the request to the first byte of the body
	Bytes      int64         // of the body
	Connecting bool          // no connection was had yet
	Err        error         // why there was no response, or why its body broke off
	Sent       bool          // a request was made
	Streaming  bool          // the response is a stream

	// Arrived, if it is set, is called whenever bytes of a stream have come and
	// been shown to the sink, by the goroutine that reads the answer.
	Arrived func()

	sink    Sink
	limits  Limits
	ended   bool // the sink has heard the end
	started time.Time
	body    io.Closer
	ctx     context.Context //nolint:containedctx // the exchange is what the context is of: both end together
	cancel  context.CancelCauseFunc
	patience
}

type exchangeKey struct{}

// Begin makes an exchange and the context under which its one request must be
// made. Close it.
func Begin(ctx context.Context, sink Sink, limits Limits) (context.Context, *Exchange) {
	ctx, cancel := context.WithCancelCause(ctx)
	x := &Exchange{sink: sink, limits: limits.WithDefaults(), cancel: cancel, Connecting: true}
	x.patience.left = x.limits.ContentSilence
	x.ctx = context.WithValue(ctx, exchangeKey{}, x)
	return x.ctx, x
}

// Close ends the exchange, whatever it was at: the connection is closed if the
// answer has not been read to its end.
func (x *Exchange) Close() {
	x.cancel(context.Canceled)
	x.patience.stop()
	if x.body != nil {
		_ = x.body.Close() // what it says is of no use to anybody
	}
}

// Cause is the limit that ended the exchange, nil if none did.
func (x *Exchange) Cause() error {
	if silence, ok := errors.AsType[*SilenceError](context.Cause(x.ctx)); ok {
		return silence
	}
	if tooLong, ok := errors.AsType[*TooLongError](x.Err); ok {
		return tooLong
	}
	return nil
}

// heard takes note of what the sink heard.
func (x *Exchange) heard(h Heard) {
	switch h {
	case Nothing:
	case Content:
		if !x.ended {
			x.patience.left = x.limits.ContentSilence
		}
	case End:
		if !x.ended {
			x.ended, x.patience.left = true, x.limits.Trailer
		}
	}
}

// wait starts the clock of the next read. What it returns stops it: the time
// that the reader takes between two reads is not the provider's silence.
func (x *Exchange) wait() (done func()) {
	began := time.Now()
	limit, expired := x.limits.Silence, error(&SilenceError{What: "nothing", For: x.limits.Silence})
	switch {
	case x.ended:
		limit, expired = x.patience.left, errTrailer
	case x.patience.left < limit:
		limit, expired = x.patience.left, &SilenceError{What: "no content", For: x.limits.ContentSilence}
	}
	x.patience.start(limit, func() { x.cancel(expired) })
	return func() {
		x.patience.stop()
		x.patience.left -= time.Since(began)
	}
}

// patience is a timer that is started again and again.
type patience struct {
	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration // until content, or the end of the stream, must have come
}

func (p *patience) start(limit time.Duration, expired func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(max(limit, 0), expired)
}

func (p *patience) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
}

// isStream reports whether a response is one of events. Some servers name no
// type.
func isStream(r *http.Response) bool {
	kind := strings.ToLower(r.Header.Get("Content-Type"))
	return r.StatusCode == http.StatusOK && (kind == "" || strings.HasPrefix(kind, "text/event-stream"))
}
