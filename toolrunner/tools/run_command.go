package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/capture"
	"github.com/everturn/everturn/toolrunner/sandbox"
)

// Times of a command.
const (
	DefaultCommandTime = 2 * time.Minute  // if its call names none
	MaxCommandTime     = 10 * time.Minute // that a call may name, if the operator says nothing

	commandMargin = 10 * time.Second // of the call's timeout over that: for ending the command, and saying so
)

// Limits of the arguments of a command.
const (
	maxArguments     = 1_000
	maxArgumentChars = 100_000
)

// Limits of what is kept of a command's output. The model reads less: what a build
// or a test has to say is at its beginning and its end.
const (
	maxOutputHeadBytes   = 4 << 20
	maxOutputTailBytes   = 1 << 20 // if there is more
	maxCommandShownBytes = 8 << 10
)

// GrantNetwork is the permission that gives a call the network of its runner's host.
const GrantNetwork = "network"

// RunCommand runs a program in the workspace, with exactly the arguments given.
// No shell looks at them.
//
// Each call waits for somebody to approve it, where the chat's mode leaves that
// to the tool. It is not idempotent: nobody knows what a program does when it
// runs again. A most of zero means [MaxCommandTime].
func RunCommand(box *sandbox.Sandbox, most time.Duration) toolrunner.Tool {
	most = commandTime(most)
	return toolrunner.Func(protocol.Manifest{
		Name: "run_command",
		Description: "Runs a program in the workspace, and gives its exit code and output. argv is the program and each of its arguments; " +
			"no shell is involved, so there are no pipes, variables or wildcards. " + about(box),
		Schema: json.RawMessage(fmt.Sprintf(`{
			"type": "object",
			"properties": {
				"argv": {
					"type": "array", "minItems": 1, "maxItems": %d, "items": {"type": "string", "maxLength": %d},
					"description": "Program and arguments, each a string of its own, for example [\"git\", \"log\", \"-3\"]."
				},%s
			},
			"required": ["argv"],
			"additionalProperties": false
		}`, maxArguments, maxArgumentChars, commonProperties(most))),
		Policy: events.PolicyAsk, TimeoutMS: (most + commandMargin).Milliseconds(),
	}, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
		var args struct {
			Argv []string `json:"argv"`
			common
		}
		if err := parse(c.Arguments, &args); err != nil {
			return toolrunner.Output{}, err
		}
		if len(args.Argv) == 0 || len(args.Argv) > maxArguments {
			return toolrunner.Output{}, fmt.Errorf("argv: want 1 to %d strings", maxArguments)
		}
		return run(ctx, box, c, sandbox.Command{Argv: args.Argv, Directory: args.Directory}, args.time(most))
	})
}

// RunShell runs a script in the workspace. It is a tool of its own so that who
// approves a call sees that a shell will read it: what a script does cannot be
// told from its first word.
func RunShell(box *sandbox.Sandbox, most time.Duration) toolrunner.Tool {
	most = commandTime(most)
	return toolrunner.Func(protocol.Manifest{
		Name: "run_shell",
		Description: "Runs a script with /bin/sh in the workspace, and gives its exit code and output. " +
			"Prefer run_command where one program with fixed arguments will do. " + about(box),
		Schema: json.RawMessage(fmt.Sprintf(`{
			"type": "object",
			"properties": {
				"script": {"type": "string", "minLength": 1, "maxLength": %d, "description": "What the shell is to do."},%s
			},
			"required": ["script"],
			"additionalProperties": false
		}`, maxArgumentChars, commonProperties(most))),
		Policy: events.PolicyAsk, TimeoutMS: (most + commandMargin).Milliseconds(),
	}, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
		var args struct {
			Script string `json:"script"`
			common
		}
		if err := parse(c.Arguments, &args); err != nil {
			return toolrunner.Output{}, err
		}
		if args.Script == "" {
			return toolrunner.Output{}, errors.New("script: missing")
		}
		return run(ctx, box, c, sandbox.Command{Argv: []string{"/bin/sh", "-c", args.Script}, Directory: args.Directory}, args.time(most))
	})
}

// about tells the model what it can count on.
func about(box *sandbox.Sandbox) string {
	const always = "Nothing can be typed into it: it gets no input and has no terminal. Whatever it leaves running is ended with it."
	if box.Off() {
		return always
	}
	return always + " It reaches no network unless that is granted, and can change only the workspace and a /tmp of its own."
}

// common are the arguments of every command.
type common struct {
	Directory string `json:"directory"`
	TimeoutS  int64  `json:"timeout_s"`
}

func commonProperties(most time.Duration) string {
	return fmt.Sprintf(`
				"directory": {"type": "string", "maxLength": 4096, "description": "Folder to start in, relative to the workspace. Default: the workspace itself."},
				"timeout_s": {"type": "integer", "minimum": 1, "maximum": %d, "description": "Seconds after which it is killed. Default: %d."}`,
		int(most.Seconds()), int(min(DefaultCommandTime, most).Seconds()))
}

func (c common) time(most time.Duration) time.Duration {
	if c.TimeoutS <= 0 {
		return min(DefaultCommandTime, most)
	}
	return min(time.Duration(min(c.TimeoutS, int64(most.Seconds())))*time.Second, most)
}

func commandTime(most time.Duration) time.Duration {
	if most <= 0 {
		return MaxCommandTime
	}
	return most
}

// errCommandTime ends a command that takes too long.
var errCommandTime = errors.New("the command took too long")

// run runs a command and says how it ended. A command that was killed because
// its time was over has a result like any other: what happened is known. One
// whose call is not wanted any more gives the error of ctx.
func run(ctx context.Context, box *sandbox.Sandbox, c toolrunner.Call, command sandbox.Command, limit time.Duration) (toolrunner.Output, error) {
	command.Environment = c.Environment()
	command.Network = slices.Contains(c.Permissions.Grants, GrantNetwork)
	out, follower := capture.NewOutput(maxOutputHeadBytes, maxOutputTailBytes), capture.Follow(c.Progress)
	command.Output = io.MultiWriter(out, follower)
	limited, cancel := context.WithTimeoutCause(ctx, limit, errCommandTime)
	result, err := box.Run(limited, command)
	late := err != nil && errors.Is(context.Cause(limited), errCommandTime) // it may have ended just before
	cancel()
	follower.Stop()
	switch {
	case errors.Is(err, sandbox.ErrNotStarted):
		return toolrunner.Output{}, err
	case err != nil && ctx.Err() == nil && !late:
		return toolrunner.Output{}, fmt.Errorf("it is not known what the command did: %w", err)
	}
	text, dropped := out.End()
	ended := ending{Result: result, late: late, limit: limit, dropped: dropped, grants: c.Permissions.Grants}
	report := toolrunner.Output{
		Text: ended.String() + text, Shown: maxCommandShownBytes,
		IsError: late || result.Exit != 0,
	}
	if ctx.Err() != nil {
		return report, ctx.Err()
	}
	return report, nil
}

// ending says how a command ended.
type ending struct {
	sandbox.Result

	late    bool
	limit   time.Duration
	dropped int64
	grants  []string
}

// String stands before the output, so that a model reads it first.
func (e ending) String() string {
	var b strings.Builder
	took := e.Ran.Round(time.Millisecond)
	switch {
	case e.late:
		fmt.Fprintf(&b, "[killed after %v: it had not ended in the %v it was given; what it did until then stays done", took, e.limit)
	case e.Limit != "":
		fmt.Fprintf(&b, "[killed after %v: it used %s", took, e.Limit)
	case e.Signal != "":
		fmt.Fprintf(&b, "[ended by %s after %v", e.Signal, took)
	default:
		fmt.Fprintf(&b, "[exit code %d after %v", e.Exit, took)
	}
	if len(e.Layers) == 0 {
		b.WriteString("; no sandbox")
	} else {
		fmt.Fprintf(&b, "; sandbox: %s", strings.Join(e.Layers, ", "))
	}
	if e.dropped > 0 {
		fmt.Fprintf(&b, "; %d bytes of its output were dropped", e.dropped)
	}
	for _, grant := range e.grants {
		if grant != GrantNetwork {
			fmt.Fprintf(&b, "; the grant %.40q means nothing here", grant)
		}
	}
	b.WriteString("]\n")
	return b.String()
}
