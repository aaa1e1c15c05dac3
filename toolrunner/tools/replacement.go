package tools

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode"
)

// Modes of what is new. The process's umask takes from them.
const (
	newFileMode   = 0o666
	newFolderMode = 0o777
)

// errChanged means that a file is not the one that it was a moment before.
var errChanged = errors.New("somebody else has changed the file meanwhile; read it again")

// replace puts content in the place of a file, all of it or nothing, and gives what was
// there before; nil if nothing was. Unless was is nil, it is that file, as it was then,
// which must lie there.
func (w *Workspace) replace(ctx context.Context, name string, content []byte, was fs.FileInfo) (fs.FileInfo, error) {
	before, err := w.writable(name)
	if err != nil {
		return nil, err
	}
	if was != nil && !isSame(was, before) {
		return nil, fmt.Errorf("%q: %w", name, errChanged)
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
	if now, err := w.root.Lstat(path.Clean(name)); was != nil && (err != nil || !isSame(was, now)) {
		return nil, errors.Join(fmt.Errorf("%q: %w", name, errChanged), w.discard(beside))
	}
	if err := w.root.Rename(beside, path.Clean(name)); err != nil {
		return nil, errors.Join(explainWrite(name, err), w.discard(beside))
	}
	w.settle(folder)
	return before, nil
}

// isSame says whether two looks saw the same file, unchanged.
func isSame(a, b fs.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// writable looks at what lies where a file is to be written, nil if nothing does.
func (w *Workspace) writable(name string) (fs.FileInfo, error) {
	if err := w.changeable(name); err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, "/") {
		return nil, fmt.Errorf("%q: this is the name of a folder; name a file", name)
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

// changeable refuses a path at which nothing may be changed.
func (w *Workspace) changeable(name string) error {
	for part := range strings.SplitSeq(name, "/") {
		if isRepository(part) {
			return fmt.Errorf("%q: nothing is written below .git", name)
		}
	}
	return w.unlinked(name)
}

// isRepository says whether a folder of that name is one of Git: what lies there is run
// as programs, when nobody expects it. So it is by any name under which a file system
// finds it: some look past case, past characters that nobody sees, past dots and spaces
// at the end, have a short name for it, or name a part of it behind a colon.
func isRepository(name string) bool {
	name = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		return r
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
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
