package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	lockName       = "everturn.lock"
	storeMode      = 0o700
	lockMode       = 0o600
	maxLockContent = 20 // a process id
)

// ErrStoreInUse means that another server has the directory. Two servers on one
// store destroy it, and NATS itself does not look.
var ErrStoreInUse = errors.New("store is in use")

// lockStore takes the directory for this process, or says who has it. The lock
// goes when the file is closed, also when the process is killed.
func lockStore(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, storeMode); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, lockMode)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder := lockHolder(f)
		err = errors.Join(err, f.Close())
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s%s: stop that server or choose another directory", ErrStoreInUse, dir, holder)
		}
		return nil, fmt.Errorf("store: lock %s: %w", path, err)
	}
	if err := noteHolder(f); err != nil {
		return nil, fmt.Errorf("store: %w", errors.Join(err, f.Close()))
	}
	return f, nil
}

// lockHolder is " by process N", or nothing if the file does not tell.
func lockHolder(f *os.File) string {
	b, err := io.ReadAll(io.LimitReader(f, maxLockContent))
	if err != nil {
		return ""
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return ""
	}
	return " by process " + strconv.Itoa(pid)
}

func noteHolder(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}
