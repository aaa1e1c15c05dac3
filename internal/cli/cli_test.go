package cli_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/connect"
	"github.com/everturn/everturn/protocol"
)

func rejected(code events.Code) error {
	return &client.RejectedError{Reply: protocol.Reply{Code: code}}
}

func TestEveryErrorHasItsExitCode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		want int
	}{
		{"nothing went wrong", nil, 0},
		{"something went wrong", errors.New("disk on fire"), 1},
		{"a command that was set aside", rejected(events.CodeUndeliverable), 1},
		{"wrong usage", cli.Exit(cli.ExitUsage, errors.New("no such flag")), 2},
		{"a command nobody understands", rejected(events.CodeBadCommand), 2},
		{"a chat that does not exist", rejected(events.CodeUnknownChat), 3},
		{"a query about such a chat", &client.QueryError{Code: events.CodeUnknownChat}, 3},
		{"somebody was first", rejected(events.CodeAlreadyFinished), 4},
		{"a turn runs", rejected(events.CodeBusy), 4},
		{"no server answers", fmt.Errorf("connect: %w", connect.ErrUnreachable), 5},
		{"no streams", client.ErrNoStreams, 5},
		{"no projection", client.ErrNoService, 5},
		{"nobody answers in time", fmt.Errorf("wait: %w", context.DeadlineExceeded), 5},
		{"not now", &client.QueryError{Code: events.CodeUnavailable}, 5},
		{"the server does not let us in", fmt.Errorf("connect: %w", connect.ErrUnauthorized), 6},
		{"the server does not allow it", fmt.Errorf("send: %w", client.ErrNotAllowed), 6},
		{"a model failed for good", cli.Exit(cli.ExitProvider, errors.New("overloaded")), 7},
		{"a tool failed", cli.Exit(cli.ExitTool, errors.New("denied")), 8},
		{"a broken rule", cli.Exit(cli.ExitIntegrity, errors.New("1 rule broken")), 9},
		{"a damaged chat", rejected(events.CodeChatStopped), 9},
		{"interrupted", cli.Signalled(os.Interrupt), 130},
		{"terminated", cli.Signalled(syscall.SIGTERM), 143},
		{"what was said last counts", fmt.Errorf("more: %w", cli.Exit(cli.ExitNotFound, context.DeadlineExceeded)), 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := cli.Code(tt.err); got != tt.want {
				t.Errorf("%v ends with %d, want %d", tt.err, got, tt.want)
			}
		})
	}
}

func TestEveryMistakeInFlagsIsUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--no-such-flag"}, {"no-such-command"}, {"say"}, {"say", "x", "--times", "many"}} {
		var grammar struct {
			Say struct {
				What  string `arg:""`
				Times int
			} `cmd:""`
		}
		_, err := cli.Parse(&grammar, "test", "", args, io.Discard, io.Discard)
		if got := cli.Code(err); got != 2 {
			t.Errorf("%q: %v ends with %d, want 2", args, err, got)
		}
	}
}

func TestALevelIsReadOrRefusedInOurWords(t *testing.T) {
	t.Parallel()
	var l cli.Level
	if err := l.UnmarshalText([]byte("debug")); err != nil || l.String() != "DEBUG" {
		t.Errorf("it is %v, %v", l, err)
	}
	if err := l.UnmarshalText([]byte("loud")); err == nil || err.Error() != `"loud" is no level: want DEBUG, INFO, WARN or ERROR` {
		t.Errorf("error is %v", err)
	}
}
