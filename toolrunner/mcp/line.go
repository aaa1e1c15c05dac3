package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// lines are what a server writes, one message each.
type lines struct {
	from  *bufio.Reader
	limit int
	noise func(line []byte)
}

func newLines(from io.Reader, limit int, noise func([]byte)) *lines {
	return &lines{from: bufio.NewReaderSize(from, 64<<10), limit: limit, noise: noise}
}

// next gives the next line that may be a message. It is good until the one after.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.line()
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '{' {
			return line, nil // the error comes again
		}
		l.skip(line)
		if err != nil {
			return nil, err
		}
	}
}

// skip says what is not a message.
func (l *lines) skip(line []byte) {
	if len(line) > 0 {
		l.noise(line)
	}
}

// line is everything up to the next end of a line.
func (l *lines) line() ([]byte, error) {
	var whole []byte
	for {
		piece, err := l.from.ReadSlice('\n')
		if len(whole)+len(piece) > l.limit {
			return nil, fmt.Errorf("a message of more than %d MiB", l.limit>>20)
		}
		whole = append(whole, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
	}
}
