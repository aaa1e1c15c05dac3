package mcp_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/mcp"
)

// A server that is a program runs as commands do, and may not more than the file says.
func TestAServerRunsInASandbox(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		write bool
		file  func(workspace string) string
		want  int // lines that it could write
	}{
		{"and writes nothing", false, func(w string) string { return filepath.Join(w, "effects") }, 0},
		{"and writes in its folder if it may", true, func(w string) string { return filepath.Join(w, "effects") }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			workspace := t.TempDir()
			effects := tt.file(workspace)
			r := serveWith(t, mcp.Config{Launcher: launcher, Workspace: workspace, Times: quick()}, map[string]entry{
				"held": fakeServer(t, nil, entry{"write": tt.write, "env": map[string]string{"FAKE_EFFECTS": effects, "FAKE_LENIENT": "1"}}),
			})
			r.wantText("held__echo", `{"text":"in here"}`, "in here under key-1")
			if got := lines(t, effects); len(got) != tt.want {
				t.Errorf("it wrote %q", got)
			}
		})
	}
}

// However it is held, its end is the end of the calls that wait for it.
func TestB51_AServerInASandboxThatExitsDuringACall(t *testing.T) {
	t.Parallel()
	r := serveWith(t, mcp.Config{Launcher: launcher, Workspace: t.TempDir(), Times: quick()}, map[string]entry{"held": fakeServer(t, nil, nil)})
	r.tool("held__exit")
	began := time.Now()
	_, err := r.run("held__exit", call(`{}`), patience)
	if took := time.Since(began); !errors.Is(err, toolrunner.ErrOutcomeUnknown) || took > pendingMost {
		t.Errorf("after %v: %v; want that nobody knows", took, err)
	}
}

// What is wrong is said in the words of the file, before anything is started.
func TestAServerWhoseProgramIsNotThereIsSaidSo(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "nothing", "server")
	file := mcp.File{Servers: []mcp.Server{{Name: "lost", Command: missing}}}
	_, err := mcp.Open(t.Context(), file, mcp.Config{Launcher: launcher, Workspace: t.TempDir()})
	if want := `mcp server "lost": command: ` + missing + ": "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want %s…", err, want)
	}
}
