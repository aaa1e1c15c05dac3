package sandbox_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// again starts this program once more, with another attempt.
func again(name string, args ...string) *exec.Cmd {
	child := exec.Command("/proc/self/exe", append([]string{"attempt", name}, args...)...)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	return child
}

// most bounds each attempt, should nothing else do so.
const most = 2000

// processes starts more of them than it may. It does so in a tree, as a fork
// bomb does, and never more than most at once.
func processes(args []string) error {
	wanted, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	for n := range min(wanted, most) {
		if err := exec.Command("/bin/sleep", "5").Start(); err != nil {
			return fmt.Errorf("after %d: %w", n, err)
		}
	}
	return nil
}

func threads(args []string) error {
	wanted, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	block := make(chan struct{})
	for range min(wanted, most) {
		go func() {
			buffer := make([]byte, 1)
			r, _, err := os.Pipe()
			if err == nil {
				_, _ = unix.Read(int(r.Fd()), buffer) // blocks a thread: the pipe is not asked without waiting
			}
			<-block
		}()
	}
	wait(2 * time.Second)
	return nil
}

// wait is for attempts, which nobody tells anything.
func wait(d time.Duration) { <-time.After(d) }

const mib = 1 << 20

func memory(args []string) error {
	return take(args, unix.MAP_PRIVATE|unix.MAP_ANON)
}

func sharedMemory(args []string) error {
	return take(args, unix.MAP_SHARED|unix.MAP_ANON)
}

// take uses so many MiB, and keeps them for a second.
func take(args []string, flags int) error {
	wanted, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	for n := range min(wanted, most) {
		piece, err := unix.Mmap(-1, 0, mib, unix.PROT_READ|unix.PROT_WRITE, flags)
		if err != nil {
			return fmt.Errorf("after %d MiB: %w", n, err)
		}
		for i := 0; i < len(piece); i += 4096 {
			piece[i] = 1
		}
	}
	wait(time.Second)
	return nil
}

// memoryOfTheRest takes it after the first thread of this process has ended: of a
// process the kernel tells what that one has.
func memoryOfTheRest(args []string) error {
	first := make(chan bool)
	go func() {
		if <-first {
			_ = take(args, unix.MAP_PRIVATE|unix.MAP_ANON)
		}
		os.Exit(0)
	}()
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		return errors.New("this is not the first thread")
	}
	first <- true
	_, _, errno := syscall.Syscall(unix.SYS_EXIT, 0, 0, 0)
	return errno
}

// memoryOfMany has several processes take what each of them may, in that way.
func memoryOfMany(args []string) error {
	var children []*exec.Cmd
	for range 8 {
		child := again(args[1], args[0])
		if err := child.Start(); err != nil {
			return err
		}
		children = append(children, child)
	}
	for _, child := range children {
		_ = child.Wait()
	}
	return nil
}

func namelessFile([]string) error {
	_, err := unix.MemfdCreate("big", 0)
	return err
}

// file writes so many MiB to a file.
func file(args []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	wanted, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	f, err := os.Create(args[0])
	if err != nil {
		return err
	}
	for n := range wanted {
		if _, err := f.Write(make([]byte, mib)); err != nil {
			return fmt.Errorf("after %d MiB: %w", n, err)
		}
	}
	return nil
}

func manyDescriptors(args []string) error {
	wanted, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	for n := range wanted {
		if _, err := unix.Open("/dev/null", unix.O_RDONLY, 0); err != nil {
			return fmt.Errorf("after %d: %w", n, err)
		}
	}
	return nil
}

func spin([]string) error {
	for began := time.Now(); time.Since(began) < enough; { // this is what it is for
	}
	return nil
}

// sit does nothing for a minute. Its argument is for whoever looks for it.
func sit([]string) error {
	wait(time.Minute)
	return nil
}

// daemon leaves a process behind that holds on to the output.
func daemon(args []string) error {
	child := again("sit", args[0])
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return child.Start()
}

// deaf listens to no signal that can be ignored, and says when.
func deaf(args []string) error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1)
	fmt.Println("deaf")
	return sit(args)
}

// session starts a session within a session, each without a terminal.
func session(args []string) error {
	child := again("daemon", args[0])
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return child.Run()
}

// stopped leaves a process behind that is stopped.
func stopped(args []string) error {
	child := again("sit", args[0])
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := child.Start(); err != nil {
		return err
	}
	return child.Process.Signal(syscall.SIGSTOP)
}

// crowd leaves many processes behind, and closes its own output.
func crowd(args []string) error {
	for range 20 {
		child := again("sit", args[0])
		child.Stdout, child.Stderr = nil, nil
		if err := child.Start(); err != nil {
			return err
		}
	}
	return nil
}

// interactive waits for somebody to say something.
func interactive([]string) error {
	said, err := io.ReadAll(os.Stdin)
	if err == nil && len(said) == 0 {
		err = errors.New("nobody says anything")
	}
	return err
}

func terminal([]string) error {
	_, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err == nil {
		return nil
	}
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err == nil {
		return nil
	}
	return err
}

// printMuch prints so many MiB.
func printMuch(args []string) error {
	wanted, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	line := strings.Repeat("x", mib-1) + "\n"
	for range wanted {
		if _, err := os.Stdout.WriteString(line); err != nil {
			return err
		}
	}
	return errors.New("printed")
}
