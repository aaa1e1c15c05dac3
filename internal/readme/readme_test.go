//go:build processes

package readme

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/everturn/everturn/internal/freeport"
)

// root is the module's root, seen from this package.
const root = "../.."

// Somebody who has just cloned the repository types all of README.md.
func TestReadmeShowsWhatItSays(t *testing.T) {
	r := newReader(t)
	r.try("README.md")
	for _, name := range []string{"dev", "watcher"} {
		if r.terminals[name] == nil {
			t.Errorf("the page has no terminal %s: does this test still read what people read?", name)
		}
	}
}

// reader is somebody with an empty home, the sources, and Go.
type reader struct {
	t         *testing.T
	dir       string // the sources
	env       []string
	terminals map[string]*terminal
	order     []*terminal // as they were opened
}

func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{t: t, dir: filepath.Join(t.TempDir(), "everturn"), terminals: map[string]*terminal{}}
	copySources(t, r.dir)
	r.env = []string{
		"HOME=" + t.TempDir(),
		"PATH=" + os.Getenv("PATH"),
		"LANG=C.UTF-8",
		fmt.Sprintf("EVERTURN_PORT=%d", freeport.One(t)),
	}
	// What was compiled or fetched before need not be again, and changes nothing.
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "GONOSUMDB", "GOSUMDB", "CGO_ENABLED"} {
		r.env = append(r.env, name+"="+goEnv(t, name))
	}
	return r
}

// try types every block of a page and compares what is shown with what it says.
func (r *reader) try(page string) {
	r.t.Helper()
	content, err := os.ReadFile(filepath.Join(r.dir, page))
	if err != nil {
		r.t.Fatal(err)
	}
	blocks, err := Parse(string(content))
	if err != nil {
		r.t.Fatalf("%s: %v", page, err)
	}
	ran := 0
	for _, b := range blocks {
		if b.NotRun != "" {
			r.t.Logf("%s:%d is not run: %s", page, b.Line, b.NotRun)
			continue
		}
		start := time.Now()
		if err := r.block(b); err != nil {
			r.t.Fatalf("%s:%d: %v\n%s", page, b.Line, err, r.screens())
		}
		ran++
		r.t.Logf("%s:%d in %v: %s", page, b.Line, time.Since(start).Round(time.Millisecond), b.title())
	}
	if ran == 0 {
		r.t.Fatalf("%s has no block to run", page)
	}
}

// block does what a reader does with one.
func (r *reader) block(b Block) error {
	s := r.terminal(b.Terminal)
	if b.CtrlC {
		s.signal(syscall.SIGINT)
		return nil
	}
	if b.Text == "" {
		if shown, _, err := s.until(0, Part(b.Shows)); err != nil {
			return fmt.Errorf("%w by %s:\n%s\nbut:\n%s", err, s.name, b.Shows, shown)
		}
		return nil
	}
	commands, err := r.filledIn(b.Text)
	if err != nil {
		return err
	}
	from, done, err := s.typeIn(commands)
	if err != nil {
		return err
	}
	if b.Stays {
		if shown, _, err := s.until(from, Part(b.Shows)); err != nil {
			return fmt.Errorf("%w:\n%s\nbut:\n%s", err, b.Shows, shown)
		}
		return nil
	}
	shown, match, err := s.until(from, done)
	if err != nil {
		return fmt.Errorf("the commands do not end; shown:\n%s", shown)
	}
	if status := shown[match[2]:match[3]]; status != "0" {
		return fmt.Errorf("ended with status %s; shown:\n%s", status, shown)
	}
	if shown = shown[:match[0]]; b.Shows != "" && !Whole(b.Shows).MatchString(shown) {
		return fmt.Errorf("the page says:\n%s\nshown was:\n%s", b.Shows, shown)
	}
	return nil
}

// terminal is the one of that name, opened if need be.
func (r *reader) terminal(name string) *terminal {
	s := r.terminals[name]
	if s == nil {
		s = openTerminal(r.t, name, r.dir, r.env)
		r.terminals[name] = s
		r.order = append(r.order, s)
	}
	return s
}

var blank = regexp.MustCompile(`(?m)^export (\w+)=` + Anything)

// filledIn copies what a page tells to copy: for `export NAME=…` the newest value
// that any terminal has shown in such a line.
func (r *reader) filledIn(commands string) (string, error) {
	var missing error
	filled := blank.ReplaceAllStringFunc(commands, func(line string) string {
		name := blank.FindStringSubmatch(line)[1]
		known := ""
		for _, s := range r.order {
			screen, _ := s.screen()
			if all := regexp.MustCompile(`export `+name+`=(\S+)`).FindAllStringSubmatch(screen, -1); all != nil {
				known = all[len(all)-1][1]
			}
		}
		if known == "" {
			missing = fmt.Errorf("no terminal has shown what %s is", name)
		}
		return "export " + name + "=" + known
	})
	return filled, missing
}

// screens is what all terminals show, for whoever looks for the mistake.
func (r *reader) screens() string {
	var b strings.Builder
	for _, s := range r.order {
		screen, _ := s.screen()
		fmt.Fprintf(&b, "--- terminal %s ---\n%s\n", s.name, screen)
	}
	return b.String()
}

// copySources copies what belongs to the repository, changes included.
func copySources(t *testing.T, to string) {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for name := range bytes.SplitSeq(bytes.TrimRight(out, "\x00"), []byte{0}) {
		path := filepath.Join(to, string(name))
		content, err := os.ReadFile(filepath.Join(root, string(name)))
		if os.IsNotExist(err) {
			continue // deleted, and that is not committed yet
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = os.WriteFile(path, content, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatalf("go env %s: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

// title is enough to know which block it is.
func (b Block) title() string {
	switch {
	case b.CtrlC:
		return "Ctrl-C"
	case b.Text == "":
		return "what " + b.Terminal + " shows"
	}
	line, _, _ := strings.Cut(b.Text, "\n")
	return line
}
