package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxHostLineBytes is how long a message of a host may be.
const maxHostLineBytes = 16 << 20

// hostLines are the messages that a host writes, one a line. What is no message is
// logged and left out: one odd line is no reason to break off the calls of all others.
type hostLines struct {
	from *bufio.Reader
	log  *slog.Logger
	rest []byte // of a message that was read in part
}

// Read implements [io.Reader].
func (h *hostLines) Read(p []byte) (int, error) {
	for len(h.rest) == 0 {
		line, err := h.line()
		if isHostMessage(line) {
			h.rest = line // the error comes again
			break
		}
		if len(bytes.TrimSpace(line)) > 0 {
			h.log.Warn("the host wrote what is no message; it is skipped", "bytes", len(line))
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, h.rest)
	h.rest = h.rest[n:]
	return n, nil
}

// Close implements [io.Closer]; standard input is the process's to close.
func (h *hostLines) Close() error { return nil }

// line is everything up to the next end of a line.
func (h *hostLines) line() ([]byte, error) {
	var whole []byte
	for {
		piece, err := h.from.ReadSlice('\n')
		if len(whole)+len(piece) > maxHostLineBytes {
			return nil, fmt.Errorf("the host wrote a message of more than %d MiB", maxHostLineBytes>>20)
		}
		whole = append(whole, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
	}
}

// isHostMessage says whether a line is a message, or a list of some as older hosts send.
func isHostMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) > 0 && line[0] == '[' {
		return json.Valid(line)
	}
	_, err := jsonrpc.DecodeMessage(line)
	return err == nil
}
