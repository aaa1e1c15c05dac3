package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// explain says what is wrong with a path in words a model can act on.
func explain(path string, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return fmt.Sprintf("%.100q: there is no such thing here", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("%.100q: it may not be used", path)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Sprintf("%.100q: it is no program", path)
	case errors.Is(err, syscall.E2BIG):
		return fmt.Sprintf("%.100q: the arguments are too long", path)
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		err = errno
	}
	return fmt.Sprintf("%.100q: %v", path, err)
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}
