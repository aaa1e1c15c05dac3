package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/everturn/everturn/toolrunner/sandbox"
)

// Ids that nobody has.
const (
	someUser  = 41_234
	someGroup = 41_235
)

// asRoot ends a test that whoever runs it cannot run.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this test needs root: it becomes another user")
	}
}

func TestRootGivesACommandToTheOwnerOfTheWorkspace(t *testing.T) {
	t.Parallel()
	asRoot(t)
	p := newPlace(t)
	open(t, filepath.Dir(filepath.Dir(p.workspace)), filepath.Dir(p.workspace))
	if err := os.Chown(p.workspace, someUser, someGroup); err != nil {
		t.Fatal(err)
	}
	programs := copyOfSelf(t)
	box := p.box(func(c *sandbox.Config) { c.Read = []string{programs} })
	if !strings.HasPrefix(strings.Join(box.Layers(), " "), "user ") {
		t.Fatalf("layers: %v", box.Layers())
	}
	var out strings.Builder
	_, err := box.Run(t.Context(), sandbox.Command{
		Argv: []string{filepath.Join(programs, "program"), "attempt", "me"}, Output: &out,
	})
	if err != nil || !strings.Contains(out.String(), "uid 41234, gid 41235") {
		t.Errorf("%v, says %q", err, &out)
	}
	info, err := os.Stat(filepath.Join(p.workspace, "mine"))
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Uid != someUser || s.Gid != someGroup {
		t.Errorf("what it made belongs to %+v", s)
	}
}

// A runner that is nobody special holds commands as well, where the kernel lets it.
func TestNoPrivilegeIsNeeded(t *testing.T) {
	t.Parallel()
	asRoot(t)
	p := newPlace(t)
	open(t, filepath.Dir(filepath.Dir(p.workspace)), filepath.Dir(p.workspace), p.outside)
	if err := os.Chown(p.workspace, someUser, someGroup); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p.secret, 0o644); err != nil { // so that nothing but the sandbox keeps it
		t.Fatal(err)
	}
	program := filepath.Join(copyOfSelf(t), "program")
	for _, try := range [][]string{
		{"read", p.secret},
		{"dial", "tcp", "127.0.0.1:1"},
		{"unshare"},
		{"mount"},
		{"trace"},
		{"setuid file"},
		{"environment"},
		{"socket", "1", "1"},
		{"others", "999999999"},
		{"foreign calls"},
		{"me"},
	} {
		cmd := exec.CommandContext(t.Context(), program, append([]string{"attempt", "held", p.workspace}, try...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: someUser, Gid: someGroup}}
		out, err := cmd.CombinedOutput()
		said, _, _ := strings.Cut(string(out), held+"see above")
		if err != nil || !strings.HasPrefix(said, "[user ") || !strings.Contains(said, held) || strings.Contains(said, escaped) {
			t.Errorf("%q: %v, says %q", try, err, out)
		}
	}
}

// A runner may itself have been told to let others go first, by more than its
// commands are.
func TestACommandIsNoMoreUrgentThanWhoeverWantedIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	cmd := exec.CommandContext(t.Context(), "nice", "-n", "19", self(t), "attempt", "held", p.workspace, "niceness")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), held+"niceness 19\n") {
		t.Errorf("%v, says %q", err, out)
	}
}

// open lets everybody pass through folders.
func open(t *testing.T, folders ...string) {
	t.Helper()
	for _, folder := range folders {
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// copyOfSelf is a folder with this very program in it, which everybody may run.
func copyOfSelf(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	open(t, filepath.Dir(folder), folder)
	content, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "program"), content, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}
