package sandbox

import (
	"errors"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// landlock restricts what this process and all that come of it may do with
// files, also with those that a mistake in the mounts would show them, and whom
// they may signal. It gives the version of what the kernel offers.
//
// The network is left to its namespace: in it a command may well talk to itself.
func (o order) landlock() (int, error) {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return 0, errors.New("the kernel does not offer it, or it was not chosen at boot")
	}
	writable := []string{"/tmp", "/dev/shm"}
	if !o.ReadOnly {
		writable = append(writable, o.Workspace)
	}
	write := landlock.RWDirs(writable...)
	if abi >= 2 { // before that, nothing can be moved from one folder to another
		write = write.WithRefer()
	}
	read := append(systemFolders(), settingsShown()...)
	read = append(read, "/run/systemd/resolve", "/run/resolvconf", "/proc", o.Workspace)
	read = append(read, o.Read...)
	config := landlock.V9
	config.HandledAccessNet = 0
	return abi, config.BestEffort().Restrict(
		write, landlock.RWFiles(devices()...),
		landlock.RODirs(existing(read, true)...), landlock.ROFiles(existing(read, false)...),
	)
}

// existing gives those that are there: folders, or else files.
func existing(paths []string, folders bool) (there []string) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() == folders {
			there = append(there, path)
		}
	}
	return there
}
