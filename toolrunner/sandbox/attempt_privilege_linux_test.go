package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func setuid([]string) error {
	if err := unix.Setuid(0); err != nil {
		return err
	}
	return nil
}

// setuidFile leaves a program for others that runs as its owner.
func setuidFile([]string) error {
	if err := os.WriteFile("program", []byte("#!/bin/sh\n"), 0o700); err != nil {
		return err
	}
	return errors.Join(unix.Chmod("program", 0o4755), unix.Fchmodat(unix.AT_FDCWD, "program", 0o2755, 0))
}

func setuidAtOnce([]string) error {
	fd, err := unix.Open("at-once", unix.O_CREAT|unix.O_RDWR, unix.S_ISUID|0o755)
	if err != nil {
		return err
	}
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return err
	}
	if s.Mode&unix.S_ISUID == 0 {
		return errors.New("the bit was dropped")
	}
	return nil
}

func trace([]string) error {
	child := exec.Command("/bin/sleep", "60")
	if err := child.Start(); err != nil {
		return err
	}
	defer child.Process.Kill() //nolint:errcheck // it ends with its world
	return unix.PtraceAttach(child.Process.Pid)
}

func mount([]string) error {
	if err := os.MkdirAll("mounted", 0o700); err != nil {
		return err
	}
	errs := []error{
		unix.Mount("tmpfs", "mounted", "tmpfs", 0, ""),
		unix.Mount("/", "mounted", "", unix.MS_BIND, ""),
		unix.Mount("", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, ""),
		unix.Unmount("/proc", unix.MNT_DETACH),
		unix.PivotRoot(".", "."),
	}
	return everyOne(errs)
}

// everyOne is nil as soon as one of them is: one way out is enough.
func everyOne(errs []error) error {
	for _, err := range errs {
		if err == nil {
			return nil
		}
	}
	return errors.Join(errs...)
}

func unshareAll([]string) error {
	return everyOne([]error{
		unix.Unshare(unix.CLONE_NEWUSER), unix.Unshare(unix.CLONE_NEWNS), unix.Unshare(unix.CLONE_NEWNET), unix.Unshare(unix.CLONE_NEWPID),
	})
}

func cloneUser([]string) error {
	child := exec.Command("/bin/true")
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	return child.Run()
}

func joinNamespace([]string) error {
	var errs []error
	for _, name := range []string{"user", "mnt", "net", "pid"} {
		f, err := os.Open("/proc/1/ns/" + name)
		if err == nil {
			err = unix.Setns(int(f.Fd()), 0)
		}
		errs = append(errs, err)
	}
	return everyOne(errs)
}

func capability([]string) error {
	all := [2]unix.CapUserData{{Effective: ^uint32(0), Permitted: ^uint32(0)}, {Effective: 1, Permitted: 1}}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capset(&header, &all[0]); err != nil {
		return err
	}
	return nil
}

func device([]string) error {
	disk := int(unix.Mkdev(8, 0))
	return everyOne([]error{unix.Mknod("disk", unix.S_IFBLK|0o600, disk), unix.Mknod("/tmp/mem", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 1)))})
}

// modeOfDevice has the host's own devices stay as they are, but by its leave.
func modeOfDevice([]string) error {
	var errs []error
	for _, path := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"} {
		info, err := os.Stat(path)
		if err == nil {
			err = os.Chmod(path, info.Mode().Perm())
		}
		errs = append(errs, err)
	}
	return everyOne(errs)
}

// modeOfItself has the file that this program was started from stay as it is.
func modeOfItself([]string) error {
	info, err := os.Stat("/proc/self/exe")
	if err != nil {
		return err
	}
	return os.Chmod("/proc/self/exe", info.Mode().Perm())
}

func chroot([]string) error { return unix.Chroot(".") }

func kernelSetting([]string) error {
	var errs []error
	for _, path := range []string{
		"/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper", "/proc/self/uid_map", "/proc/1/oom_score_adj",
		"/sys/fs/cgroup/cgroup.procs",
	} {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			err = f.Close()
		}
		errs = append(errs, err)
	}
	return everyOne(errs)
}

// kernelCalls makes calls that should not even be looked at, with arguments
// that do no harm.
func kernelCalls([]string) error {
	var errs []error
	for name, number := range map[string]uintptr{
		"bpf": unix.SYS_BPF, "keyctl": unix.SYS_KEYCTL, "perf_event_open": unix.SYS_PERF_EVENT_OPEN, "userfaultfd": unix.SYS_USERFAULTFD,
		"io_uring_setup": unix.SYS_IO_URING_SETUP, "init_module": unix.SYS_INIT_MODULE, "kexec_load": unix.SYS_KEXEC_LOAD,
		"process_vm_readv": unix.SYS_PROCESS_VM_READV, "open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT, "fsopen": unix.SYS_FSOPEN,
		"open_tree": unix.SYS_OPEN_TREE, "pidfd_getfd": unix.SYS_PIDFD_GETFD, "clone3": unix.SYS_CLONE3, "shmget": unix.SYS_SHMGET,
	} {
		_, _, errno := syscall.Syscall6(number, 0, 0, 0, 0, 0, 0)
		if errno != unix.EPERM && errno != unix.ENOSYS {
			return nil //nolint:nilerr // the kernel has looked at it: that is what must not be
		}
		errs = append(errs, fmt.Errorf("%s: %w", name, errno))
	}
	return errors.Join(errs...)
}

// killInit tries to end the first process of its world, and all others.
func killInit([]string) error {
	for _, s := range []syscall.Signal{unix.SIGKILL, unix.SIGSTOP, unix.SIGSEGV} {
		_ = unix.Kill(1, s)
	}
	return errors.New("still here")
}
