package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// Limits of a listing.
const (
	maxEntriesRead  = 20_000
	maxEntriesShown = 500
	entriesAtOnce   = 256
)

// ListDirectory lists a folder of the workspace.
func ListDirectory(w *Workspace) toolrunner.Tool {
	return toolrunner.Func(protocol.Manifest{
		Name:        "list_directory",
		Description: "Lists a folder of the workspace: one entry a line, folders with a slash, files with their size in bytes. With a pattern it lists what matches in all folders below.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {
					"type": "string", "minLength": 1, "maxLength": 4096,
					"description": "Folder, relative to the workspace. Default: the workspace itself."
				},
				"pattern": {
					"type": "string", "minLength": 1, "maxLength": 200,
					"description": "List what has such a name, in this folder and in all below it, for example *.go, or, with a slash, such a path, for example src/**/*_test.go. Links are not followed."
				}
			},
			"additionalProperties": false
		}`),
		ReadOnly: true, Idempotent: true, Policy: events.PolicyAllow, TimeoutMS: readTimeout.Milliseconds(),
	}, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
		args := struct {
			Path    string `json:"path"`
			Pattern string `json:"pattern"`
		}{Path: "."}
		if err := parse(c.Arguments, &args); err != nil {
			return toolrunner.Output{}, err
		}
		if args.Pattern != "" {
			text, err := w.find(ctx, args.Path, args.Pattern)
			return toolrunner.Output{Text: text}, err
		}
		entries, all, err := w.list(ctx, args.Path)
		if err != nil {
			return toolrunner.Output{}, err
		}
		return toolrunner.Output{Text: listing(entries, all)}, nil
	})
}

// list reads a folder in order of names, and says whether it read all of it.
func (w *Workspace) list(ctx context.Context, path string) (entries []fs.DirEntry, all bool, err error) {
	f, err := w.open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, explain(path, err)
	}
	if !info.IsDir() {
		return nil, false, fmt.Errorf("%q: this is no folder", path)
	}
	for len(entries) < maxEntriesRead && ctx.Err() == nil {
		some, err := f.ReadDir(entriesAtOnce)
		entries = append(entries, some...)
		if errors.Is(err, io.EOF) {
			all = true
			break
		}
		if err != nil {
			return nil, false, explain(path, err)
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, all, ctx.Err()
}

func listing(entries []fs.DirEntry, all bool) string {
	if len(entries) == 0 {
		return "The folder is empty."
	}
	var b strings.Builder
	for _, e := range entries[:min(len(entries), maxEntriesShown)] {
		b.WriteString(entryLine(e.Name(), e))
		b.WriteByte('\n')
	}
	if more := len(entries) - maxEntriesShown; more > 0 || !all {
		atLeast := ""
		if !all {
			atLeast = "at least "
		}
		fmt.Fprintf(&b, "and %s%d more entries\n", atLeast, max(more, 0))
	}
	return b.String()
}

// find lists what matches a pattern in a folder and all below it.
func (w *Workspace) find(ctx context.Context, folder, pattern string) (string, error) {
	name, err := parseGlob(pattern)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	found := 0
	through := walk{workspace: w}
	through.see = func(_ context.Context, _, relative string, e fs.DirEntry) error {
		if !name.matches(relative) {
			return nil
		}
		line := entryLine(relative, e)
		if found == maxEntriesShown || b.Len()+len(line) > maxReadBytes {
			return through.enough("stopped after %d entries", found)
		}
		found++
		b.WriteString(line + "\n")
		return nil
	}
	if err := through.run(ctx, folder); err != nil {
		return "", err
	}
	if found == 0 && through.why == "" {
		b.WriteString("Nothing matches.\n")
	}
	b.WriteString(through.left())
	return b.String(), nil
}

// entryLine is what is told of an entry, under the given name.
func entryLine(name string, e fs.DirEntry) string {
	name = shownName(name)
	switch {
	case e.IsDir():
		return name + "/"
	case e.Type()&fs.ModeSymlink != 0:
		return name + " (link)"
	case !e.Type().IsRegular():
		return name + " (special)"
	}
	info, err := e.Info()
	if err != nil {
		return name + " (gone)"
	}
	return fmt.Sprintf("%s (%d bytes)", name, info.Size())
}
