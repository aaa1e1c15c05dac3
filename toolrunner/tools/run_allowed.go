package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/sandbox"
)

// Allowed is a command that an operator lets run without asking anybody.
type Allowed struct {
	Name string   // of its tool, which is run_ and this
	Argv []string // all of it: a model adds nothing
}

// ParseAllowed reads NAME=["PROGRAM","ARGUMENT",...].
//
// What could only be meant for a shell is refused: an assignment before the
// program, and line breaks. Nothing here is read by one.
func ParseAllowed(s string) (Allowed, error) {
	name, list, ok := strings.Cut(s, "=")
	if !ok || !isToolSuffix(name) {
		return Allowed{}, fmt.Errorf(`%.60q: want NAME=["PROGRAM","ARGUMENT",...], the name of up to 40 letters, digits and _`, s)
	}
	var items []*string
	if err := json.Unmarshal([]byte(list), &items); err != nil {
		return Allowed{}, fmt.Errorf(`%s: want a JSON list of strings, such as ["git","status"]: %w`, name, err)
	}
	var argv []string
	for _, item := range items {
		if item == nil {
			return Allowed{}, fmt.Errorf(`%s: want a JSON list of strings, such as ["git","status"], without null`, name)
		}
		argv = append(argv, *item)
	}
	switch {
	case len(argv) == 0 || argv[0] == "":
		return Allowed{}, fmt.Errorf("%s: names no program", name)
	case strings.Contains(argv[0], "="):
		return Allowed{}, fmt.Errorf("%s: %.60q is no program; a variable can be handed on by --command-env", name, argv[0])
	case strings.ContainsAny(strings.Join(argv, ""), "\x00\r\n"):
		return Allowed{}, fmt.Errorf("%s: an argument has a line break or a NUL byte in it", name)
	}
	return Allowed{Name: name, Argv: argv}, nil
}

const maxToolSuffix = 40

func isToolSuffix(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	return name != "" && len(name) <= maxToolSuffix && strings.Trim(name, letters) == "" && name != "command" && name != "shell"
}

// RunAllowed runs one command that an operator has written down, argument for
// argument. Nobody is asked, so a model must have no say in what is run: the
// tool takes no arguments, and a call with any is invalid.
//
// The command can write nothing but a /tmp of its own, and reaches no network,
// whatever it was granted: it is read-only because the sandbox says so. So it
// needs one.
func RunAllowed(box *sandbox.Sandbox, a Allowed, most time.Duration) (toolrunner.Tool, error) {
	if box.Off() {
		return nil, errors.New("a command that runs unasked needs the sandbox, which is off")
	}
	most = commandTime(most)
	shown, err := json.Marshal(a.Argv)
	if err != nil {
		return nil, err // strings can always be written
	}
	return toolrunner.Func(protocol.Manifest{
		Name:        "run_" + a.Name,
		Description: fmt.Sprintf("Runs %s in the workspace, and gives its exit code and output. It cannot change anything.", shown),
		Schema:      json.RawMessage(`{"type": "object", "properties": {}, "additionalProperties": false}`),
		ReadOnly:    true, Idempotent: true, Policy: events.PolicyAllow, TimeoutMS: (most + commandMargin).Milliseconds(),
	}, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
		if err := parse(c.Arguments, &struct{}{}); err != nil {
			return toolrunner.Output{}, err
		}
		c.Permissions = events.Permissions{}
		return run(ctx, box, c, sandbox.Command{Argv: a.Argv, ReadOnly: true}, min(DefaultCommandTime, most))
	}), nil
}
