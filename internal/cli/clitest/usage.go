// Package clitest tests what the commands have in common.
package clitest

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/internal/cli"
)

// Run is a whole command but for the end of its process.
type Run func(ctx context.Context, args []string, stdout, stderr io.Writer) error

// soon is when a command is stopped that should not have begun to work.
const soon = 30 * time.Second

// BadUsage fails for each of the tries that does not end with [cli.ExitUsage].
func BadUsage(t *testing.T, run Run, tries [][]string) {
	t.Helper()
	for _, args := range tries {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithTimeout(t.Context(), soon)
			defer stop()
			if err := run(ctx, args, io.Discard, io.Discard); cli.Code(err) != cli.ExitUsage {
				t.Errorf("code %d, want %d: %v", cli.Code(err), cli.ExitUsage, err)
			}
		})
	}
}

// Version fails unless --version shows the command's name first.
func Version(t *testing.T, run Run, name string) {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--version"}, &out, io.Discard); cli.Code(err) == cli.ExitUsage || !strings.HasPrefix(out.String(), name+" ") {
		t.Errorf("%v, out %q", err, &out)
	}
}
