package declared

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/sandbox"
)

// ExitUnknown is the exit code of a program that has begun its effect and cannot tell
// whether it has happened. It is the one that sendmail and others end with when
// something should be tried again.
const ExitUnknown = 75

// ended is how a program ended, before anybody judges what that means.
type ended struct {
	sandbox.Result

	tool    string
	err     error // of the sandbox
	format  Format
	output  string
	dropped int64  // bytes of the output that are not kept
	said    string // the end of what it wrote to standard error
}

// outcome says what came of the call.
//
// A program that was stopped from outside, or that says so, has an outcome that nobody
// knows: its effect may have happened, also if it has written nothing.
func (e ended) outcome() (toolrunner.Output, error) {
	switch {
	case errors.Is(e.err, sandbox.ErrNotStarted):
		return toolrunner.Output{}, e.err
	case errors.Is(e.err, context.Canceled), errors.Is(e.err, context.DeadlineExceeded): // who wanted it knows why
		return toolrunner.Output{Text: e.report("stopped")}, e.err
	case e.err != nil:
		return toolrunner.Output{Text: e.report("lost sight of")}, fmt.Errorf("%w: %w", toolrunner.ErrOutcomeUnknown, e.err)
	case e.Limit != "":
		return toolrunner.Output{Text: e.report("killed")}, fmt.Errorf("%w: the program used %s", toolrunner.ErrOutcomeUnknown, e.Limit)
	case e.Signal != "":
		return toolrunner.Output{Text: e.report("ended by " + e.Signal)}, fmt.Errorf("%w: the program was ended by %s", toolrunner.ErrOutcomeUnknown, e.Signal)
	case e.Exit == ExitUnknown:
		return toolrunner.Output{Text: e.report("exit code 75")}, fmt.Errorf("%w: the program says so", toolrunner.ErrOutcomeUnknown)
	case e.Exit != 0:
		return toolrunner.Output{Text: e.report(fmt.Sprintf("exit code %d", e.Exit)), IsError: true}, nil
	}
	return e.success(), nil
}

// success is the result of a program that has ended well, if it is one.
func (e ended) success() toolrunner.Output {
	switch {
	case e.format == FormatText && strings.ContainsRune(e.output, 0):
		return noText(e.tool, e.output, e.dropped)
	case e.format == FormatText:
		return toolrunner.Output{Text: e.output}
	case e.dropped > 0:
		return e.misshapen(fmt.Sprintf("is too long to be read as JSON: %d bytes of it were dropped", e.dropped))
	case e.format == FormatParts:
		text, others, err := parts(e.output)
		if err != nil {
			return e.misshapen("is not the list of parts that it should be: " + err.Error())
		}
		return toolrunner.Output{Text: text, Parts: others}
	}
	var value json.RawMessage
	if err := json.Unmarshal([]byte(e.output), &value); err != nil {
		return e.misshapen("is not the JSON that it should be: " + err.Error())
	}
	return toolrunner.Output{Text: strings.TrimSpace(e.output)}
}

// misshapen is the result of a program that has done its work and cannot say so.
func (e ended) misshapen(why string) toolrunner.Output {
	return toolrunner.Output{Text: fmt.Sprintf("[exit code 0 after %v: what it was to do may be done, but its output %s]\n%s", e.took(), why, e.output), IsError: true}
}

func (e ended) took() time.Duration { return e.Ran.Round(time.Millisecond) }

// report is what is said of a program that did not end well.
func (e ended) report(how string) string {
	var b strings.Builder
	layers := "no sandbox"
	if len(e.Layers) > 0 {
		layers = "sandbox: " + strings.Join(e.Layers, ", ")
	}
	fmt.Fprintf(&b, "[%s after %v; %s]\n%s", how, e.took(), layers, e.output)
	if e.said != "" {
		if e.output != "" && !strings.HasSuffix(e.output, "\n") {
			b.WriteByte('\n')
		}
		b.WriteString("[standard error:]\n" + e.said)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
