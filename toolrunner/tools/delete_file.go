package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// maxDeleted is how many files and folders one call deletes at most.
const maxDeleted = 10_000

// DeleteFile deletes a file or an empty folder of the workspace, or, if the call says
// so, a folder with all that is in it. Of a link it deletes the link.
//
// Each call waits for somebody to approve it. It is not idempotent: what lies there
// later may be something else.
func DeleteFile(w *Workspace) toolrunner.Tool {
	return toolrunner.Func(protocol.Manifest{
		Name:        "delete_file",
		Description: "Deletes a file or an empty folder of the workspace; with recursive a folder and all that is in it. Of a link it deletes the link. The user is asked before it happens.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "File or folder, relative to the workspace."},
				"recursive": {"type": "boolean", "description": "Delete a folder with all that is in it. Default: false."}
			},
			"required": ["path"],
			"additionalProperties": false
		}`),
		Policy: events.PolicyAsk, TimeoutMS: writeTimeout.Milliseconds(),
	}, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
		var args struct {
			Path      string `json:"path"`
			Recursive bool   `json:"recursive"`
		}
		if err := parse(c.Arguments, &args); err != nil {
			return toolrunner.Output{}, err
		}
		if args.Path == "" {
			return toolrunner.Output{}, errors.New("path is needed")
		}
		text, err := w.remove(ctx, filepath.ToSlash(args.Path), args.Recursive)
		return toolrunner.Output{Text: text}, err
	})
}

// remove deletes what lies at a path, and says what that was.
func (w *Workspace) remove(ctx context.Context, name string, recursive bool) (string, error) {
	done, err := w.alone(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	what, err := w.movable(name)
	if err != nil {
		return "", err
	}
	target, inside := path.Clean(name), 0
	if what.IsDir() {
		if inside, err = w.inside(ctx, target, 0); err != nil {
			return "", fmt.Errorf("%q: %w. Nothing was deleted", name, err)
		}
		if inside > 0 && !recursive {
			return "", fmt.Errorf("%q: the folder is not empty, it has %d files and folders in it; say recursive to delete them as well", name, inside)
		}
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	remove := w.root.Remove
	if recursive && what.IsDir() {
		remove = w.root.RemoveAll
	}
	if err := remove(target); err != nil {
		return "", explainWrite(name, err)
	}
	w.settle(path.Dir(target))
	switch {
	case inside > 0:
		return fmt.Sprintf("Deleted the folder %q with %d files and folders in it.", name, inside), nil
	case what.IsDir():
		return fmt.Sprintf("Deleted the folder %q.", name), nil
	case what.Mode()&fs.ModeSymlink != 0:
		return fmt.Sprintf("Deleted the link %q, and not what it leads to.", name), nil
	}
	return fmt.Sprintf("Deleted the file %q.", name), nil
}

// inside counts what is in a folder, at any depth. It is an error if some of that may
// not be deleted.
func (w *Workspace) inside(ctx context.Context, folder string, counted int) (int, error) {
	entries, all, err := w.list(ctx, folder)
	if err != nil {
		return counted, err
	}
	for _, e := range entries {
		counted++
		switch {
		case counted > maxDeleted || !all:
			return counted, fmt.Errorf("there are more than %d files and folders in it; delete it in parts", maxDeleted)
		case isRepository(e.Name()):
			return counted, fmt.Errorf("%q is in it, and nothing below .git is deleted", path.Join(folder, e.Name()))
		}
		if !e.IsDir() {
			continue
		}
		if counted, err = w.inside(ctx, path.Join(folder, e.Name()), counted); err != nil {
			return counted, err
		}
	}
	return counted, nil
}
