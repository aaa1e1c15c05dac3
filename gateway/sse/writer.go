package sse

import (
	"bytes"
	"fmt"
	"net/http"
	"time"
)

const (
	// WriteTimeout is how long a reader may take for one event. One that reads a byte
	// now and then is dropped by it.
	WriteTimeout = 30 * time.Second

	// KeepAlive is how often something is sent when there is nothing to say, so that
	// neither end, nor anything between them, takes the other for dead.
	KeepAlive = 15 * time.Second
)

// ContentType is that of a stream of server-sent events.
const ContentType = "text/event-stream"

// Writer writes server-sent events. Each is on its way when its method returns. It is
// used by one goroutine at a time.
type Writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	failed  error // what was written since the last send could not be
}

// NewWriter begins the answer: status and headers are sent. An error says that the
// connection cannot carry events.
func NewWriter(w http.ResponseWriter) (*Writer, error) { return newWriter(w, WriteTimeout) }

func newWriter(w http.ResponseWriter, timeout time.Duration) (*Writer, error) {
	h := w.Header()
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would collect events
	s := &Writer{w: w, control: http.NewResponseController(w), timeout: timeout}
	if err := s.control.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return nil, fmt.Errorf("server-sent events: %w", err)
	}
	w.WriteHeader(http.StatusOK)
	if err := s.control.Flush(); err != nil {
		return nil, fmt.Errorf("server-sent events: %w", err)
	}
	return s, nil
}

// Event writes an event. An empty id leaves the client's as it is. Neither the id nor
// the name may hold the end of a line; data may.
func (s *Writer) Event(id, name string, data []byte) error {
	s.begin()
	if id != "" {
		s.line("id", []byte(id))
	}
	s.line("event", []byte(name))
	for line := range bytes.Lines(oneLineEnd(data)) {
		s.line("data", bytes.TrimSuffix(line, []byte("\n")))
	}
	if len(data) == 0 {
		s.line("data", nil)
	}
	return s.send()
}

// Comment writes what clients do not see.
func (s *Writer) Comment(text string) error {
	s.begin()
	s.line("", []byte(text))
	return s.send()
}

// begin gives the reader time for what follows.
func (s *Writer) begin() { s.failed = s.control.SetWriteDeadline(time.Now().Add(s.timeout)) }

// line writes a line, without a copy: data may be large, and the reader slow.
func (s *Writer) line(field string, value []byte) {
	for _, piece := range [][]byte{[]byte(field + ": "), value, []byte("\n")} {
		if s.failed == nil {
			_, s.failed = s.w.Write(piece)
		}
	}
}

// oneLineEnd is data with one kind of line end: each of the three would end a line.
func oneLineEnd(data []byte) []byte {
	if bytes.IndexByte(data, '\r') < 0 {
		return data
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
}

// send ends an event and sends it.
func (s *Writer) send() error {
	if s.failed == nil {
		_, s.failed = s.w.Write([]byte("\n"))
	}
	if s.failed == nil {
		s.failed = s.control.Flush()
	}
	if s.failed != nil {
		return fmt.Errorf("server-sent events: %w", s.failed)
	}
	return nil
}
