package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A chat is erased because its file is there: so its name is on the disk, too, before
// anybody believes it.
func TestAnExportIsOnItsDiskWithItsName(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "chat.jsonl")
	write := func(w io.Writer) error { _, err := io.WriteString(w, "all of it"); return err }
	var synced []bool // folders, and whether the file had its name by then
	sync := func(f *os.File) error {
		about, err := f.Stat()
		if err != nil {
			return err
		}
		_, missing := os.Stat(name)
		synced = append(synced, about.IsDir() && missing == nil)
		return f.Sync()
	}
	if err := writeSynced(name, write, sync); err != nil {
		t.Fatal(err)
	}
	if len(synced) != 2 || synced[0] || !synced[1] {
		t.Errorf("synced %v, want the file, and then the folder with its name in it", synced)
	}
	if content, err := os.ReadFile(name); err != nil || string(content) != "all of it" {
		t.Errorf("the file has %q (%v)", content, err)
	}
	broken := errors.New("the disk is broken")
	sync = func(f *os.File) error {
		if about, err := f.Stat(); err != nil || about.IsDir() {
			return errors.Join(broken, err)
		}
		return f.Sync()
	}
	if err := writeSynced(name, write, sync); !errors.Is(err, broken) {
		t.Errorf("with a folder that is not brought to its disk: %v", err)
	}
}
