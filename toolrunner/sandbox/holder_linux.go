package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// holder is the first process of a command's world. When it ends, the kernel
// kills all others in it.
type holder struct {
	order   order
	control *os.File
	mu      sync.Mutex
	status  *json.Encoder
}

// hold is the whole life of a holder, up to its exit code. Nothing that has run
// in its world can change what it reports: it cannot be traced, and its
// descriptors cannot be reached.
func hold() int {
	unix.CloseOnExec(controlFD)
	unix.CloseOnExec(statusFD)
	h := &holder{control: os.NewFile(controlFD, "control"), status: json.NewEncoder(os.NewFile(statusFD, "status"))}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return h.fail(fmt.Errorf("prctl: %w", err))
	}
	if err := json.NewDecoder(h.control).Decode(&h.order); err != nil {
		return h.fail(fmt.Errorf("order: %w", err))
	}
	if os.Getpid() != 1 {
		return h.fail(errors.New("pid namespace: the holder is not the first process"))
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go h.liveWith()
	if err := h.build(); err != nil {
		return h.fail(err)
	}
	pid, err := h.launch()
	if err != nil {
		return h.fail(err)
	}
	go h.watch()
	go func() {
		for range term {
			_ = syscall.Kill(-1, syscall.SIGTERM) // everybody here but us
		}
	}()
	status, err := reap(pid)
	if err != nil {
		h.say(report{Lost: err.Error()})
		return 1
	}
	end := ended{Exit: status.ExitStatus()}
	if status.Signaled() {
		end.Signal = signalName(status.Signal())
	}
	h.say(report{Ended: &end})
	return 0
}

func (h *holder) say(r report) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.status.Encode(r) // who does not listen does not want to know
}

func (h *holder) fail(err error) int {
	h.say(report{Unheld: err.Error()})
	return 1
}

// liveWith ends this world when the process that wanted it is gone.
func (h *holder) liveWith() {
	_, _ = io.Copy(io.Discard, h.control) // nothing more comes
	os.Exit(1)
}

// build makes the world, before there is anybody in it.
func (h *holder) build() error {
	runtime.LockOSThread() // the thread that mounts is the one whose folders change; all share them
	defer runtime.UnlockOSThread()
	if err := h.order.mount(); err != nil {
		return fmt.Errorf("mount namespace: %w", err)
	}
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return fmt.Errorf("uts namespace: %w", err)
	}
	layers := []string{"mount", "pid", "ipc", "uts"}
	if h.order.Mapped {
		layers = append([]string{"user"}, layers...)
	}
	if !h.order.Network {
		if err := loopback(); err != nil {
			return fmt.Errorf("network namespace: %w", err)
		}
		layers = append(layers, "net")
	}
	h.say(report{Layers: layers})
	return nil
}

// loopback brings up the one network device there is, which leads nowhere else.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// launch starts the process that becomes the command.
func (h *holder) launch() (int, error) {
	input := os.Stdin
	if !h.order.Input {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return 0, err
		}
		input = null
	}
	defer input.Close() // of a pipe there is then nobody left but the command to read it
	read, write, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer write.Close()
	defer read.Close()
	program := ourselves
	if _, err := os.Stat(program); err != nil {
		program = "/proc/self/exe"
	}
	pid, err := syscall.ForkExec(program, []string{startedName}, &syscall.ProcAttr{
		Dir: "/", Env: []string{},
		Files: []uintptr{input.Fd(), 1, 2, read.Fd(), statusFD},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("start: %w", err)
	}
	_ = read.Close()
	if err := json.NewEncoder(write).Encode(h.order); err != nil {
		return 0, fmt.Errorf("start: %w", err)
	}
	return pid, nil
}

// reap waits for pid, and for all whom their parents left behind meanwhile.
func reap(pid int) (syscall.WaitStatus, error) {
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait: %w", err)
		case ended == pid:
			return status, nil
		}
	}
}
