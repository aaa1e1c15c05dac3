package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
)

// Limits of looking through folders. What was found until then is given, and which of
// them was reached.
const (
	maxFilesVisited = 20_000
	maxDepth        = 40
	walkTime        = 20 * time.Second // less than [readTimeout], after which nothing is given
)

// errEnough ends a walk at one of its limits.
var errEnough = errors.New("enough")

// walk goes through a folder and those in it, in order of names. Links are not followed,
// and folders of Git are left out.
type walk struct {
	workspace *Workspace
	root      string
	until     time.Time
	see       func(ctx context.Context, file, relative string, e fs.DirEntry) error

	visited int
	skipped int    // folders and files that could not be looked through
	why     string // there may be more
}

// run goes through the folder. Only that one must be readable; others are skipped and
// counted.
func (w *walk) run(ctx context.Context, folder string) error {
	w.root, w.until = path.Clean(folder), time.Now().Add(walkTime)
	err := w.folder(ctx, w.root, 0)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// enough ends the walk, and says why.
func (w *walk) enough(format string, arguments ...any) error {
	w.why = fmt.Sprintf(format, arguments...)
	return errEnough
}

func (w *walk) folder(ctx context.Context, dir string, depth int) error {
	entries, all, err := w.workspace.list(ctx, dir)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return w.skip(err, depth)
	case depth > maxDepth:
		return w.skip(nil, depth)
	case !all:
		w.skipped++ // the rest of a huge folder
	}
	for _, e := range entries {
		if err := w.entry(ctx, dir, e, depth); err != nil {
			return err
		}
	}
	return nil
}

// skip leaves a folder out, unless it is the one that was asked for.
func (w *walk) skip(err error, depth int) error {
	if depth == 0 {
		return err
	}
	w.skipped++
	return nil
}

func (w *walk) entry(ctx context.Context, dir string, e fs.DirEntry, depth int) error {
	file := path.Join(dir, e.Name())
	if w.visited++; w.visited > maxFilesVisited {
		return w.enough("stopped after %d files and folders", maxFilesVisited)
	}
	if err := w.goesOn(ctx); err != nil {
		return err
	}
	if err := w.see(ctx, file, strings.TrimPrefix(file, w.root+"/"), e); err != nil {
		return err
	}
	if !e.IsDir() || isRepository(e.Name()) { // objects and indexes: nobody means those
		return ctx.Err()
	}
	return w.folder(ctx, file, depth+1)
}

// goesOn says whether there is time left.
func (w *walk) goesOn(ctx context.Context) error {
	if time.Now().After(w.until) {
		return w.enough("stopped after %v", walkTime)
	}
	return ctx.Err()
}

// left tells what was left out.
func (w *walk) left() string {
	var b strings.Builder
	if w.why != "" {
		fmt.Fprintf(&b, "[%s: make the search narrower]\n", w.why)
	}
	if w.skipped > 0 {
		fmt.Fprintf(&b, "[%d files or folders could not be searched to their end]\n", w.skipped)
	}
	return b.String()
}

// shownName quotes a name that would break its line or the reader's terminal.
func shownName(name string) string {
	if strings.TrimSpace(name) != name || events.RepairText(name) != name || strings.ContainsAny(name, "\r\n\t") {
		return fmt.Sprintf("%q", name)
	}
	return name
}
