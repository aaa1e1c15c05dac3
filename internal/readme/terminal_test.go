//go:build processes

package readme

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// patience is how long anything on a page may take; building is the longest.
	patience = 20 * time.Minute

	// goodbye is how long what runs in a terminal may take to end when it is closed.
	goodbye = 20 * time.Second
)

// terminal is a shell that a reader types into.
type terminal struct {
	name  string
	files string // where what is typed lies, so that commands have no input
	shell *exec.Cmd
	keys  io.WriteCloser
	ended chan struct{}
	typed int

	mu    sync.Mutex
	shown strings.Builder
	news  chan struct{} // closed at the next output, and made anew
}

// Write takes what the shell and its commands show.
func (s *terminal) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.news)
	s.news = make(chan struct{})
	return s.shown.Write(b)
}

// screen is all that was shown so far, and a channel that is closed when it is more.
func (s *terminal) screen() (string, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String(), s.news
}

// openTerminal starts a shell. Whatever was started in it ends with the test.
func openTerminal(t *testing.T, name, dir string, env []string) *terminal {
	t.Helper()
	s := &terminal{name: name, files: t.TempDir(), news: make(chan struct{}), ended: make(chan struct{})}
	s.shell = exec.Command("bash", "--noprofile", "--norc", "-s")
	s.shell.Dir, s.shell.Env = dir, env
	s.shell.Stdout, s.shell.Stderr = s, s
	s.shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.shell.WaitDelay = goodbye
	var err error
	if s.keys, err = s.shell.StdinPipe(); err == nil {
		err = s.shell.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.ended)
		_ = s.shell.Wait() // it is killed in the end
	}()
	t.Cleanup(func() {
		s.signal(syscall.SIGTERM)
		select {
		case <-s.ended:
		case <-time.After(goodbye):
			t.Errorf("what runs in terminal %s does not end", name)
		}
		s.signal(syscall.SIGKILL)
	})
	return s
}

// signal reaches the shell and everything started in it.
func (s *terminal) signal(signal syscall.Signal) {
	_ = syscall.Kill(-s.shell.Process.Pid, signal) // nobody may be left
}

// typeIn types commands and gives where on the screen their output begins.
func (s *terminal) typeIn(commands string) (from int, done *regexp.Regexp, err error) {
	s.typed++
	file := filepath.Join(s.files, fmt.Sprint("typed-", s.typed))
	if err := os.WriteFile(file, []byte(commands+"\n"), 0o600); err != nil {
		return 0, nil, err
	}
	screen, _ := s.screen()
	// Commands end with a line of their own, which no page can say.
	_, err = fmt.Fprintf(s.keys, ". %s </dev/null\necho \"typed-%d ended with $?\"\n", file, s.typed)
	return len(screen), regexp.MustCompile(fmt.Sprintf(`(?m)^typed-%d ended with (\d+)$`, s.typed)), err
}

// errNotShown means that a terminal never showed what was waited for.
var errNotShown = errors.New("not shown")

// until waits until what is on the screen from a place on looks like that, and
// gives the places of the match in it. The terminal's end is no reason to wait on.
func (s *terminal) until(from int, looks *regexp.Regexp) (shown string, match []int, err error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		screen, news := s.screen()
		shown = screen[from:]
		if match := looks.FindStringSubmatchIndex(shown); match != nil {
			return shown, match, nil
		}
		select {
		case <-news:
		case <-s.ended:
			return shown, nil, errNotShown
		case <-timer.C:
			return shown, nil, errNotShown
		}
	}
}
