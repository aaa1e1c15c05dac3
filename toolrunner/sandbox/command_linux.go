package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// become is the whole life of the process that becomes the command: it gives up
// everything, in an order in which each step can still be taken, and is then
// replaced by the program. It returns only if that fails.
func become() int {
	runtime.LockOSThread() // what is given up here is that of one thread; the program goes on with it
	unix.CloseOnExec(controlFD)
	unix.CloseOnExec(statusFD)
	status := json.NewEncoder(os.NewFile(statusFD, "status"))
	say := func(r report) int {
		_ = status.Encode(r) // who does not listen does not want to know
		return 1
	}
	var o order
	if err := json.NewDecoder(os.NewFile(controlFD, "order")).Decode(&o); err != nil {
		return say(report{Unheld: fmt.Sprintf("order: %v", err)})
	}
	if err := giveUpPrivileges(); err != nil {
		return say(report{Unheld: err.Error()})
	}
	abi, err := o.landlock()
	if err != nil {
		return say(report{Unheld: fmt.Sprintf("landlock: %v", err)})
	}
	program, err := o.program()
	if err != nil && !o.Try {
		return say(report{NotStarted: err.Error()})
	}
	layers := []string{"no_new_privs", fmt.Sprintf("landlock %d", abi), "seccomp", "rlimits"}
	if err := filterCalls(); err != nil {
		return say(report{Unheld: fmt.Sprintf("seccomp: %v", err)})
	}
	say(report{Layers: layers})
	if err := unix.CloseRange(controlFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return say(report{Unheld: fmt.Sprintf("close_range: %v", err)})
	}
	if err := o.Limits.apply(); err != nil {
		return say(report{Unheld: fmt.Sprintf("rlimits: %v", err)})
	}
	if o.Try {
		return 0
	}
	err = syscall.Exec(program, o.Argv, o.Environment)
	return say(report{NotStarted: explain(o.Argv[0], err)})
}

// program enters the folder, as the command would, and finds the program.
func (o order) program() (string, error) {
	if o.Folder != "" {
		return o.programIn(o.Folder)
	}
	if err := os.Chdir(filepath.Join(o.Workspace, o.Directory)); err != nil {
		return "", errors.New("directory " + explain(o.Directory, err))
	}
	here, err := unix.Getwd()
	if err != nil {
		return "", fmt.Errorf("directory %.100q: %w", o.Directory, err)
	}
	if !within(here, o.Workspace) {
		return "", fmt.Errorf("directory %.100q leads out of the workspace", o.Directory)
	}
	return lookFor(o.Argv[0], here, o.Environment)
}

// programIn is program in a folder that was named by its full path.
func (o order) programIn(folder string) (string, error) {
	if err := os.Chdir(folder); err != nil {
		return "", errors.New("folder " + explain(folder, err))
	}
	here, err := unix.Getwd()
	if err != nil {
		return "", fmt.Errorf("folder %.100q: %w", folder, err)
	}
	if here != folder || !withinAny(here, append([]string{o.Workspace}, o.Read...)) {
		return "", fmt.Errorf("folder %.100q: it is none that the command may read", folder)
	}
	return lookFor(o.Argv[0], here, o.Environment)
}

// giveUpPrivileges takes every capability from this thread, and the ways to get
// one back.
func giveUpPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("capability %d: %w", c, err)
		}
	}
	// Root is a user like any other from here on, and that cannot be undone.
	const noRoot = 1 | 1<<1 | 1<<2 | 1<<3 | 1<<5 // NOROOT, NO_SETUID_FIXUP, each with its lock, and that of KEEP_CAPS
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot, 0, 0, 0); err != nil {
		return fmt.Errorf("securebits: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient capabilities: %w", err)
	}
	none := [2]unix.CapUserData{}
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	return nil
}

// apply bounds this process and each that comes of it. It stands last: a Go
// program can do little under such limits.
func (l Limits) apply() error {
	cpu := uint64(max(1, l.CPU.Seconds()))
	for _, limit := range []struct {
		resource int
		most     uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_MEMLOCK, 64 << 10},
		{unix.RLIMIT_MSGQUEUE, 64 << 10},
		{unix.RLIMIT_NPROC, uint64(l.Processes)},
		{unix.RLIMIT_FSIZE, uint64(l.FileSize)},
		{unix.RLIMIT_NOFILE, uint64(l.OpenFiles)},
		{unix.RLIMIT_CPU, cpu},
		{unix.RLIMIT_DATA, uint64(l.Memory)},
		{unix.RLIMIT_AS, 1 << l.AddressBits},
	} {
		if err := lower(limit.resource, limit.most); err != nil {
			return err
		}
	}
	return giveWay()
}

// Niceness makes everybody else's work come first.
const (
	niceness     = 10
	nicenessBase = 20 // less which the kernel tells it, and the other way round
)

// giveWay makes this process no more urgent than that, or leaves it the less
// urgent that it is already.
func giveWay() error {
	told, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return fmt.Errorf("niceness: %w", err)
	}
	if nicenessBase-told >= niceness {
		return nil
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, niceness); err != nil {
		return fmt.Errorf("niceness: %w", err)
	}
	return nil
}

// lower sets a limit, or leaves one that is lower already.
func lower(resource int, most uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return fmt.Errorf("%d: %w", resource, err)
	}
	most = min(most, now.Max)
	if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		return fmt.Errorf("%d: %w", resource, err)
	}
	return nil
}
