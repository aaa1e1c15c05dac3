package recordings

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/recordings/oracle"
	"github.com/everturn/everturn/model"
)

// The ways of delivery.
const (
	Whole      = "whole"
	Cut        = "cut at an event"
	Drip       = "byte by byte"
	DripHTTP   = "byte by byte over HTTP"
	CRLF       = "with CRLF"
	Disconnect = "disconnected"
)

// Ways are all ways of delivery, in the order of reports.
var Ways = []string{Whole, Cut, Drip, DripHTTP, CRLF, Disconnect}

// maxDripHTTPBytes bounds the streams that go byte by byte through the network:
// each byte is a system call or three. The others go so through memory only.
const maxDripHTTPBytes = 4 << 10

// Tally is what came of one way of delivery.
type Tally struct {
	Plays      int
	Complete   int // the oracle says that the answer is complete
	Agreed     int // and the adapter agrees in everything
	Incomplete int // refused, as it should be
	Failures   int // failures that the stream told of, told as such
}

// Report is what came of playing.
type Report struct {
	Streams int
	Tallies map[string]*Tally

	// Classes counts the failures that streams told of.
	Classes map[events.ErrorClass]int

	// Disagreements are answers that differ from the oracle's, and complete
	// streams that brought none.
	Disagreements []string

	// Violations are what must never happen.
	Violations []string
}

// Runner plays recordings from a server.
type Runner struct {
	Server    *Server
	Transport http.RoundTripper

	mu     sync.Mutex
	report Report
}

// Run plays all streams of the formats that we speak, in every way.
func (r *Runner) Run(ctx context.Context, list []Recording, workers int) Report {
	r.report = Report{Tallies: make(map[string]*Tally), Classes: make(map[events.ErrorClass]int)}
	for _, way := range Ways {
		r.report.Tallies[way] = &Tally{}
	}
	var work sync.WaitGroup
	queue := make(chan Recording)
	for range workers {
		work.Go(func() {
			for one := range queue {
				r.playAll(ctx, one)
			}
		})
	}
	for _, recording := range list {
		if recording.Kind != AnthropicStream && recording.Kind != ChatStream || recording.Status != http.StatusOK {
			continue
		}
		for _, one := range recording.Responses() {
			r.report.Streams++
			queue <- one
		}
	}
	close(queue)
	work.Wait()
	slices.Sort(r.report.Disagreements)
	slices.Sort(r.report.Violations)
	return r.report
}

// playAll plays one stream in every way.
func (r *Runner) playAll(ctx context.Context, one Recording) {
	stream := strings.ReplaceAll(one.Body, "\r\n", "\n")
	r.play(ctx, one, Whole, Delivery{Body: stream}, stream)
	for _, e := range oracle.Events(stream) {
		if e.End < len(stream) {
			r.play(ctx, one, Cut, Delivery{Body: stream[:e.End]}, stream[:e.End])
		}
	}
	r.play(ctx, one, Drip, Delivery{Body: stream}, stream)
	if len(stream) <= maxDripHTTPBytes {
		r.play(ctx, one, DripHTTP, Delivery{Body: stream, Each: 1}, stream)
	}
	r.play(ctx, one, CRLF, Delivery{Body: strings.ReplaceAll(stream, "\n", "\r\n")}, stream)
	for _, part := range []int{1, 2, 3} {
		cut := len(stream) * part / 4
		r.play(ctx, one, Disconnect, Delivery{Body: stream[:cut], Abort: true}, stream[:cut])
	}
}

// play plays one delivery. What the adapter gets to read, as the oracle is to
// read it, is in heard.
func (r *Runner) play(ctx context.Context, one Recording, way string, d Delivery, heard string) {
	d.Status = http.StatusOK
	d.Headers = one.Headers
	var played Played
	if way == Drip {
		played = Play(ctx, one.Format(), "http://memory.invalid", dripping{d})
	} else {
		played = Play(ctx, one.Format(), r.Server.Offer(d), r.Transport)
	}
	where := fmt.Sprintf("%s %s (%d of %d bytes)", one.ID, way, len(heard), len(one.Body))
	r.judge(where, way, played, Oracle(one.Format(), heard))
}

// judge compares what was played with what the oracle says of the same bytes.
func (r *Runner) judge(where, way string, p Played, want oracle.Reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	tally := r.report.Tallies[way]
	tally.Plays++
	failed, known := errors.AsType[*model.Error](p.Err)
	violated := func(format string, args ...any) {
		r.report.Violations = append(r.report.Violations, where+": "+fmt.Sprintf(format, args...))
	}
	switch {
	case p.Panic != nil:
		violated("panic: %v", p.Panic)
	case p.Answer == nil && p.Err == nil || p.Answer != nil && p.Err != nil:
		violated("want an answer or an error")
	case p.Err != nil && !known:
		violated("an error without a class: %v", p.Err)
	case want.Failed:
		if p.Answer != nil {
			violated("a failure became an answer")
			return
		}
		tally.Failures++
		r.report.Classes[failed.Class]++
	case !want.Whole:
		if p.Answer != nil {
			violated("an incomplete stream became an answer")
			return
		}
		if failed.Class != events.ClassIncomplete {
			violated("an incomplete stream is of class %s", failed.Class)
			return
		}
		tally.Incomplete++
	case p.Err != nil:
		tally.Complete++
		r.report.Disagreements = append(r.report.Disagreements, fmt.Sprintf("%s: complete, but %v (%v)", where, p.Err, failed.Err))
	default:
		tally.Complete++
		if found := Differences(p, want); found != nil {
			r.report.Disagreements = append(r.report.Disagreements, where+": "+strings.Join(found, "; "))
			return
		}
		tally.Agreed++
	}
}
