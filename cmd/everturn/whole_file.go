package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/everturn/everturn/internal/cli"
)

// standardStream stands in place of a file's name: standard input where something
// is read, standard output where it is written.
const standardStream = "-"

// writeFile writes a file that is whole and on its disk, or is not there under its
// name. What was there is replaced only if it is a file. The file that a link leads
// to is, and the link stays; into a pipe or a device it is written as it comes.
func writeFile(name string, write func(io.Writer) error) error {
	return writeSynced(name, write, (*os.File).Sync)
}

// writeSynced is writeFile with what brings a file, or a folder, to its disk. The
// name is in the folder: one that is not on the disk does not outlive a power cut.
func writeSynced(name string, write func(io.Writer) error, sync func(*os.File) error) error {
	target, through, err := writable(name)
	if err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	if through {
		return writeThrough(target, write)
	}
	beside, err := writeBeside(target, write, sync)
	if err != nil {
		return err
	}
	if err := os.Rename(beside, target); err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	folder, err := os.Open(filepath.Dir(target))
	if err != nil {
		return err
	}
	return errors.Join(sync(folder), folder.Close())
}

// writable is what is to be written under a name, and whether it takes everything as
// it comes, instead of being replaced.
func writable(name string) (target string, through bool, err error) {
	if isStream(name) {
		return name, true, nil
	}
	about, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if _, isLink := os.Readlink(name); isLink == nil {
			return "", false, fmt.Errorf("%s is a link to something that is not there", name)
		}
		return name, false, nil
	}
	switch {
	case err != nil:
		return "", false, err
	case about.IsDir():
		return "", false, fmt.Errorf("%s is a folder: name a file in it", name)
	case about.Mode()&fs.ModeSocket != 0:
		return "", false, fmt.Errorf("%s is a socket: name a file", name)
	case !about.Mode().IsRegular():
		return name, true, nil
	}
	target, err = filepath.EvalSymlinks(name)
	return target, false, err
}

// isStream reports whether a name stands for something that this process has open,
// which is written to also if it is a file.
func isStream(name string) bool {
	name = filepath.Clean(name)
	return strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/") ||
		name == "/dev/stdout" || name == "/dev/stderr"
}

// writeThrough writes to what is there.
func writeThrough(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	return errors.Join(write(f), f.Close())
}

// writeBeside writes a file beside the one that it is to replace, with the permissions
// of that one, and gives its name. One that replaces nothing is only for its owner.
func writeBeside(name string, write func(io.Writer) error, sync func(*os.File) error) (beside string, err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: there is no folder %s", name, filepath.Dir(name))
	}
	if err != nil {
		return "", cli.Exit(cli.ExitUsage, err)
	}
	err = write(f)
	if err == nil {
		err = keepMode(f, name)
	}
	if err == nil {
		err = sync(f)
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// keepMode gives a file the permissions of the one of that name, if there is one.
func keepMode(f *os.File, name string) error {
	about, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Chmod(about.Mode().Perm())
}
