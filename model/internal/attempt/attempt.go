// Package attempt is what the adapters to providers share: one request, heard
// out, and what it came to.
//
// The library encodes the request and drives the connection. What the answer
// holds is read from the bytes, by the adapter's [Reader] behind a wire tap, and
// the library's reading of the same bytes is a second opinion about the calls:
// what the two do not agree on is not executed.
package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"time"

	"charm.land/fantasy"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/internal/fault"
	"github.com/everturn/everturn/model/internal/wiretap"
)

// A Reader makes an answer of the events of one stream.
type Reader interface {
	wiretap.Sink

	// Take is what has come since the last call.
	Take() []model.Delta

	// Failure is the error that came inside of the stream, nil if none did.
	Failure() []byte

	// Whole reports whether the stream said that the answer is complete.
	Whole() bool

	// Doubt says why the calls of a complete answer must not be believed, ""
	// if there is no reason. It is told which calls somebody else has read.
	Doubt(others []Call) string

	// Answer is what has come. It counts only if the stream was whole.
	Answer() model.Answer
}

// Call is a call as it was read.
type Call struct {
	ID        string
	Name      string
	Arguments string
}

// attempt is one request to a provider.
type attempt struct {
	language fantasy.LanguageModel
	call     fantasy.Call
	reader   Reader
	limits   wiretap.Limits
	provider string // its name in our words
	secret   string // not to be told to anybody
}

// stream makes the request, as [model.Model] demands.
func (a attempt) stream(ctx context.Context, yield func(model.Delta, error) bool) {
	tapped, exchange := wiretap.Begin(ctx, a.reader, a.limits)
	defer exchange.Close()
	h := &hearing{attempt: a, exchange: exchange, yield: yield, yielded: time.Now()}
	exchange.Arrived = h.alive
	if !h.listen(tapped) {
		return
	}
	answer, err := h.outcome(ctx)
	if err != nil {
		yield(model.Delta{}, err)
		return
	}
	yield(model.Delta{Answer: answer}, nil)
}

// hearing is an attempt on its way.
type hearing struct {
	attempt  attempt
	exchange *wiretap.Exchange
	yield    func(model.Delta, error) bool

	yielded time.Time // when anything was, last
	left    bool      // nobody wants to know any more

	others   []Call // the library's reading
	finished bool   // the library thinks that all is well
	err      error  // or this
}

// listen yields what comes until it ends. It reports whether anybody still
// wants to know.
func (h *hearing) listen(ctx context.Context) bool {
	parts, err := h.attempt.language.Stream(ctx, h.attempt.call)
	if err != nil {
		h.err = err
		return true
	}
	for part := range parts {
		switch part.Type {
		case fantasy.StreamPartTypeToolCall:
			if !part.ProviderExecuted {
				h.others = append(h.others, Call{ID: part.ID, Name: part.ToolCallName, Arguments: part.ToolCallInput})
			}
		case fantasy.StreamPartTypeFinish:
			h.finished = true
		case fantasy.StreamPartTypeError:
			h.err = part.Error
		default: // read from the bytes
		}
		if !h.pass() {
			return false
		}
	}
	return h.pass()
}

// pass yields the deltas that have come, and reports whether anybody still wants
// to know.
func (h *hearing) pass() bool {
	for _, d := range h.attempt.reader.Take() {
		if !h.tell(d) {
			return false
		}
	}
	return !h.left
}

func (h *hearing) tell(d model.Delta) bool {
	if h.left {
		return false
	}
	h.yielded = time.Now()
	h.left = !h.yield(d, nil)
	return !h.left
}

// signEvery is how seldom a sign of life is given.
const signEvery = time.Second

// alive yields an empty delta when bytes came that show nothing, such as a
// keep-alive: whoever listens waits longer for content than for a sign of life.
// It is called in the middle of the library's reading, which knows of no such
// thing.
func (h *hearing) alive() {
	if time.Since(h.yielded) < signEvery {
		return
	}
	if !h.pass() || time.Since(h.yielded) >= signEvery && !h.tell(model.Delta{}) {
		h.exchange.Close() // the library's reading ends with the next read
	}
}

// outcome is what the attempt came to.
func (h *hearing) outcome(ctx context.Context) (*model.Answer, error) {
	var (
		x      = h.exchange
		reader = h.attempt.reader
		limit  = x.Cause()
	)
	switch failure := reader.Failure(); {
	case failure != nil:
		return nil, h.said(fault.Evidence{Status: x.Status, Body: failure})
	case reader.Whole() && !isTooLong(limit):
		return h.answer()
	case ctx.Err() != nil:
		return nil, h.failed(events.ClassCancelled, "the model was told to stop", context.Cause(ctx))
	case isTooLong(limit):
		return nil, h.failed(events.ClassUnknown, limit.Error(), limit)
	case limit != nil:
		return nil, h.failed(events.ClassStreamSilence, limit.Error(), limit)
	case !x.Sent:
		return nil, h.failed(events.ClassInvalidRequest, "the request cannot be put into the provider's form", h.err)
	case x.Status == 0:
		return nil, h.unanswered()
	case x.Status >= 300:
		return nil, h.said(fault.Evidence{Status: x.Status, Body: x.Head})
	case !x.Streaming:
		return nil, h.noStream()
	}
	return nil, h.failed(events.ClassIncomplete, "the stream ended before the answer did", errors.Join(x.Err, h.err))
}

func isTooLong(err error) bool {
	_, is := errors.AsType[*wiretap.TooLongError](err)
	return is
}

// answer is the whole answer, if its calls can be believed.
func (h *hearing) answer() (*model.Answer, error) {
	var others []Call
	if h.finished {
		others = h.others
		if others == nil {
			others = []Call{}
		}
	}
	if doubt := h.attempt.reader.Doubt(others); doubt != "" {
		return nil, h.failed(events.ClassIncomplete, "the answer is malformed: "+doubt, nil)
	}
	answer := h.attempt.reader.Answer()
	answer.Provider.Name = h.attempt.provider
	answer.Provider.RequestID = h.exchange.RequestID()
	return &answer, nil
}

// said is a failure that the provider told of.
func (h *hearing) said(e fault.Evidence) *model.Error {
	err := h.failed(fault.Class(e), fault.Message(e, h.attempt.secret), nil)
	err.RetryAfter = wiretap.RetryAfter(h.exchange.Header, time.Now())
	return err
}

// noStream is a good status with something else than a stream: mostly an error
// all the same.
func (h *hearing) noStream() *model.Error {
	e := fault.Evidence{Status: h.exchange.Status, Body: h.exchange.Head}
	class := fault.Class(e)
	if class == events.ClassUnknown {
		return h.failed(class, "the provider answered with something else than a stream", nil)
	}
	return h.said(e)
}

// unanswered is a request without a response.
func (h *hearing) unanswered() *model.Error {
	err := h.exchange.Err
	timeout, is := errors.AsType[net.Error](err)
	switch {
	case h.exchange.Connecting && is && timeout.Timeout():
		return h.failed(events.ClassStreamSilence, "the provider cannot be reached in time", err)
	case h.exchange.Connecting:
		return h.failed(events.ClassTransport, "the provider cannot be reached", err)
	case errors.Is(err, io.EOF):
		return h.failed(events.ClassTransport, "the provider hung up", err)
	}
	return h.failed(events.ClassTransport, "the connection to the provider broke", err)
}

// failed is an error of the attempt. The cause is for the process log, and goes
// there as text: the errors of the library hold whole requests.
func (h *hearing) failed(class events.ErrorClass, message string, cause error) *model.Error {
	x := h.exchange
	e := &model.Error{Class: class, Message: message, Usage: h.attempt.reader.Answer().Usage}
	if x.Sent {
		e.Status = x.Status
	}
	if cause == nil {
		cause = errors.New("as the message says")
	}
	e.Err = fmt.Errorf("%s: request %q, status %d, %d bytes, first after %v, limits %v: %s",
		h.attempt.provider, x.RequestID(), x.Status, x.Bytes, x.FirstByte, x.RateLimits(), fault.Scrub(cause.Error(), h.attempt.secret))
	return e
}

// SameArguments reports whether another reading of a call's arguments says the
// same as ours. None is the same as an empty object. What is no JSON in ours is
// executed by nobody, and others write something else in its place.
func SameArguments(ours, other string) bool {
	if isEmpty(ours) {
		return isEmpty(other)
	}
	var x, y any
	if json.Unmarshal([]byte(ours), &x) != nil {
		return true
	}
	return json.Unmarshal([]byte(other), &y) == nil && reflect.DeepEqual(x, y)
}

func isEmpty(arguments string) bool {
	s := strings.TrimSpace(arguments)
	return s == "" || s == "{}"
}
