// Package recordings plays what providers once sent to our adapters, in every
// way that a network can deliver it, and compares what they make of it with what
// an oracle reads.
package recordings

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// FileName is the name of a collection of recordings in its directory: one JSON
// object a line.
const FileName = "provider-traffic.jsonl.gz"

// Recording is one exchange between a client and a provider.
type Recording struct {
	ID      string            `json:"id"`
	Source  string            `json:"source"`
	Kind    string            `json:"kind"` // the format, and how it was answered: -stream or -json
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// The kinds that our adapters speak.
const (
	AnthropicStream = "anthropic-stream"
	ChatStream      = "chat-stream"
	AnthropicJSON   = "anthropic-json"
	ChatJSON        = "chat-json"
)

// Format is the kind without how it was answered.
func (r Recording) Format() string {
	format, _, _ := strings.Cut(r.Kind, "-")
	return format
}

// Load reads the collection in a directory.
func Load(dir string) ([]Recording, error) {
	f, err := os.Open(filepath.Join(dir, FileName))
	if err != nil {
		return nil, fmt.Errorf("recordings: %w", err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("recordings: %w", err)
	}
	var list []Recording
	for lines := json.NewDecoder(unpacked); ; {
		var r Recording
		err := lines.Decode(&r)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("recordings: %w", err)
		}
		list = append(list, r)
	}
}

// Responses are the recording's responses: some files hold several, one after
// the other. A message that begins before the one before has ended is no other
// response but the same, begun anew.
func (r Recording) Responses() []Recording {
	if r.Kind != AnthropicStream {
		return []Recording{r}
	}
	var list []Recording
	rest := r.Body
	for n := 1; ; n++ {
		cut := endOfMessage(rest)
		one := r
		one.Body = rest[:cut]
		if n > 1 {
			one.ID = fmt.Sprintf("%s.%d", r.ID, n)
		}
		list = append(list, one)
		if rest = rest[cut:]; strings.TrimSpace(rest) == "" {
			return list
		}
	}
}

// endOfMessage is where the first whole message of a stream ends.
func endOfMessage(stream string) int {
	const end = `"type":"message_stop"`
	spaced := strings.ReplaceAll(end, ":", ": ")
	at := 0
	for paragraph := range strings.SplitAfterSeq(stream, "\n\n") {
		at += len(paragraph)
		if strings.Contains(paragraph, end) || strings.Contains(paragraph, spaced) {
			return at
		}
	}
	return len(stream)
}
