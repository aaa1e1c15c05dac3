package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/everturn/everturn/internal/cli"
)

// answers is what the model of these tests says.
const answers = `
rules:
  - when: {input: wait}
    answer: [{text: "one moment "}, {pause: 10m}, {text: never}]
  - when: {input: fail}
    answer: [{fail: {class: invalid_request, message: as asked}}]
  - when: {input: escape}
    answer: [{text_hex: "611b5b324a62"}]
  - when: {input: note, step: 1}
    answer: [{call: {name: append_ledger, arguments: '{"text": "as the model wrote it"}'}}]
  - when: {input: note}
    answer: [{text: "{{result}}"}]
  - answer: [{text: "you said: {{input}}"}]
`

// laptop is everything in this process, and commands that talk to it.
type laptop struct {
	*testing.T
	url    string // of NATS
	web    string // of the gateway
	script string
}

// dev runs `everturn dev` with a scripted model until the test ends.
func dev(t *testing.T) *laptop {
	t.Helper()
	script := filepath.Join(t.TempDir(), "answers.yaml")
	if err := os.WriteFile(script, []byte(answers), 0o600); err != nil {
		t.Fatal(err)
	}
	b := devWith(t, "--script", script)
	b.script = script
	return b
}

// devWith runs `everturn dev` with those flags until the test ends.
func devWith(t *testing.T, flags ...string) *laptop {
	t.Helper()
	b := &laptop{T: t}
	ctx, cancel := context.WithCancel(context.Background()) // the test's own ends before its cleanups
	read, write := io.Pipe()
	var running sync.WaitGroup
	running.Go(func() {
		var stderr bytes.Buffer
		s := &surroundings{launcher: launcher, ctx: ctx, stdout: write, stderr: &stderr}
		if err := s.run(append([]string{"dev", "--json", "--store", t.TempDir(), "--port", "0"}, flags...)); err != nil {
			t.Errorf("dev: %v\n%s", err, &stderr)
		}
		_ = write.Close()
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	line, err := bufio.NewReader(read).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		URL string `json:"nats_url"`
		Web string `json:"http_url"`
	}
	if err := json.Unmarshal(line, &said); err != nil {
		t.Fatal(err)
	}
	b.url, b.web = said.URL, said.Web
	return b
}

// ran is what a command did.
type ran struct {
	out, err string
	code     int
	failure  error
}

// command runs a command that talks to the laptop.
func (b *laptop) command(stdin string, args ...string) ran {
	b.Helper()
	return command(b.T, strings.NewReader(stdin), nil, append(args, "--server", b.url)...)
}

// launched is run, in a process that copies of hold commands.
func launched(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return run(ctx, launcher, args, stdout, stderr)
}

// command runs a command as main would.
func command(t *testing.T, stdin io.Reader, signals chan os.Signal, args ...string) ran {
	t.Helper()
	var out, errs buffer
	return commandInto(t, &out, &errs, stdin, signals, args...)
}

func commandInto(t *testing.T, out, errs *buffer, stdin io.Reader, signals chan os.Signal, args ...string) ran {
	t.Helper()
	s := &surroundings{
		launcher: launcher, ctx: t.Context(), stdin: stdin, stdout: out, stderr: errs,
		signals: func() (<-chan os.Signal, func()) { return signals, func() {} },
	}
	err := s.run(args)
	return ran{out: out.String(), err: errs.String(), code: cli.Code(err), failure: err}
}

// buffer is a [bytes.Buffer] that may be read while it is written, and tells
// when it holds something.
type buffer struct {
	mu      sync.Mutex
	b       bytes.Buffer
	written chan struct{} // one place; nil if nobody waits
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.written != nil {
		select {
		case b.written <- struct{}{}:
		default:
		}
	}
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// await returns when the buffer holds the text.
func (b *buffer) await(ctx context.Context, text string) {
	for !strings.Contains(b.String(), text) {
		select {
		case <-b.written:
		case <-ctx.Done():
			return
		}
	}
}

// says fails unless the text holds all the words.
func says(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s does not say %q:\n%s", what, word, text)
		}
	}
}
