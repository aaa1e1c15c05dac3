// Package cli is what the commands have in common: how flags are read, how
// errors become exit codes, and how logs and metrics leave the process.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/connect"
	"github.com/everturn/everturn/streams"
)

// Exit codes of all commands.
const (
	ExitOK           = 0
	ExitFailure      = 1
	ExitUsage        = 2 // also a bad configuration
	ExitNotFound     = 3
	ExitConflict     = 4 // somebody else was first
	ExitUnreachable  = 5 // NATS, or nobody answers in time
	ExitUnauthorized = 6
	ExitProvider     = 7 // a model failed for good
	ExitTool         = 8 // a tool failed or was denied
	ExitIntegrity    = 9 // verify found a broken rule
)

// ExitError is an error that says with which code the process ends.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// Exit wraps err so that the process ends with code.
func Exit(code int, err error) error {
	if err == nil {
		return nil
	}
	return &ExitError{Code: code, Err: err}
}

// Code is the exit code for err.
func Code(err error) int {
	var exit *ExitError
	var rejected *client.RejectedError
	var query *client.QueryError
	var signalled *SignalError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &signalled):
		return exitSignal + int(signalled.Signal)
	case errors.As(err, &rejected):
		return rejected.Code.Info().Exit
	case errors.As(err, &query):
		return query.Code.Info().Exit
	case errors.Is(err, connect.ErrSettings), errors.As(err, new(*streams.FileError)), errors.As(err, new(*streams.RefusedError)),
		errors.As(err, new(*streams.ShardsError)), errors.Is(err, streams.ErrBackup):
		return ExitUsage
	case errors.Is(err, connect.ErrUnauthorized), errors.Is(err, client.ErrNotAllowed):
		return ExitUnauthorized
	case errors.Is(err, connect.ErrUnreachable), errors.Is(err, client.ErrNoStreams), errors.Is(err, client.ErrNoService),
		errors.Is(err, streams.ErrNoStreams), errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrTimeout),
		errors.Is(err, context.DeadlineExceeded):
		return ExitUnreachable
	}
	return ExitFailure
}

// Main runs a command as a process: it ends with the right code, stops at the
// first interrupt or TERM, and dies at the second.
func Main(name string, headroom Headroom, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	release := headroom.reserve()
	ctx, stop := untilSignal(context.Background())
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if signalled, ok := errors.AsType[*SignalError](context.Cause(ctx)); ok && errors.Is(err, context.Canceled) {
		err = signalled // what a command says when its context ends tells nobody anything
	}
	stop()
	release()
	if err != nil && !errors.Is(err, errDone) {
		fmt.Fprintf(os.Stderr, "%s: %s\n", name, events.VisibleText(err.Error())) // it may quote what somebody said
		os.Exit(Code(err))
	}
}

// errDone means that help was printed and there is nothing more to do.
var errDone = errors.New("done")

// Parse reads args into grammar, a pointer to a struct with kong's tags, and
// gives the command that was named. All problems end with [ExitUsage], those
// that a Validate method of an embedded struct reports included.
func Parse(
	grammar any, name, description string, args []string, stdout, stderr io.Writer, options ...kong.Option,
) (parsed *kong.Context, err error) {
	type left int
	defer func() {
		if code, ok := recover().(left); ok {
			err = errDone
			if code != 0 {
				err = Exit(ExitUsage, errors.New("see --help"))
			}
		}
	}()
	options = append([]kong.Option{
		kong.Name(name), kong.Description(description), kong.Writers(stdout, stderr),
		kong.Vars{"version": name + " " + Built().String()},
		kong.Exit(func(code int) { panic(left(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	}, options...)
	parser, err := kong.New(grammar, options...)
	if err != nil {
		return nil, fmt.Errorf("flags: %w", err) // our grammar is wrong
	}
	parsed, err = parser.Parse(args)
	if err != nil {
		return nil, Exit(ExitUsage, fmt.Errorf("%w; see --help", err))
	}
	return parsed, nil
}
