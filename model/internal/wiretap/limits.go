package wiretap

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// The limits that hold where none is given.
const (
	DefaultSilence        = 180 * time.Second
	DefaultContentSilence = 10 * time.Minute
	DefaultConnect        = 30 * time.Second
	DefaultTrailer        = 5 * time.Second
	DefaultLineBytes      = 16 << 20
	DefaultStreamBytes    = 64 << 20
)

const (
	// maxHeadBytes is how much is kept of a body that is no stream: an error,
	// mostly.
	maxHeadBytes = 64 << 10

	// readBytes is the room for one read from the connection.
	readBytes = 32 << 10
)

// Limits bound what a provider may do to us. Zero means the default.
type Limits struct {
	Silence        time.Duration // no byte at all
	ContentSilence time.Duration // bytes perhaps, but nothing that belongs to an answer
	Connect        time.Duration // for each of: to connect, to agree on encryption
	Trailer        time.Duration // from the end of the answer to the end of the stream
	LineBytes      int           // one line of a stream
	StreamBytes    int64         // a whole stream
}

// WithDefaults is l with defaults in place of zeros.
func (l Limits) WithDefaults() Limits {
	return Limits{
		Silence:        cmp.Or(l.Silence, DefaultSilence),
		ContentSilence: cmp.Or(l.ContentSilence, DefaultContentSilence),
		Connect:        cmp.Or(l.Connect, DefaultConnect),
		Trailer:        cmp.Or(l.Trailer, DefaultTrailer),
		LineBytes:      cmp.Or(l.LineBytes, DefaultLineBytes),
		StreamBytes:    cmp.Or(l.StreamBytes, DefaultStreamBytes),
	}
}

// Negative names the limits that cannot be meant.
func (l Limits) Negative() []string {
	var wrong []string
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"silence", int64(l.Silence)},
		{"content silence", int64(l.ContentSilence)},
		{"connect", int64(l.Connect)},
		{"trailer", int64(l.Trailer)},
		{"line bytes", int64(l.LineBytes)},
		{"stream bytes", l.StreamBytes},
	} {
		if limit.value < 0 {
			wrong = append(wrong, limit.name)
		}
	}
	return wrong
}

// SilenceError means that a provider was waited for in vain.
type SilenceError struct {
	What string // what did not come
	For  time.Duration
}

func (e *SilenceError) Error() string { return fmt.Sprintf("the model sent %s for %v", e.What, e.For) }

// TooLongError means that a provider sent more than anybody should have to
// hold. It sends the same again when asked again.
type TooLongError struct {
	What  string
	Limit int64
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the model sent %s of more than %d bytes", e.What, e.Limit)
}

// errTrailer breaks off a stream that has said everything but does not end.
var errTrailer = errors.New("the stream goes on after its answer")
