package wiretap

import (
	"bytes"
	"io"
	"time"
)

// body is the body of a response, with an ear on it. Of a stream it hands on
// whole lines only, so that nobody behind it has to hold a line that is longer
// than allowed.
type body struct {
	exchange *Exchange
	source   io.ReadCloser
	events   decoder

	buffer []byte
	from   int   // what lies before was handed on
	to     int   // what lies before may be handed on
	err    error // what follows the buffer
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for b.from == b.to {
		if b.err != nil {
			return 0, b.err
		}
		b.fill()
	}
	n := copy(p, b.buffer[b.from:b.to])
	b.from += n
	return n, nil
}

// Close implements [io.Closer].
func (b *body) Close() error { return b.source.Close() }

// fill reads on. Everything that may be handed on has been.
func (b *body) fill() {
	b.makeRoom()
	held := len(b.buffer)
	done := b.exchange.wait()
	n, err := b.source.Read(b.buffer[held:cap(b.buffer)])
	done()
	b.buffer = b.buffer[:held+n]
	if n > 0 {
		b.exchange.arrived(n)
	}
	if b.exchange.Streaming {
		b.listen(held)
		if n > 0 && b.exchange.Arrived != nil {
			b.exchange.Arrived()
		}
	} else {
		b.exchange.keep(b.buffer)
		b.to = len(b.buffer)
	}
	switch {
	case b.err != nil: // too long: what was not handed on never is
	case err != nil:
		b.end(err)
	case b.exchange.Bytes > b.exchange.limits.StreamBytes:
		b.fail(&TooLongError{What: "an answer", Limit: b.exchange.limits.StreamBytes})
	}
}

// makeRoom drops what was handed on, and grows the buffer if the line it holds
// leaves no room to read.
func (b *body) makeRoom() {
	rest := copy(b.buffer, b.buffer[b.from:])
	b.buffer, b.from, b.to = b.buffer[:rest], 0, 0
	if cap(b.buffer)-rest >= readBytes {
		return
	}
	size := min(max(2*cap(b.buffer), 2*readBytes), b.exchange.limits.LineBytes+2*readBytes)
	grown := make([]byte, rest, max(size, rest+readBytes))
	copy(grown, b.buffer)
	b.buffer = grown
}

// listen shows the lines that are whole to the sink. Nothing before held is new.
func (b *body) listen(held int) {
	for {
		end := bytes.IndexByte(b.buffer[held:], '\n')
		if end < 0 {
			break
		}
		line := b.buffer[b.to : held+end]
		if len(line) > b.exchange.limits.LineBytes {
			b.tooLong()
			return
		}
		held += end + 1
		b.to = held
		b.show(b.events.line(bytes.TrimSuffix(line, []byte("\r"))))
	}
	if len(b.buffer)-b.to > b.exchange.limits.LineBytes || len(b.events.data) > b.exchange.limits.LineBytes {
		b.tooLong()
	}
}

func (b *body) tooLong() {
	b.fail(&TooLongError{What: "a line", Limit: int64(b.exchange.limits.LineBytes)})
	b.buffer, b.from, b.to = nil, 0, 0
}

func (b *body) show(e event, ok bool) {
	if ok {
		b.exchange.heard(b.exchange.sink.Event(e.name, e.data))
	}
}

// end hands on what is left. An event whose end did not come counts if it is
// whole all the same.
func (b *body) end(err error) {
	if b.exchange.Streaming && b.to < len(b.buffer) {
		b.show(b.events.line(bytes.TrimSuffix(b.buffer[b.to:], []byte("\r"))))
	}
	if b.exchange.Streaming {
		b.show(b.events.end())
	}
	b.to = len(b.buffer)
	b.fail(err)
}

func (b *body) fail(err error) {
	b.err = err
	if err != io.EOF { //nolint:errorlint // readers return it as it is
		b.exchange.Err = err
	}
}

// arrived counts bytes of the body.
func (x *Exchange) arrived(n int) {
	if x.Bytes == 0 {
		x.FirstByte = time.Since(x.started)
	}
	x.Bytes += int64(n)
}

// keep keeps the beginning of what is no stream.
func (x *Exchange) keep(p []byte) {
	x.Head = append(x.Head, p[:min(len(p), maxHeadBytes-len(x.Head))]...)
}
