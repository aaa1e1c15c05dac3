package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Names in the folder. A file is built under another name than it is used by, and gets
// its number when it is whole, so that nobody uses half of one.
const (
	fileBefore   = "index-"
	fileBehind   = ".db"
	buildingName = "building.db"
	lockName     = "index.lock"
	buildLock    = "building.lock"
	lockMode     = 0o600
)

// besides is what SQLite keeps beside a file.
var besides = []string{"", "-wal", "-shm", "-journal"}

// ErrInUse means that another process keeps the folder, or builds in it.
var ErrInUse = errors.New("another process has it in use")

// folder is where the files of an index lie: the newest is in use.
type folder string

// lock takes the folder for this process, by a file in it. It is free again when the
// file is closed, also by the end of the process.
func (d folder) lock(name string) (*os.File, error) {
	if err := os.MkdirAll(string(d), folderMode); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(string(d), name), os.O_RDWR|os.O_CREATE, lockMode)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		err = errors.Join(err, f.Close())
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("index: %s: %w: each needs a folder of its own", d, ErrInUse)
		}
		return nil, fmt.Errorf("index: lock %s: %w", d, err)
	}
	return f, nil
}

// generations are the numbers of the files that there are, upwards.
func (d folder) generations() ([]int, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	var list []int
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), fileBefore)
		if number, whole := strings.CutSuffix(number, fileBehind); ok && whole {
			if n, err := strconv.Atoi(number); err == nil {
				list = append(list, n)
			}
		}
	}
	slices.Sort(list)
	return list, nil
}

// newest is the number of the file to use, 0 if there is none.
func (d folder) newest() (int, error) {
	list, err := d.generations()
	if err != nil || len(list) == 0 {
		return 0, err
	}
	return list[len(list)-1], nil
}

// file is where the file of that number is.
func (d folder) file(generation int) string {
	return filepath.Join(string(d), fileBefore+strconv.Itoa(generation)+fileBehind)
}

// building is where a file is that is not whole yet.
func (d folder) building() string { return filepath.Join(string(d), buildingName) }

// publish gives the file that was built the next number. Whoever keeps the folder may
// make a file of that number just then, which is in use: it gets the one behind it.
func (d folder) publish() error {
	for {
		newest, err := d.newest()
		if err != nil {
			return err
		}
		switch err := os.Link(d.building(), d.file(newest+1)); {
		case errors.Is(err, os.ErrExist):
			continue
		case err != nil:
			return fmt.Errorf("index: %w", err)
		}
		return removeFile(d.building())
	}
}

// tidy deletes what a build has left that was killed. Nothing that is erased meanwhile
// would be erased there.
func (d folder) tidy() error {
	lock, err := d.lock(buildLock)
	if errors.Is(err, ErrInUse) {
		return nil // it is being built
	}
	if err != nil {
		return err
	}
	return errors.Join(removeFile(d.building()), lock.Close())
}

// removeBefore deletes the files of all numbers below that one.
func (d folder) removeBefore(generation int) error {
	list, err := d.generations()
	for _, n := range list {
		if n < generation {
			err = errors.Join(err, removeFile(d.file(n)))
		}
	}
	return err
}

// removeFile deletes an SQLite file, with what is kept beside it.
func removeFile(path string) error {
	var errs []error
	for _, beside := range besides {
		if err := os.Remove(path + beside); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("index: %w", err))
		}
	}
	return errors.Join(errs...)
}
