package mcp

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"

	"github.com/everturn/everturn/events"
)

// Limits of what is kept of a server's words for people.
const (
	maxLogLine  = 500     // bytes
	maxKeptLine = 8 << 10 // of a line until the secrets are out of it: none is cut in the middle before
	maxLastWord = 2       // lines that are told if it ends
	noisyLines  = 3       // of its output that are warned of; the rest is for who looks closely
)

// journal hears what a server that is a program writes for people: on its standard
// error, and where messages should be. Secrets are taken out of it.
type journal struct {
	log     *slog.Logger
	secrets *secrets

	mu     sync.Mutex
	part   []byte   // of a line
	last   []string // lines of its standard error
	noises int
}

// Write implements [io.Writer] for standard error.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if room := maxKeptLine - len(j.part); room > 0 {
			j.part = append(j.part, line[:min(len(line), room)]...)
		}
		if rest = after; !whole {
			break
		}
		if text := j.shown(j.part); text != "" {
			j.log.Debug("an MCP server writes", "line", text)
			if j.last = append(j.last, text); len(j.last) > maxLastWord {
				j.last = j.last[1:]
			}
		}
		j.part = j.part[:0]
	}
	return len(p), nil
}

// noise is a line of its output that is no message.
func (j *journal) noise(line []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	say := j.log.Debug
	if j.noises++; j.noises <= noisyLines {
		say = j.log.Warn
	}
	say("an MCP server writes to its output what is no message; it is skipped", "line", j.shown(line))
}

// shown is a line as it may be logged.
func (j *journal) shown(line []byte) string {
	text := j.secrets.hide(events.RepairText(string(line[:min(len(line), maxKeptLine)])))
	return strings.TrimSpace(events.CutText(text, maxLogLine))
}

// lastWords is what it wrote last to its standard error; of a server that does not
// start that is mostly the reason.
func (j *journal) lastWords() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.last, " / ")
}
