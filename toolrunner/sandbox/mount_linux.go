package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Folders and files of the host that every command can read. Of /etc it is a
// list: there are keys and passwords in it.
func systemFolders() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"}
}

func settingsShown() []string {
	return []string{
		"/etc/alternatives", "/etc/bash.bashrc", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/crypto-policies",
		"/etc/debian_version", "/etc/fonts", "/etc/group", "/etc/host.conf", "/etc/hosts", "/etc/inputrc", "/etc/java-17-openjdk",
		"/etc/java-21-openjdk", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/locale.alias", "/etc/localtime",
		"/etc/magic", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release", "/etc/passwd", "/etc/perl",
		"/etc/pki/ca-trust", "/etc/pki/java", "/etc/pki/tls/cert.pem", "/etc/pki/tls/certs", "/etc/pki/tls/openssl.cnf", "/etc/protocols", "/etc/python3", "/etc/resolv.conf", "/etc/services", "/etc/shells", "/etc/ssl/cert.pem",
		"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/terminfo", "/etc/timezone",
	}
}

func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
}

// Where the pieces are put together, before they become the root.
const (
	stage   = "/tmp" // exists everywhere; what is in it is looked at below oldRoot
	oldRoot = "/old"
	newRoot = "/new"

	rootBytes   = 4 << 20 // folders and links only
	sharedBytes = 64 << 20
	maxInodes   = 100_000
)

// mount gives this mount namespace a root of its own, which holds nothing but
// what commands need. Nobody outside sees any of it.
func (o order) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make private: %w", err)
	}
	if err := temporary(stage, rootBytes); err != nil {
		return err
	}
	if err := errors.Join(os.Mkdir(stage+oldRoot, 0o755), os.Mkdir(stage+newRoot, 0o755)); err != nil {
		return err
	}
	if err := unix.PivotRoot(stage, stage+oldRoot); err != nil {
		return fmt.Errorf("pivot: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := temporary(newRoot, rootBytes); err != nil {
		return err
	}
	if err := o.fill(); err != nil {
		return err
	}
	if err := os.Chdir(newRoot); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	return restrict("/", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, false)
}

// fill puts everything into the new root. Each piece is set in place before the
// next, so that a workspace below /tmp lies in the command's own /tmp.
func (o order) fill() error {
	if err := processes(o.Limits); err != nil {
		return err
	}
	for _, path := range append(systemFolders(), settingsShown()...) {
		if err := show(path, true); err != nil {
			return err
		}
	}
	for _, path := range devices() { // which can be written all the same: it is their modes and times that cannot
		if err := bind(path, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(to, newRoot+"/dev/"+name); err != nil {
			return err
		}
	}
	if err := temporary(newRoot+"/tmp", o.Limits.Temporary); err != nil {
		return err
	}
	if err := temporary(newRoot+"/dev/shm", min(sharedBytes, o.Limits.Temporary)); err != nil {
		return err
	}
	for _, folder := range o.Read {
		if err := bind(folder, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err != nil {
			return err
		}
	}
	attributes := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
	if o.ReadOnly {
		attributes |= unix.MOUNT_ATTR_RDONLY
	}
	if err := bind(o.Workspace, attributes); err != nil {
		return err
	}
	return o.showOurselves()
}

// ourselves is this very program, where nobody can change it. What becomes a
// command is started from there: the kernel shows a process the file that it was
// started from, and that of the host might belong to whoever runs the command.
const ourselves = "/run/everturn-sandbox"

// showOurselves puts it there, unless this program has been replaced since it was
// started, or lies where the command's user cannot get to. It is then started
// from the file of the host, which is nobody's any more, or not that user's to change.
func (o order) showOurselves() error {
	from := oldRoot + o.Program
	there, err := os.Stat(from)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	running, err := os.Stat(newRoot + "/proc/self/exe")
	if err != nil || !os.SameFile(there, running) {
		return err
	}
	return bindTo(from, newRoot+ourselves, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

// processes mounts what tells a command about its own processes, and nothing
// else of the kernel. Before that, the number of processes is bounded where the
// kernel counts it for each world.
func processes(l Limits) error {
	const folder = newRoot + "/proc"
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("proc", folder, "proc", flags, ""); err == nil {
		most := strconv.Itoa(max(l.Processes, minPIDs) + reservedPIDs)
		_ = os.WriteFile(folder+"/sys/kernel/pid_max", []byte(most), 0) // older kernels have one for all; the watch counts, too
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("proc: %w", err)
		}
	}
	if err := unix.Mount("proc", folder, "proc", flags, "hidepid=2,subset=pid"); err != nil {
		return fmt.Errorf("proc: %w", err)
	}
	return nil
}

// What the kernel takes for a bound of ids.
const (
	minPIDs      = 64
	reservedPIDs = 300 // for which it keeps the first ones
)

// temporary mounts an empty folder that lives in memory.
func temporary(path string, bytes int64) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	options := fmt.Sprintf("size=%d,nr_inodes=%d,mode=1777", bytes, maxInodes)
	if err := unix.Mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	return nil
}

// show makes a path of the host readable, if there is one. A link stays a link,
// so that it leads to what can be read here, and else nowhere.
func show(path string, resolve bool) error {
	info, err := os.Lstat(oldRoot + path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return bind(path, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	}
	to, err := os.Readlink(oldRoot + path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(newRoot+path), 0o755); err != nil {
		return err
	}
	if err := os.Symlink(to, newRoot+path); err != nil {
		return err
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(path), to)
	}
	if !resolve || filepath.Dir(path) != "/etc" || !settled(to) {
		return nil
	}
	return show(to, false)
}

// settled says of what a link of /etc leads to that it may be shown as well:
// what other programs write about the names of hosts.
func settled(to string) bool {
	return filepath.Dir(to) == "/run/systemd/resolve" || filepath.Dir(to) == "/run/resolvconf"
}

// bind puts a file or folder of the host in its place in the new root. One that is
// gone since the sandbox was opened is named as the host knows it.
func bind(path string, attributes uint64) error {
	if _, err := os.Stat(oldRoot + path); err != nil {
		return errors.New(explain(path, err))
	}
	return bindTo(oldRoot+path, newRoot+path, attributes)
}

func bindTo(from, to string, attributes uint64) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = os.MkdirAll(to, 0o755)
	} else {
		err = placeholder(to)
	}
	if err != nil {
		return err
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("show %s: %w", from, err)
	}
	return restrict(to, attributes, true)
}

// placeholder makes an empty file to mount another one over.
func placeholder(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// restrict takes something away from a mount and, if it says so, those below it.
func restrict(path string, attributes uint64, below bool) error {
	flags := uint(0)
	if below {
		flags = unix.AT_RECURSIVE
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, path, flags, &unix.MountAttr{Attr_set: attributes}); err != nil {
		return fmt.Errorf("restrict %s: %w", path, err)
	}
	return nil
}
