package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// attempts are what a command might try. Each gives nil if it got out.
func attempts() map[string]func(args []string) error {
	return map[string]func(args []string) error{
		"read": readSecret, "read from a folder": readFrom, "write": writeOutside, "directories": readUpwards,
		"hard link": hardLink, "read through a link": readThroughLink, "write through a link": writeThroughLink,
		"race of links": raceOfLinks, "race of names": raceOfNames,
		"dial": dial, "packet": packet, "socket": socket, "pair": pair, "strange pair": strangePair, "ordinary pair": ordinaryPair,
		"environment": environment, "descriptors": descriptors, "files of init": filesOfInit, "others": others,
		"setuid": setuid, "setuid file": setuidFile, "setuid at once": setuidAtOnce, "trace": trace, "mount": mount, "unshare": unshareAll, "clone": cloneUser,
		"join": joinNamespace, "capability": capability, "device": device, "mode of a device": modeOfDevice, "mode of itself": modeOfItself, "chroot": chroot, "kernel setting": kernelSetting,
		"kernel calls": kernelCalls, "foreign calls": foreignCalls, "kill": killInit,
		"processes": processes, "threads": threads, "memory": memory, "memory of many": memoryOfMany, "memory of the rest": memoryOfTheRest, "shared memory": sharedMemory,
		"nameless file": namelessFile, "file": file, "many descriptors": manyDescriptors, "spin": spin,
		"daemon": daemon, "deaf": deaf, "session": session, "stopped": stopped, "crowd": crowd, "sit": sit,
		"want": want, "held": heldAttempt, "me": me, "niceness": niceness, "see": see, "list": list, "interactive": interactive, "terminal": terminal, "print": printMuch, "loop back": loopBack,
	}
}

func readSecret(args []string) error {
	content, err := os.ReadFile(args[0])
	return isSecret(content, err)
}

func isSecret(content []byte, err error) error {
	if err != nil {
		return err
	}
	if !bytes.Contains(content, []byte("s3cret")) && !bytes.Contains(content, []byte("root:")) {
		return fmt.Errorf("%d other bytes", len(content))
	}
	return nil
}

// readFrom reads a path relative to a folder that is held open.
func readFrom(args []string) error {
	folder, err := os.Open(".")
	if err != nil {
		return err
	}
	fd, err := unix.Openat(int(folder.Fd()), args[0], unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	content := make([]byte, 100)
	n, err := unix.Read(fd, content)
	return isSecret(content[:max(n, 0)], err)
}

func writeOutside(args []string) error {
	return os.WriteFile(args[0], []byte("I was here"), 0o600)
}

// readUpwards goes up from folder to folder, and looks for the secret from each.
func readUpwards(args []string) error {
	var errs []error
	for range 20 {
		if err := os.Chdir(".."); err != nil {
			return err
		}
		content, err := os.ReadFile(strings.TrimPrefix(args[0], "/"))
		if err = isSecret(content, err); err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errs[len(errs)-1]
}

func hardLink(args []string) error {
	if err := os.Link(args[0], "mine"); err != nil {
		return err
	}
	return readSecret([]string{"mine"})
}

func readThroughLink(args []string) error {
	_ = os.Remove("link")
	if err := os.Symlink(args[0], "link"); err != nil {
		return err
	}
	return readSecret([]string{"link"})
}

func writeThroughLink(args []string) error {
	_ = os.Remove("folder")
	if err := os.Symlink(args[0], "folder"); err != nil {
		return err
	}
	return writeOutside([]string{"folder/new.txt"})
}

// raceOfLinks has one name be a file and a link by turns while it is opened.
func raceOfLinks(args []string) error {
	return race(func() {
		_ = os.Remove("swap")
		_ = os.WriteFile("swap", []byte("mine"), 0o600)
		_ = os.Remove("swap")
		_ = os.Symlink(args[0], "swap")
	}, func() error { return readSecret([]string{"swap"}) })
}

// raceOfNames exchanges a folder and a link to another one while a path goes
// through them.
func raceOfNames(args []string) error {
	if err := errors.Join(os.Mkdir("a", 0o700), os.WriteFile("a/secret.txt", []byte("mine"), 0o600)); err != nil {
		return err
	}
	_ = os.Symlink(filepath.Dir(args[0]), "b")
	return race(func() {
		_ = unix.Renameat2(unix.AT_FDCWD, "a", unix.AT_FDCWD, "b", unix.RENAME_EXCHANGE)
	}, func() error { return readSecret([]string{"a/secret.txt"}) })
}

// raceTime is as long as a race is run that nobody wins.
const raceTime = time.Second

func race(change func(), try func() error) error {
	end := make(chan struct{})
	defer close(end)
	go func() {
		for {
			select {
			case <-end:
				return
			default:
				change()
			}
		}
	}()
	err := errors.New("never tried")
	for began := time.Now(); time.Since(began) < raceTime; {
		if err = try(); err == nil {
			return nil
		}
	}
	return err
}

const dialTime = 2 * time.Second

func dial(args []string) error {
	c, err := net.DialTimeout(args[0], args[1], dialTime)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte(secret)); err != nil {
		return err
	}
	return answered(c)
}

// packet sends a datagram, which tells the sender nothing, and waits for an
// answer to it.
func packet(args []string) error {
	c, err := net.Dial(args[0], args[1])
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte(secret)); err != nil {
		return err
	}
	return answered(c)
}

func answered(c net.Conn) error {
	if err := c.SetReadDeadline(time.Now().Add(dialTime)); err != nil {
		return err
	}
	_, err := c.Read(make([]byte, 1))
	return err
}

func socket(args []string) error {
	family, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	kind, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	_, err = unix.Socket(family, kind, 0)
	return err
}

// pair sends a datagram to a file, by one of two sockets that were made for each
// other: such a one can still be told to send elsewhere.
func pair(args []string) error {
	var errs []error
	for _, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		two, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Sendto(two[0], []byte(secret), 0, &unix.SockaddrUnix{Name: args[0]})
		}
		if err == nil {
			err = unix.Connect(two[0], &unix.SockaddrUnix{Name: args[0]})
		}
		errs = append(errs, err)
	}
	return everyOne(errs)
}

// strangePair asks for sockets that talk another way. The kernel would load what
// speaks it before it says no.
func strangePair([]string) error {
	_, err := unix.Socketpair(unix.AF_TIPC, unix.SOCK_STREAM, 0)
	if errors.Is(err, unix.EPERM) {
		return err
	}
	return nil
}

// ordinaryPair talks to itself, as programs do with what they start.
func ordinaryPair([]string) error {
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		two, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		if _, err := unix.Write(two[0], []byte("x")); err != nil {
			return err
		}
		if _, err := unix.Read(two[1], make([]byte, 1)); err != nil {
			return err
		}
	}
	return nil
}

// loopBack talks to itself, which is allowed: a test of a server does.
func loopBack([]string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Write([]byte("x"))
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	return answered(c)
}

func environment([]string) error {
	if strings.Contains(strings.Join(os.Environ(), "\n"), "s3cret") {
		return nil
	}
	return fmt.Errorf("%d harmless variables", len(os.Environ()))
}

// descriptors looks for files that somebody has left open.
func descriptors([]string) error {
	for fd := 3; fd < 4096; fd++ {
		content := make([]byte, 100)
		n, err := unix.Pread(fd, content, 0)
		if err == nil && bytes.Contains(content[:n], []byte("s3cret")) {
			return nil
		}
	}
	return errors.New("none has anything")
}

// filesOfInit looks at what the kernel tells about a process.
func filesOfInit(args []string) error {
	var errs []error
	for _, what := range []string{"environ", "mem", "maps", "cmdline", "fd/3", "fd/4", "root/etc/shadow", "cwd/etc/shadow"} {
		path := "/proc/" + args[0] + "/" + what
		f, err := os.Open(path)
		if err == nil {
			content := make([]byte, 1<<16)
			n, _ := f.Read(content)
			err = isSecret(content[:n], nil)
		}
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	for _, what := range []string{"exe", "root", "cwd", "fd/0", "fd/1", "fd/3", "fd/4"} {
		_, err := os.Readlink("/proc/" + args[0] + "/" + what)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// see asks only whether something is there.
func see(args []string) error {
	_, err := os.Stat(args[0])
	return err
}

func list(args []string) error {
	_, err := os.ReadDir(args[0])
	return err
}

// me writes a file, and tells as whom.
func me([]string) error {
	if err := os.WriteFile("mine", nil, 0o600); err != nil {
		return err
	}
	return fmt.Errorf("uid %d, gid %d", os.Getuid(), os.Getgid())
}

// niceness tells how urgent it is.
func niceness([]string) error {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return err
	}
	return fmt.Errorf("niceness %d", 20-raw)
}

// others looks for processes that are not of this command.
func others(args []string) error {
	if _, err := os.Stat("/proc/" + args[0] + "/status"); err == nil {
		return nil
	}
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	return unix.Kill(pid, 0)
}
