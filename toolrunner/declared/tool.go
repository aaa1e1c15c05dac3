package declared

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/capture"
	"github.com/everturn/everturn/toolrunner/sandbox"
)

// GrantNetwork is the permission that gives a call the network of its runner's host,
// whose program has none else.
const GrantNetwork = "network"

// tool is a program as a tool.
type tool struct {
	Program

	box    *sandbox.Sandbox
	passed []string          // NAME=VALUE of the variables that are handed on
	hide   *strings.Replacer // puts the names of secrets in place of their values
}

// Manifest implements [toolrunner.Tool].
func (t *tool) Manifest() protocol.Manifest { return t.Program.Manifest }

// Run implements [toolrunner.Tool]. A call that is not wanted any more, or whose time
// is over, ends its program, with all that it has started.
func (t *tool) Run(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
	line := new(bytes.Buffer)
	if err := json.Compact(line, c.Arguments); err != nil {
		return toolrunner.Output{}, fmt.Errorf("arguments: %w", err)
	}
	line.WriteByte('\n')
	input, fed, err := feed(line.Bytes())
	if err != nil {
		return toolrunner.Output{}, fmt.Errorf("%w: %w", sandbox.ErrNotStarted, err)
	}
	output := capture.NewOutput(t.KeptBytes-t.KeptBytes/keptTail, t.KeptBytes/keptTail)
	said := newStderr(func(text string) { c.Progress(t.hide.Replace(text)) })
	result, err := t.box.Run(ctx, sandbox.Command{
		Argv: t.Command, Read: append(slices.Clone(t.Read), t.ownFolders()...), Folder: t.Directory,
		Network: t.Network || slices.Contains(c.Permissions.Grants, GrantNetwork), ReadOnly: t.Program.Manifest.ReadOnly,
		Environment: slices.Concat(t.Environment, t.passed, c.Environment()), Input: input, Output: output, Errors: said,
	})
	fed()
	e := ended{Result: result, tool: t.Program.Manifest.Name, err: err, format: t.Format}
	e.output, e.dropped = output.End()
	e.output, e.said = t.hide.Replace(e.output), t.hide.Replace(said.end())
	out, err := e.outcome()
	out.Shown = t.ShownBytes
	return out, err
}

// keptTail is the part of what is kept that is the end of the output: one of so many.
const keptTail = 5

func (t *tool) ownFolders() []string {
	if t.Directory == "" {
		return nil
	}
	return []string{t.Directory}
}

// feed gives the end of a pipe from which text can be read. The function it gives ends
// the writing, and waits for that: a program need not read what it is told.
func feed(text []byte) (read *os.File, fed func(), err error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = write.Write(text) // who does not read does not want to know
		_ = write.Close()
	}()
	return read, func() { _ = write.Close(); <-done }, nil
}

// secretWords are in the names of variables whose values nobody should read.
func secretWords() []string { return []string{"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH"} }

// minSecretBytes keeps what is too short from being taken out of every text.
const minSecretBytes = 6

// hiding takes the values of secrets out of what a program writes, should it repeat
// one: a result is read by people and models, and kept. Of a value of several lines each
// line is taken out, as lines are shown one by one.
func hiding(variables []string) *strings.Replacer {
	var secrets [][2]string // the text, and what stands in its place
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(secretWords(), func(word string) bool { return strings.Contains(strings.ToUpper(name), word) }) {
			continue
		}
		for _, text := range append(strings.Split(value, "\n"), value) {
			if text = strings.TrimSpace(text); len(text) >= minSecretBytes {
				secrets = append(secrets, [2]string{text, "[" + name + "]"})
			}
		}
	}
	slices.SortStableFunc(secrets, func(a, b [2]string) int { return len(b[0]) - len(a[0]) }) // one may begin with another
	var pairs []string
	for _, secret := range secrets {
		pairs = append(pairs, secret[:]...)
	}
	return strings.NewReplacer(pairs...)
}

// Options say how programs are held.
type Options struct {
	Workspace string // the folder that they work in, unless they have one of their own
	Off       bool   // without a sandbox: with all rights of the user of this process
}

// Open makes tools of programs. It tries out whether programs can be held here, and
// fails if they cannot, or if the runner lacks a variable that it is to hand on.
func Open(ctx context.Context, l sandbox.Launcher, programs []Program, o Options) ([]toolrunner.Tool, error) {
	if len(programs) == 0 {
		return nil, nil
	}
	var errs []error
	list := make([]toolrunner.Tool, len(programs))
	box, err := sandbox.Open(ctx, l, sandbox.Config{Workspace: o.Workspace, Off: o.Off})
	if errors.Is(err, sandbox.ErrUnavailable) {
		return nil, fmt.Errorf("%w\n--sandbox=off runs declared tools without one, with all rights of this user", err)
	}
	if err != nil {
		return nil, err
	}
	for i, p := range programs {
		t := &tool{Program: p, box: box}
		for _, name := range p.PassEnvironment {
			value, ok := os.LookupEnv(name)
			if !ok {
				errs = append(errs, fmt.Errorf("tool %s: pass_environment: %s is not set here", p.Manifest.Name, name))
			}
			t.passed = append(t.passed, name+"="+value)
		}
		if p.Unheld && !o.Off {
			errs = append(errs, fmt.Errorf("tool %s: sandbox: it is off for this tool, which has to be allowed by --sandbox=off", p.Manifest.Name))
		}
		t.hide = hiding(t.passed)
		list[i] = t
	}
	return list, errors.Join(errs...)
}

// maxErrorTailBytes is how much of the end of what a program writes to standard error
// stands in the result when it fails.
const maxErrorTailBytes = 4 << 10

// stderr shows what a program writes there, line by line, and keeps the end.
type stderr struct {
	tail     *capture.Output
	follower *capture.Follower
}

func newStderr(show func(string)) *stderr {
	return &stderr{tail: capture.NewOutput(0, maxErrorTailBytes), follower: capture.FollowLines(show)}
}

// Write implements [io.Writer]. It takes everything.
func (s *stderr) Write(b []byte) (int, error) {
	_, _ = s.follower.Write(b) // neither fails
	return s.tail.Write(b)
}

// end shows the last of it, and gives what is kept, in whole lines: a part of one may be
// a part of a secret, which nobody would know again.
func (s *stderr) end() string {
	s.follower.Stop()
	text, dropped := s.tail.End()
	if dropped > 0 {
		note, rest, _ := strings.Cut(text, "\n")
		if _, whole, more := strings.Cut(rest, "\n"); more {
			rest = whole
		}
		text = note + "\n" + rest
	}
	return events.RepairText(text)
}
