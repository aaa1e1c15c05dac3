package declared

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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
	return e.success()
}

// success is the result of a program that has ended well, if it is one.
func (e ended) success() (toolrunner.Output, error) {
	switch {
	case e.format == FormatJSON && e.dropped > 0:
		return e.misshapen(fmt.Sprintf("is too long to be read as JSON: %d bytes of it were dropped", e.dropped)), nil
	case e.format == FormatJSON:
		if wrong := notJSON(e.output); wrong != "" {
			return e.misshapen("is not the JSON that it should be: " + wrong), nil
		}
		return toolrunner.Output{Text: strings.TrimSpace(e.output)}, nil
	case strings.ContainsRune(e.output, 0):
		kind := http.DetectContentType([]byte(e.output))
		return toolrunner.Output{
			Text:      fmt.Sprintf("[The output is not text: %d bytes, %s. It is kept for people.]", int64(len(e.output))+e.dropped, kind),
			Artifacts: []toolrunner.Artifact{{Title: e.tool, Type: mediaType(kind), Content: []byte(e.output)}},
		}, nil
	}
	return toolrunner.Output{Text: e.output}, nil
}

// notJSON says why a text is not one value of JSON, or nothing.
func notJSON(text string) string {
	var value json.RawMessage
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return err.Error()
	}
	return ""
}

func mediaType(kind string) string {
	kind, _, _ = strings.Cut(kind, ";")
	return kind
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
	return b.String()
}
