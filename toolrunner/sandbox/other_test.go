//go:build !linux

package sandbox_test

import (
	"errors"
	"testing"

	"github.com/everturn/everturn/toolrunner/sandbox"
)

func TestOtherSystemsHaveNone(t *testing.T) {
	t.Parallel()
	_, err := sandbox.Open(t.Context(), sandbox.Enter(), sandbox.Config{Workspace: t.TempDir()})
	if !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}
