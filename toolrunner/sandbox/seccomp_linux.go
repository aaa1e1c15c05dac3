package sandbox

import (
	"encoding/binary"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refused lists the calls to the kernel that no command has a use for, and
// through which others got out of such places, or into the kernel.
func refused() []string {
	return []string{
		"acct", "add_key", "bpf", "chroot", "clock_adjtime", "clock_adjtime64", "clock_settime", "clock_settime64", "create_module",
		"delete_module", "fanotify_init", "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "get_kernel_syms",
		"init_module", "ioperm", "iopl", "kcmp", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie", "mount",
		"mount_setattr", "move_mount", "name_to_handle_at", "nfsservctl", "open_by_handle_at", "open_tree", "open_tree_attr",
		"perf_event_open", "pidfd_getfd", "pivot_root", "process_madvise", "process_vm_readv", "process_vm_writev", "ptrace",
		"query_module", "quotactl", "quotactl_fd", "reboot", "request_key", "setdomainname", "sethostname", "setns",
		"settimeofday", "stime", "swapoff", "swapon", "syslog", "umount", "umount2", "unshare", "uselib", "userfaultfd",
		"vhangup", "vm86", "vm86old", "statmount", "listmount",
	}
}

// missing lists the calls that programs do without where the kernel is too old
// for them: their arguments cannot be looked at, or they are ways around the
// limits of memory.
func missing() []string {
	return []string{
		"clone3", "openat2", "io_uring_enter", "io_uring_register", "io_uring_setup", "memfd_create", "memfd_secret", "msgget",
		"shmget", "ipc",
	}
}

// condition refuses a call with some arguments only.
type condition struct {
	call string

	argument uint32
	only     []uint32 // if there are any, refused unless the argument is one of these

	tests []test // if there are any, refused if all are true
}

// test is whether an argument has one of the bits.
type test struct{ argument, bits uint32 }

// conditions list the calls that are refused with some arguments only.
func conditions() []condition {
	const (
		asOther    = unix.S_ISUID | unix.S_ISGID
		creates    = unix.O_CREAT | (unix.O_TMPFILE &^ unix.O_DIRECTORY)
		namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
			unix.CLONE_NEWPID | unix.CLONE_NEWNET
	)
	return []condition{
		// A program that runs as its owner would lie in the workspace for others to run.
		{call: "chmod", tests: []test{{1, asOther}}},
		{call: "fchmod", tests: []test{{1, asOther}}},
		{call: "fchmodat", tests: []test{{2, asOther}}},
		{call: "fchmodat2", tests: []test{{2, asOther}}},
		{call: "creat", tests: []test{{1, asOther}}},
		{call: "mknod", tests: []test{{1, asOther}}},
		{call: "mknodat", tests: []test{{2, asOther}}},
		{call: "open", tests: []test{{1, creates}, {2, asOther}}},
		{call: "openat", tests: []test{{2, creates}, {3, asOther}}},
		{call: "clone", tests: []test{{0, namespaces}}},
		// The network has a namespace; a socket in a file has none, so there are no such.
		{call: "socket", argument: 0, only: []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}},
		// Of two sockets that were made for each other, those for datagrams can be told to send to a file after all.
		{call: "socketpair", argument: 0, only: []uint32{unix.AF_UNIX}, tests: []test{{1, unix.SOCK_DGRAM}}},
	}
}

// Verdicts about a call.
const (
	allowed   = uint32(unix.SECCOMP_RET_ALLOW)
	forbidden = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPERM)
	unknown   = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.ENOSYS)
)

// Places in what the kernel gives a filter to look at.
const (
	numberOffset    = 0
	archOffset      = 4
	argumentsOffset = 16
	wordBytes       = 4
)

// x32Calls is the first number of the calls of another architecture that is
// spoken by the same processors, under the same name.
const x32Calls = 0x40000000

// filterCalls restricts which calls to the kernel this thread, and all that
// comes of it, can make. A call that the list of this release does not know is
// answered as if the kernel did not have it, and so is every call that is made
// the way of another architecture.
func filterCalls() error {
	table, err := arch.GetInfo("")
	if err != nil {
		return fmt.Errorf("%s: %w", runtime.GOARCH, err)
	}
	return load(filter(table))
}

// filter is the program that judges calls. Each verdict stands right behind its
// question. The library's own assembler is not used: behind a question about an
// argument it goes on with the argument in place of the call's number, and
// calls of another architecture get the answer of those that no rule names.
func filter(table *arch.Info) []bpf.Instruction {
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archOffset, Size: wordBytes},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(table.ID), SkipTrue: 1},
		bpf.RetConstant{Val: unknown},
		bpf.LoadAbsolute{Off: numberOffset, Size: wordBytes},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Calls, SkipTrue: 1},
		bpf.RetConstant{Val: unknown},
	}
	rest := maps.Clone(table.SyscallNames)
	judge := func(name string, verdict ...bpf.Instruction) {
		if number, ok := rest[name]; ok {
			program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(number), SkipTrue: uint8(len(verdict))})
			program = append(program, verdict...)
			delete(rest, name)
		}
	}
	for _, c := range conditions() {
		judge(c.call, c.verdict()...)
	}
	for _, name := range refused() {
		judge(name, bpf.RetConstant{Val: forbidden})
	}
	for _, name := range missing() {
		judge(name, bpf.RetConstant{Val: unknown})
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		judge(name, bpf.RetConstant{Val: allowed})
	}
	return append(program, bpf.RetConstant{Val: unknown})
}

// verdict ends with one, whatever the arguments are.
func (c condition) verdict() (program []bpf.Instruction) {
	if len(c.only) > 0 {
		program = append(program, low(c.argument))
		for i, value := range c.only {
			program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipTrue: uint8(len(c.only) - i)})
		}
		program = append(program, bpf.RetConstant{Val: forbidden})
	}
	for i, t := range c.tests {
		toAllowed := 2*(len(c.tests)-i-1) + 1 // over the other tests and the no
		program = append(program, low(t.argument), bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: t.bits, SkipFalse: uint8(toAllowed)})
	}
	if len(c.tests) > 0 {
		program = append(program, bpf.RetConstant{Val: forbidden})
	}
	return append(program, bpf.RetConstant{Val: allowed})
}

// low loads the half of an argument that the kernel looks at.
func low(argument uint32) bpf.Instruction {
	offset := argumentsOffset + 2*wordBytes*argument
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		offset += wordBytes
	}
	return bpf.LoadAbsolute{Off: offset, Size: wordBytes}
}

// load puts the filter in force for this thread.
func load(program []bpf.Instruction) error {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return err
	}
	all := make([]syscall.SockFilter, len(raw))
	for i, r := range raw {
		all[i] = syscall.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	whole := syscall.SockFprog{Len: uint16(len(all)), Filter: &all[0]} // the kernel takes 4096 at most, and says so
	_, _, errno := syscall.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&whole)))
	runtime.KeepAlive(all)
	if errno != 0 {
		return errno
	}
	return nil
}
