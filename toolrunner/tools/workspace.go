package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"syscall"
	"time"
	"unicode/utf8"
)

// readTimeout bounds the tools that only read.
const readTimeout = 30 * time.Second

// Limits of what is read of one file.
const (
	sniffBytes   = 8 << 10 // enough to tell text from anything else
	maxFileBytes = 8 << 20
)

// Workspace is the folder that tools may read and, if those of [Writing] are among them,
// change.
type Workspace struct {
	root     *os.Root
	changing chan struct{} // has one place, which is taken by who changes something
}

// OpenWorkspace opens the folder at path, which must exist.
func OpenWorkspace(path string) (*Workspace, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	return &Workspace{root: root, changing: make(chan struct{}, 1)}, nil
}

// Close gives the folder up. Calls that run then fail.
func (w *Workspace) Close() error { return w.root.Close() }

// alone waits until no other call changes anything here. Whoever is alone calls done.
func (w *Workspace) alone(ctx context.Context) (done func(), err error) {
	select {
	case w.changing <- struct{}{}:
		return func() { <-w.changing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// errors that the model reads. They name no path outside the workspace.
var (
	errOutside = errors.New("the path leads out of the workspace; use a path relative to it")
	errSpecial = errors.New("this is no regular file")
)

// open opens a file or folder for reading. To open a pipe or a device would block or do
// something, so that is refused; one that takes the place of a file in this moment is
// opened without waiting, and refused by [Workspace.openFile].
func (w *Workspace) open(path string) (*os.File, error) {
	if info, err := w.root.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q: %w", path, errSpecial)
	}
	f, err := w.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, explain(path, err)
	}
	return f, nil
}

// openFile opens a regular file.
func (w *Workspace) openFile(path string) (*os.File, fs.FileInfo, error) {
	f, err := w.open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = explain(path, err)
	case info.IsDir():
		err = fmt.Errorf("%q: this is a folder; use list_directory", path)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%q: %w", path, errSpecial)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// explain says what went wrong in words a model can act on, without the
// machine's own paths.
func explain(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%q: there is no such file or folder", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%q: it may not be read", path)
	}
	if problem, ok := errors.AsType[*fs.PathError](err); ok {
		if _, system := errors.AsType[syscall.Errno](err); !system {
			return fmt.Errorf("%q: %w", path, errOutside) // the only error of os.Root itself
		}
		return fmt.Errorf("%q: %w", path, problem.Err)
	}
	return fmt.Errorf("%q: it cannot be read", path)
}

// isText says whether content looks like text. Complete says that it is all of
// the file, so that nothing may be cut off at its end.
func isText(content []byte, complete bool) bool {
	if bytes.IndexByte(content, 0) >= 0 {
		return false
	}
	if complete {
		return utf8.Valid(content)
	}
	for cut := range utf8.UTFMax {
		if cut <= len(content) && utf8.Valid(content[:len(content)-cut]) {
			return true
		}
	}
	return false
}

// describe says what a file that is no text seems to be.
func describe(path string, info fs.FileInfo, start []byte) string {
	return fmt.Sprintf("%s is not text: %d bytes, %s", path, info.Size(), http.DetectContentType(start))
}

// sniff reads the start of f, says whether it is text, and goes back to the start.
func sniff(f io.ReadSeeker, size int64) (start []byte, text bool, err error) {
	start, err = io.ReadAll(io.LimitReader(f, sniffBytes))
	if err != nil {
		return nil, false, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, false, err
	}
	return start, isText(start, int64(len(start)) >= size), nil
}
