package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// MoveFile moves or renames a file or folder of the workspace, and makes the folders it
// is to lie in. It is at one of the two places at any time. What lies at the new place
// stays there, unless the call says that a file may be replaced.
//
// Each call waits for somebody to approve it. It is not idempotent: a second one finds
// nothing to move, or something else.
func MoveFile(w *Workspace) toolrunner.Tool {
	return toolrunner.Func(protocol.Manifest{
		Name:        "move_file",
		Description: "Moves or renames a file or a folder of the workspace. Folders that are missing are made. What is there already is replaced only with overwrite, and only a file. The user is asked before it happens.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"from": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "File or folder, relative to the workspace."},
				"to": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "Its new path, with its name, relative to the workspace."},
				"overwrite": {"type": "boolean", "description": "Replace a file that is there already. Default: false."}
			},
			"required": ["from", "to"],
			"additionalProperties": false
		}`),
		Policy: events.PolicyAsk, TimeoutMS: writeTimeout.Milliseconds(),
	}, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
		var args struct {
			From      string `json:"from"`
			To        string `json:"to"`
			Overwrite bool   `json:"overwrite"`
		}
		if err := parse(c.Arguments, &args); err != nil {
			return toolrunner.Output{}, err
		}
		if args.From == "" || args.To == "" {
			return toolrunner.Output{}, errors.New("from and to are both needed")
		}
		replaced, err := w.move(ctx, filepath.ToSlash(args.From), filepath.ToSlash(args.To), args.Overwrite)
		if err != nil {
			return toolrunner.Output{}, err
		}
		text := fmt.Sprintf("Moved %q to %q.", args.From, args.To)
		if replaced {
			text = fmt.Sprintf("Moved %q to %q, in place of the file that was there.", args.From, args.To)
		}
		return toolrunner.Output{Text: text}, nil
	})
}

// move gives a file or folder another path, and says whether a file lay there.
func (w *Workspace) move(ctx context.Context, from, to string, overwrite bool) (replaced bool, err error) {
	done, err := w.alone(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	what, err := w.movable(from)
	if err != nil {
		return false, err
	}
	if err := w.changeable(to); err != nil {
		return false, err
	}
	if strings.HasSuffix(to, "/") {
		return false, fmt.Errorf("%q: say the new name, too", to)
	}
	from, to = path.Clean(from), path.Clean(to)
	if to == from || strings.HasPrefix(to, from+"/") {
		return false, fmt.Errorf("%q cannot be moved to %q, which is itself or lies in it", from, to)
	}
	there, err := w.root.Lstat(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, explainWrite(to, err)
	case !there.Mode().IsRegular() || !what.Mode().IsRegular():
		return false, fmt.Errorf("%q: something is there already, and only a file is replaced, by a file", to)
	case !overwrite:
		return false, fmt.Errorf("%q: a file is there already; say overwrite to replace it", to)
	}
	if err := w.root.MkdirAll(path.Dir(to), newFolderMode); err != nil {
		return false, explainWrite(to, err)
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if err := w.root.Rename(from, to); err != nil {
		if errors.Is(err, syscall.EXDEV) {
			return false, fmt.Errorf("%q: it lies on another file system; write it anew", to)
		}
		return false, explainWrite(from, err)
	}
	w.settle(path.Dir(to))
	w.settle(path.Dir(from))
	return there != nil, nil
}

// movable looks at a file, link or folder that may be taken from where it is.
func (w *Workspace) movable(name string) (fs.FileInfo, error) {
	if err := w.changeable(name); err != nil {
		return nil, err
	}
	if path.Clean(name) == "." {
		return nil, fmt.Errorf("%q: this is the workspace itself", name)
	}
	info, err := w.root.Lstat(path.Clean(name))
	switch {
	case err != nil:
		return nil, explain(name, err)
	case strings.HasSuffix(name, "/") && !info.IsDir():
		return nil, fmt.Errorf("%q: this is no folder", name)
	}
	return info, nil
}
