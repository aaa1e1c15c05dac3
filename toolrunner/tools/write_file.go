package tools

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// Limits of writing a file.
const (
	writeTimeout    = 30 * time.Second
	maxWrittenBytes = events.MaxArgumentsBytes // of content; the arguments that hold it have no more
)

// Modes of what is new. The process's umask takes from them.
const (
	newFileMode   = 0o666
	newFolderMode = 0o777
)

// WriteFile writes a text file of the workspace, whole, and makes the folders it is to
// lie in. Whoever reads the file meanwhile reads the old content or the new one.
//
// Each call waits for somebody to approve it, where the chat's mode leaves that to the
// tool. It is not idempotent: to write the same content once more would undo what
// somebody else has written since. So a call whose process dies may be unknown; the file
// itself tells.
func WriteFile(w *Workspace) toolrunner.Tool {
	return toolrunner.Func(protocol.Manifest{
		Name:        "write_file",
		Description: "Writes a text file of the workspace: it is made, or replaced as a whole by the content given. Folders that are missing are made. The user is asked before it happens.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "File, relative to the workspace."},
				"content": {"type": "string", "description": "All that the file is to contain."}
			},
			"required": ["path", "content"],
			"additionalProperties": false
		}`),
		Policy: events.PolicyAsk, TimeoutMS: writeTimeout.Milliseconds(),
	}, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
		var args struct {
			Path    string  `json:"path"`
			Content *string `json:"content"`
		}
		if err := parse(c.Arguments, &args); err != nil {
			return toolrunner.Output{}, err
		}
		switch {
		case args.Path == "" || args.Content == nil:
			return toolrunner.Output{}, errors.New("path and content are both needed")
		case len(*args.Content) > maxWrittenBytes:
			return toolrunner.Output{}, fmt.Errorf("content: %d bytes, at most %d can be written at once", len(*args.Content), maxWrittenBytes)
		}
		before, err := w.replace(ctx, filepath.ToSlash(args.Path), []byte(*args.Content))
		if err != nil {
			return toolrunner.Output{}, err
		}
		return toolrunner.Output{Text: written(args.Path, len(*args.Content), before)}, nil
	})
}

// written tells what was done.
func written(name string, size int, before fs.FileInfo) string {
	if before == nil {
		return fmt.Sprintf("Wrote %d bytes to the new file %q.", size, name)
	}
	return fmt.Sprintf("Wrote %d bytes to %q, in place of %d.", size, name, before.Size())
}

// replace puts content in the place of a file, all of it or nothing, and gives what was
// there before; nil if nothing was.
func (w *Workspace) replace(ctx context.Context, name string, content []byte) (fs.FileInfo, error) {
	before, err := w.writable(name)
	if err != nil {
		return nil, err
	}
	folder := path.Dir(path.Clean(name))
	if err := w.root.MkdirAll(folder, newFolderMode); err != nil {
		return nil, explainWrite(name, err)
	}
	beside := path.Join(folder, ".everturn-"+rand.Text())
	if err := w.create(beside, before, content); err != nil {
		return nil, errors.Join(explainWrite(name, err), w.discard(beside))
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, w.discard(beside))
	}
	if err := w.root.Rename(beside, path.Clean(name)); err != nil {
		return nil, errors.Join(explainWrite(name, err), w.discard(beside))
	}
	w.settle(folder)
	return before, nil
}

// writable looks at what lies where a file is to be written, nil if nothing does.
func (w *Workspace) writable(name string) (fs.FileInfo, error) {
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") { // what lies there is run as programs, when nobody expects it
			return nil, fmt.Errorf("%q: nothing is written below .git", name)
		}
	}
	if strings.HasSuffix(name, "/") {
		return nil, fmt.Errorf("%q: this is the name of a folder; name a file", name)
	}
	if err := w.unlinked(name); err != nil {
		return nil, err
	}
	info, err := w.root.Lstat(path.Clean(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, explainWrite(name, err)
	case info.IsDir():
		return nil, fmt.Errorf("%q: this is a folder; name a file", name)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("%q: this is a link; name the file itself", name)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%q: %w", name, errSpecial)
	}
	return info, nil
}

// unlinked refuses a path that leads through a link: the file would not lie where
// whoever approves the call reads that it does, but below .git, for one.
func (w *Workspace) unlinked(name string) error {
	for folder := path.Dir(path.Clean(name)); folder != path.Dir(folder); folder = path.Dir(folder) {
		if info, err := w.root.Lstat(folder); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%q: %q is a link; name the folder itself", name, folder)
		}
	}
	return nil
}

// create makes a file, and returns when its content is on the disk. It may be read and
// written by whoever may do so with the one before, if there is one.
func (w *Workspace) create(name string, before fs.FileInfo, content []byte) (err error) {
	mode := fs.FileMode(newFileMode)
	if before != nil {
		mode = before.Mode().Perm()
	}
	f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if before != nil { // the umask has taken from it
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Sync()
}

// discard removes what was not needed after all.
func (w *Workspace) discard(name string) error {
	if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.New("a file whose name begins with .everturn- could not be removed")
	}
	return nil
}

// settle has a folder's new entry outlast a loss of power. Not every file system can do
// that, and the file is written all the same.
func (w *Workspace) settle(folder string) {
	f, err := w.root.Open(folder)
	if err != nil {
		return
	}
	_ = f.Sync()  // see above
	_ = f.Close() // nothing was written to it
}

// explainWrite is explain for what cannot be written.
func explainWrite(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%q: it may not be written", name)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%q: its folder went away", name)
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%q: %w", name, link.Err)
	}
	return explain(name, err)
}
