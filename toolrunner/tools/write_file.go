package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
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
		done, err := w.alone(ctx)
		if err != nil {
			return toolrunner.Output{}, err
		}
		defer done()
		before, err := w.replace(ctx, filepath.ToSlash(args.Path), []byte(*args.Content), nil)
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
