package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/everturn/everturn/events"
)

// line is what was read, or why nothing more can be.
type line struct {
	text string
	err  error
}

// readLines reads until the end. Reading cannot be broken off, so it goes on
// until the next line or the process's end.
func readLines(ctx context.Context, r io.Reader) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(r)
		scanner.Buffer(nil, maxInputBytes)
		give := func(l line) bool {
			select {
			case lines <- l:
				return true
			case <-ctx.Done():
				return false
			}
		}
		for scanner.Scan() {
			if !give(line{text: scanner.Text()}) {
				return
			}
		}
		if err := scanner.Err(); err != nil {
			give(line{err: fmt.Errorf("standard input: %w", err)})
		}
	}()
	return lines
}

// isUnknownCommand reports whether a line is a command that chat does not have:
// a model would take a mistyped one for a question, and that costs.
func isUnknownCommand(text string) bool {
	return strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//")
}

// unknown says why a line was not said.
func (t *talk) unknown(word string) {
	if mode, _ := meddles(word + " TEXT"); mode != "" {
		fmt.Fprintf(t.s.stderr, "%s wants a text behind it, so nothing was said\n", word)
		return
	}
	fmt.Fprintf(t.s.stderr, "there is no %s, so nothing was said; /quit leaves, /help tells more, // begins a line with a slash\n",
		events.VisibleText(word))
}

// unescaped is what is said by a line.
func unescaped(text string) string {
	if strings.HasPrefix(text, "//") {
		return text[1:]
	}
	return text
}
