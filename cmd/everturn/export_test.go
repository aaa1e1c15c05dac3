package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everturn/everturn/internal/cli"
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

// What is no file is never replaced by one.
func TestOnlyAFileIsReplaced(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	write := func(w io.Writer) error { _, err := io.WriteString(w, "all of it"); return err }
	if err := os.WriteFile(in("file"), []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink("file", in("link")), os.Symlink("nothing", in("dangling")), os.Symlink("/dev/null", in("device"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{in("new"), in("link"), in("device"), "/dev/null"} {
		if err := writeFile(name, write); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"new", "link", "file"} {
		if content, err := os.ReadFile(in(name)); err != nil || string(content) != "all of it" {
			t.Errorf("%s has %q (%v)", name, content, err)
		}
	}
	for _, name := range []string{"link", "device", "dangling"} {
		if _, err := os.Readlink(in(name)); err != nil {
			t.Errorf("%s is no link any more: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		folder: "is a folder", in("dangling"): "is a link to something that is not there",
		in("missing/chat"): "there is no folder", "/dev/fd/999": "/dev/fd/999",
	} {
		if err := writeFile(name, write); cli.Code(err) != cli.ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if err := writeFile("/dev/full", write); err == nil {
		t.Error("a device that is full is written to")
	}
	if about, err := os.Stat("/dev/full"); err != nil || about.Mode()&os.ModeDevice == 0 {
		t.Errorf("/dev/full is %v (%v)", about, err)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 5 {
		t.Errorf("left: %v (%v)", left, err)
	}
}

// What a shell has opened for us is written to, behind what is there.
func TestWhatIsOpenIsWrittenTo(t *testing.T) {
	t.Parallel()
	read, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "redirected"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("first, "); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{to, file} {
		err := writeFile(fmt.Sprintf("/dev/fd/%d", f.Fd()), func(w io.Writer) error { _, err := io.WriteString(w, "all of it"); return err })
		if err := errors.Join(err, f.Close()); err != nil {
			t.Error(err)
		}
	}
	piped, err := io.ReadAll(read)
	if err := errors.Join(err, read.Close()); err != nil || string(piped) != "all of it" {
		t.Errorf("the pipe has %q (%v)", piped, err)
	}
	if content, err := os.ReadFile(file.Name()); err != nil || string(content) != "first, all of it" {
		t.Errorf("the file has %q (%v)", content, err)
	}
}

// Who may read a file may read what replaces it; a new one is its owner's.
func TestAReplacedFileKeepsItsPermissions(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, want := range map[string]os.FileMode{"new": 0o600, "shared": 0o664, "read-only": 0o440} {
		file := filepath.Join(folder, name)
		if name != "new" {
			if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chmod(file, want)); err != nil {
				t.Fatal(err)
			}
		}
		if err := writeFile(file, func(w io.Writer) error { _, err := io.WriteString(w, "all of it"); return err }); err != nil {
			t.Fatal(err)
		}
		if about, err := os.Stat(file); err != nil || about.Mode() != want {
			t.Errorf("%s has %v (%v), want %v", name, about.Mode(), err, want)
		}
	}
}
