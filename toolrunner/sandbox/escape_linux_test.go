package sandbox_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/everturn/everturn/toolrunner/sandbox"
)

func TestNoFormOfAPathLeadsOut(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	box, free := p.box(nil), p.box(off)
	up := "../outside/secret.txt"
	for _, path := range []string{
		p.secret, up, "./" + up, "/" + p.secret, strings.Repeat("./", 500) + up, "/proc/self/root" + p.secret, "/proc/self/cwd/" + up,
		"/proc/thread-self/root" + p.secret, "/../../.." + p.secret, "/etc/shadow", "/usr/../etc/shadow",
	} {
		p.isReal(free, "read", path)
		p.isHeld(box, "read", path)
		p.isHeld(box, "read from a folder", path)
	}
	for _, path := range []string{
		"..%2foutside%2fsecret.txt", "%2e%2e/outside/secret.txt", `..\outside\secret.txt`, "/proc/1/root" + p.secret, "/proc/1/cwd" + p.secret,
		"/old" + p.secret, strings.Repeat("a/", 3000) + up, "file://" + p.secret,
	} {
		p.isHeld(box, "read", path)
	}
	p.isReal(free, "read from a folder", up)
	p.isReal(free, "directories", p.secret)
	p.isHeld(box, "directories", p.secret)
	for _, path := range []string{filepath.Join(p.outside, "new.txt"), "../new.txt", "../outside/new.txt"} {
		p.isReal(free, "write", path)
		if filepath.IsAbs(path) {
			continue
		}
		if err := os.Remove(filepath.Join(p.workspace, path)); err != nil {
			t.Fatal(err)
		}
		p.run(box, sandbox.Command{}, "write", path) // into a folder of its own, or not at all
		if _, err := os.Stat(filepath.Join(p.workspace, path)); err == nil {
			t.Errorf("%s was written", path)
		}
	}
	p.isHeld(box, "write", filepath.Join(p.outside, "newer.txt"))
	for _, path := range []string{"/usr/bin/new", "/etc/passwd", "/bin/new", "/proc/new", "/dev/new", "/new"} {
		p.isHeld(box, "write", path)
	}
}

// Each of the two layers that keep files keeps them alone: Landlock has no say in
// whether something is there, and nothing but Landlock keeps the root from being listed.
func TestFilesAreKeptTwice(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	box := p.box(nil)
	for _, path := range []string{p.secret, "/etc/shadow", "/root", "/var/log", "/sys/kernel", "/dev/tty", "/dev/ptmx", "/proc/kcore"} {
		p.isHeld(box, "see", path)
	}
	for _, path := range []string{"/", "/dev", "/etc"} {
		p.isHeld(box, "list", path)
	}
}

func TestADirectoryIsInsideTheWorkspace(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := errors.Join(os.Symlink("/usr", filepath.Join(p.workspace, "link")), os.Mkdir(filepath.Join(p.workspace, "sub"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, box := range []*sandbox.Sandbox{p.box(nil), p.box(off)} {
		for _, directory := range []string{
			"..", "../outside", "/", "/usr", p.outside, "sub/../..", "link", "link/bin", "a\x00b", "..%2foutside", strings.Repeat("a", 5000),
		} {
			_, err := box.Run(t.Context(), sandbox.Command{Argv: []string{"/bin/true"}, Directory: directory})
			if !errors.Is(err, sandbox.ErrNotStarted) {
				t.Errorf("off %v: directory %.50q: %v", box.Off(), directory, err)
			}
		}
		if _, err := box.Run(t.Context(), sandbox.Command{Argv: []string{"/bin/true"}, Directory: "sub"}); err != nil {
			t.Error(err)
		}
	}
}

// What a command needs may be gone since the sandbox was tried out. Nothing has
// happened then, and that is said.
func TestACommandThatCannotBeHeldIsNotStarted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	box := p.box(nil)
	if err := os.Remove(p.workspace); err != nil {
		t.Fatal(err)
	}
	for _, plan := range everyPlan(box) {
		_, err := plan.Run(t.Context(), sandbox.Command{Argv: []string{"/bin/true"}})
		if !errors.Is(err, sandbox.ErrNotStarted) || !strings.Contains(err.Error(), p.workspace) {
			t.Error(err)
		}
	}
}

func TestNoLinkLeadsOut(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	box, free := p.box(nil), p.box(off)
	for _, name := range []string{"read through a link", "hard link", "race of links", "race of names"} {
		p.isReal(free, name, p.secret)
		for _, left := range []string{"link", "mine", "swap", "a", "b"} {
			if err := os.RemoveAll(filepath.Join(p.workspace, left)); err != nil {
				t.Fatal(err)
			}
		}
		p.isHeld(box, name, p.secret)
	}
	p.isHeld(box, "read through a link", "../outside/secret.txt")
	p.isHeld(box, "hard link", "/etc/passwd")
	p.isHeld(box, "write through a link", p.outside)
	if _, err := os.Stat(filepath.Join(p.outside, "new.txt")); err == nil {
		t.Error("written through a link")
	}
	p.isReal(free, "write through a link", p.outside)
}

// Somebody else may exchange the folder that a command is to start in, while it starts.
func TestNoRaceForTheDirectoryLeadsOut(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	box := p.box(nil)
	sub, link := filepath.Join(p.workspace, "sub"), filepath.Join(p.workspace, "other")
	if err := errors.Join(os.Mkdir(sub, 0o700), os.Symlink("../outside", link)); err != nil {
		t.Fatal(err)
	}
	var end atomic.Bool
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		for !end.Load() {
			_ = unix.Renameat2(unix.AT_FDCWD, sub, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
		}
	}()
	for range 20 {
		out, _ := p.runMaybe(box, sandbox.Command{Directory: "sub"}, "read", "secret.txt")
		if strings.Contains(out, escaped) {
			t.Error("got out")
		}
	}
	end.Store(true)
	<-changed
}

func TestNothingIsReachedOverTheNetwork(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	box, free := p.box(nil), p.box(off)
	for _, at := range []struct{ network, address string }{
		{"tcp", "127.0.0.1:0"},
		{"tcp", "[::1]:0"},
		{"unix", filepath.Join(p.outside, "s")},
		{"unix", filepath.Join(p.workspace, "s")},
		{"unix", "@everturn-test-" + filepath.Base(filepath.Dir(p.workspace)) + strconv.Itoa(os.Getpid())},
	} {
		l, err := net.Listen(at.network, at.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Write([]byte("x"))
			}
		}()
		p.isReal(free, "dial", at.network, l.Addr().String())
		p.isHeld(box, "dial", at.network, l.Addr().String())
	}
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() {
		for buffer := make([]byte, 100); ; {
			_, from, err := c.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = c.WriteTo([]byte("x"), from)
		}
	}()
	p.isReal(free, "packet", "udp", c.LocalAddr().String())
	p.isHeld(box, "packet", "udp", c.LocalAddr().String())
	file := filepath.Join(p.workspace, "datagrams")
	f, err := net.ListenPacket("unixgram", file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p.isReal(free, "pair", file)
	p.isHeld(box, "pair", file)
	p.isReal(free, "strange pair")
	p.isHeld(box, "strange pair")
	if out, _ := p.run(box, sandbox.Command{Network: true, ReadOnly: true}, "pair", file); !strings.Contains(out, held) {
		t.Errorf("with the network granted: %s", out)
	}
	p.isHeld(box, "dial", "tcp", "192.0.2.1:80") // of an address that nobody has
	for _, s := range [][2]int{
		{unix.AF_UNIX, unix.SOCK_STREAM},
		{unix.AF_UNIX, unix.SOCK_DGRAM},
		{unix.AF_PACKET, unix.SOCK_RAW},
		{unix.AF_INET, unix.SOCK_RAW},
		{unix.AF_VSOCK, unix.SOCK_STREAM},
		{unix.AF_ALG, unix.SOCK_SEQPACKET},
		{unix.AF_KEY, unix.SOCK_RAW},
		{unix.AF_BLUETOOTH, unix.SOCK_RAW},
	} {
		p.isHeld(box, "socket", strconv.Itoa(s[0]), strconv.Itoa(s[1]))
	}
	for _, name := range []string{"loop back", "ordinary pair"} {
		if out, _ := p.run(box, sandbox.Command{}, name); !strings.Contains(out, escaped) {
			t.Errorf("a command cannot talk to itself: %s: %s", name, out)
		}
	}
}

func TestS7_6_TheNetworkIsThereIfItWasGranted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Write([]byte("x"))
		}
	}()
	box := p.box(nil)
	if out, _ := p.run(box, sandbox.Command{Network: true}, "dial", "tcp", l.Addr().String()); !strings.Contains(out, escaped) {
		t.Errorf("says %q", out)
	}
	out, _ := p.run(box, sandbox.Command{Network: true}, "socket", strconv.Itoa(unix.AF_UNIX), strconv.Itoa(unix.SOCK_STREAM))
	if !strings.Contains(out, held) {
		t.Errorf("sockets in files: %q", out)
	}
}

func TestNoPrivilegeCanBeHad(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	box, free := p.box(nil), p.box(off)
	for _, name := range []string{"setuid file", "setuid at once", "trace", "foreign calls", "kernel calls"} {
		p.isReal(free, name)
	}
	for _, left := range []string{"program", "at-once"} {
		if err := os.Remove(filepath.Join(p.workspace, left)); err != nil {
			t.Fatal(err)
		}
	}
	for _, plan := range everyPlan(box) {
		for _, name := range []string{
			"setuid file", "setuid at once", "trace", "mount", "unshare", "clone", "join", "capability", "device", "mode of a device", "chroot",
			"kernel setting", "kernel calls", "foreign calls", "kill",
		} {
			p.isHeld(plan, name)
		}
	}
	p.isHeld(box, "setuid") // without a user namespace it is root in name, and can do nothing with it
	files, err := os.ReadDir(p.workspace)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode()&(os.ModeSetuid|os.ModeSetgid|os.ModeDevice) != 0 {
			t.Errorf("left behind: %v, %v", info, err)
		}
	}
}

// Wherever a distribution keeps keys and passwords, commands are not shown it.
func TestNoKeysAreShown(t *testing.T) {
	t.Parallel()
	for _, kept := range []string{
		"/etc/shadow", "/etc/gshadow", "/etc/ssh", "/etc/ssl/private", "/etc/pki/tls/private", "/etc/pki/CA/private", "/etc/pki/entitlement",
		"/etc/pki/nssdb", "/etc/krb5.keytab", "/etc/sudoers",
	} {
		for _, shown := range sandbox.Shown() {
			if kept == shown || strings.HasPrefix(kept, shown+"/") {
				t.Errorf("%s is shown with %s", kept, shown)
			}
		}
	}
}

// The process that becomes a command was started from a file of the host, and is
// the one way to it that is left.
func TestACommandIsNotTheRunnerItself(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	script := []byte("#!/proc/self/exe attempt\n")
	if err := errors.Join(os.Symlink("/proc/self/exe", filepath.Join(p.workspace, "link")), os.WriteFile(filepath.Join(p.workspace, "script"), script, 0o700)); err != nil {
		t.Fatal(err)
	}
	box := p.box(nil)
	p.isReal(p.box(off), "mode of itself")
	p.isHeld(box, "mode of itself")
	for _, plan := range everyPlan(box) {
		for _, program := range []string{"/proc/self/exe", "/proc/thread-self/exe", "./link", "./script"} {
			var out strings.Builder
			_, err := plan.Run(t.Context(), sandbox.Command{Argv: []string{program, "attempt", "mode of itself"}, Output: &out})
			if !errors.Is(err, sandbox.ErrNotStarted) {
				t.Errorf("%s: %v, says %q", program, err, &out)
			}
		}
	}
}

func TestNothingLeaksIn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	// As a library of somebody else's might open it: for whoever comes of us, too.
	fd, err := unix.Open(p.secret, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	box, free := p.box(nil), p.box(off)
	me, parent := strconv.Itoa(os.Getpid()), strconv.Itoa(os.Getppid())
	p.isReal(free, "files of init", me)
	p.isReal(free, "others", me)
	p.isReal(free, "descriptors")
	for _, plan := range everyPlan(box) {
		p.isHeld(plan, "environment")
		p.isHeld(plan, "descriptors")
		p.isHeld(plan, "others", me)
		p.isHeld(plan, "others", parent)
		p.isHeld(plan, "files of init", me)
		p.isHeld(plan, "files of init", "1")
		for _, path := range []string{"/etc/shadow", "/etc/gshadow", "/etc/ssh/ssh_host_ed25519_key", "/root/.bashrc", "/proc/kcore", "/proc/keys", "/var/log/dpkg.log", "/run/utmp"} {
			p.isHeld(plan, "read", path)
		}
	}
	p.isHeld(free, "environment") // that is looked after in any case
}
