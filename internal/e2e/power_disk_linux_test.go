//go:build processes

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	// diskBytes is what the shipped streams reserve, and more. The file is sparse:
	// a hundredth of a percent of it is written.
	diskBytes = 400 << 30

	// secondsUnsynced is how long the file system may keep to itself what nobody
	// asked it to sync: longer than a test lasts, so that a cut takes all of it.
	secondsUnsynced = "3600"
)

// Requests to a file system: to go down as if its power were cut, without writing
// even its journal. The numbers are those of linux/fs.h and linux/ext4.h.
const (
	requestShutdown = 0x8004587d
	withoutJournal  = 2
)

// disk is an ext4 of its own that forgets, when its power is cut, all that was
// written and never synced. It needs root, loop devices, and mkfs.ext4.
type disk struct {
	t     *testing.T
	image string
	root  string // where it is mounted
}

// newDisk makes an empty disk and mounts it. It is taken away when the test ends.
func newDisk(t *testing.T, root string) *disk {
	t.Helper()
	d := &disk{t: t, image: filepath.Join(t.TempDir(), "disk"), root: root}
	f, err := os.Create(d.image)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(diskBytes); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	d.command("mkfs.ext4", "-q", "-F", d.image)
	d.mount()
	t.Cleanup(func() { d.command("umount", "--lazy", root) }) // processes may have it until they are stopped
	return d
}

func (d *disk) mount() {
	d.t.Helper()
	d.command("mount", "-o", "loop,noatime,commit="+secondsUnsynced, d.image, d.root)
}

// cut takes the power away and brings it back: what is there then is what had
// been synced. Nobody may have a file on it open.
func (d *disk) cut() {
	d.t.Helper()
	f, err := os.Open(d.root)
	if err != nil {
		d.t.Fatal(err)
	}
	err = unix.IoctlSetPointerInt(int(f.Fd()), requestShutdown, withoutJournal)
	if err := f.Close(); err != nil {
		d.t.Fatal(err)
	}
	if err != nil {
		d.t.Fatalf("cut the power of %s: %v", d.root, err)
	}
	d.command("umount", d.root)
	d.mount()
}

func (d *disk) command(name string, args ...string) {
	d.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}
