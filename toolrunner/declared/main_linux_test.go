package declared_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/declared"
	"github.com/everturn/everturn/toolrunner/sandbox"
)

// The launcher of these tests, set once before any of them.
var launcher sandbox.Launcher

// secret is in the environment of the process that runs the tests.
const secret = "s3cret-of-the-host"

func TestMain(m *testing.M) {
	launcher = sandbox.Enter()
	for name, value := range map[string]string{
		"DECLARED_TEST_TOKEN": secret, "DECLARED_TEST_OTHER": secret, "DECLARED_TEST_LONG_KEY": secret + "-and-more",
		"DECLARED_TEST_LINES_KEY": "the first line-of-a-key\nthe second line-of-a-key",
	} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// place is a folder with a file of tools and programs, and a workspace beside it.
type place struct {
	*testing.T
	folder    string
	workspace string
}

func newPlace(t *testing.T) place {
	t.Helper()
	top := t.TempDir()
	p := place{T: t, folder: filepath.Join(top, "tools"), workspace: filepath.Join(top, "work")}
	for _, folder := range []string{p.folder, p.workspace} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p place) write(name, content string, mode os.FileMode) string {
	p.Helper()
	path := filepath.Join(p.folder, name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		p.Fatal(err)
	}
	return path
}

// script declares one tool whose program is a script, with more keys of the file.
func (p place) script(script string, keys ...string) declared.Program {
	p.Helper()
	p.write("program", "#!/bin/sh\n"+script+"\n", 0o755)
	lines := append([]string{"tools:", "  - name: program", "description: A program.", "command: [./program]", "schema: {type: object}"}, keys...)
	path := p.write("tools.yaml", lines[0]+"\n"+strings.Join(lines[1:], "\n    ")+"\n", 0o600)
	programs, err := declared.Load(path)
	if err != nil {
		p.Fatal(err)
	}
	return programs[0]
}

// held and free are the two ways of running programs.
func (p place) held() declared.Options {
	return declared.Options{Workspace: p.workspace}
}

func (p place) free() declared.Options {
	return declared.Options{Workspace: p.workspace, Off: true}
}

func (p place) open(program declared.Program, o declared.Options) toolrunner.Tool {
	p.Helper()
	list, err := declared.Open(p.Context(), launcher, []declared.Program{program}, o)
	if err != nil {
		p.Fatal(err)
	}
	return list[0]
}

// progress is what was shown while a program ran.
type progress struct {
	mu    sync.Mutex
	shown []string
	first func() // is called with the first of it
}

func (s *progress) show(text string) {
	s.mu.Lock()
	s.shown = append(s.shown, text)
	first := s.first
	s.first = nil
	s.mu.Unlock()
	if first != nil {
		first()
	}
}

func (s *progress) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.shown, "")
}

// call runs a call as a runner does.
func call(ctx context.Context, tool toolrunner.Tool, arguments string, s *progress, grants ...string) (toolrunner.Output, error) {
	return tool.Run(ctx, toolrunner.Call{
		Chat: events.Key{Tenant: "acme", Chat: "c1"}, ID: events.CallID{Turn: 3, Step: 2, Ordinal: 1}, Key: "key-1",
		Arguments: []byte(arguments), Permissions: events.Permissions{Grants: grants}, Progress: s.show,
	})
}

// both runs a call of the program in the sandbox and without.
func (p place) both(program declared.Program, arguments string, judge func(how string, out toolrunner.Output, err error)) {
	p.Helper()
	for _, o := range []declared.Options{p.held(), p.free()} {
		how := "held"
		if o.Off {
			how = "free"
		}
		out, err := call(p.Context(), p.open(program, o), arguments, &progress{})
		judge(how, out, err)
	}
}
