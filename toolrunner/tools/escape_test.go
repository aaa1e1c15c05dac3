package tools_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/tools"
)

// attempts are calls of every file tool that name one path.
func attempts(t *testing.T, w *tools.Workspace, path string) map[string]string {
	t.Helper()
	said := func(v map[string]any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return map[string]string{
		"read_file":      said(map[string]any{"path": path}),
		"list_directory": said(map[string]any{"path": path}),
		"search_files":   said(map[string]any{"path": path, "pattern": "s3cret|root:|PATH="}),
		"write_file":     said(map[string]any{"path": path, "content": "taken over"}),
		"edit_file":      said(map[string]any{"path": path, "old_text": "s3cret", "new_text": "taken over"}),
		"move_file":      said(map[string]any{"from": path, "to": "loot"}),
		"move_file to":   said(map[string]any{"from": "readme.md", "to": path, "overwrite": true}),
		"delete_file":    said(map[string]any{"path": path, "recursive": true}),
	}
}

// fileTools are all of them by name.
func fileTools(w *tools.Workspace) map[string]toolrunner.Tool {
	all := make(map[string]toolrunner.Tool)
	for _, tool := range slices.Concat(tools.Standard(w, noon), tools.Writing(w)) {
		all[tool.Manifest().Name] = tool
	}
	return all
}

// attempt calls every file tool with a path. None may say anything of what lies
// outside, and each has to come back.
func attempt(t *testing.T, w *tools.Workspace, path string) {
	t.Helper()
	all := fileTools(w)
	for name, arguments := range attempts(t, w, path) {
		tool, _, _ := strings.Cut(name, " ")
		text, err := run(t.Context(), all[tool], arguments)
		if err != nil {
			text = err.Error()
		}
		if strings.Contains(text, "s3cret") || strings.Contains(text, "root:x") || strings.Contains(text, "secret.txt (") {
			t.Errorf("%s of %.80q gives %.200q", name, path, text)
		}
	}
}

// outside is all that lies beside the workspace.
func outside(t *testing.T, root string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(filepath.Dir(root), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == root {
			return filepath.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		found[path] = fmt.Sprint(info.Mode(), info.Size())
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found[path] += string(content)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestNoFormOfAPathLeadsOut(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"parent":                   "../outside/secret.txt",
		"parent, deeper":           "src/../../outside/secret.txt",
		"many parents":             strings.Repeat("../", 60) + "etc/passwd",
		"absolute":                 "/etc/passwd",
		"absolute, two slashes":    "//etc/passwd",
		"encoded":                  "%2e%2e/outside/secret.txt",
		"encoded slash":            "..%2foutside%2fsecret.txt",
		"encoded twice":            "%252e%252e%252foutside",
		"overlong UTF-8":           "\xc0\xae\xc0\xae/outside/secret.txt",
		"NUL":                      "../outside/secret.txt\x00.md",
		"NUL in front":             "\x00../outside/secret.txt",
		"backslashes":              `..\outside\secret.txt`,
		"dot segments":             "./././../outside/./secret.txt",
		"empty segments":           "..//outside///secret.txt",
		"trailing slash":           "../outside/",
		"trailing dots":            "src/..././.../outside",
		"a file as a folder":       "readme.md/../../outside/secret.txt",
		"one dot leader":           "․․/outside/secret.txt",
		"two dot leader":           "‥/outside/secret.txt",
		"full width":               "．．／outside／secret.txt",
		"division slash":           "..∕outside∕secret.txt",
		"home":                     "~/../outside/secret.txt",
		"a variable":               "$PWD/../outside/secret.txt",
		"an address":               "file:///etc/passwd",
		"white space":              " ../outside/secret.txt",
		"a line break":             "../outside/\nsecret.txt",
		"a long name":              strings.Repeat("x", 5_000),
		"many folders":             strings.Repeat("x/", 2_000) + "../../outside/secret.txt",
		"parents behind many":      strings.Repeat("x/", 100) + strings.Repeat("../", 101) + "outside/secret.txt",
		"the workspace by its way": "../inside/../outside/secret.txt",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, root := workspace(t)
			before := outside(t, root)
			attempt(t, w, path)
			if after := outside(t, root); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("outside was %v and is %v", before, after)
			}
		})
	}
}

func TestNoLinkLeadsOut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ to, path string }{
		"to a file outside":            {"../outside/secret.txt", "door"},
		"to a folder outside":          {"../outside", "door/secret.txt"},
		"to a folder, absolute":        {"/etc", "door/passwd"},
		"to nothing outside":           {"../outside/new.txt", "door"},
		"to nothing in a folder":       {"../outside", "door/new.txt"},
		"through the root":             {"/", "door/etc/passwd"},
		"to itself":                    {"door", "door/x"},
		"up and down":                  {"src/../../outside", "door/secret.txt"},
		"by a process":                 {"/proc/self/cwd", "door/secret.txt"},
		"by the root of a process":     {"/proc/self/root", "door/etc/passwd"},
		"to an environment":            {"/proc/self/environ", "door"},
		"to an open descriptor":        {"/proc/self/fd/0", "door"},
		"to standard input":            {"/dev/stdin", "door"},
		"to what never ends":           {"/dev/zero", "door"},
		"to a terminal":                {"/dev/tty", "door"},
		"to the memory of the process": {"/proc/self/mem", "door"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, root := workspace(t)
			link(t, tt.to, filepath.Join(root, "door"))
			before := outside(t, root)
			attempt(t, w, tt.path)
			if after := outside(t, root); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("outside was %v and is %v", before, after)
			}
		})
	}
}

// Nobody can tell a second name of a file outside from a file, and it is read as one.
// But what is written gets a file of its own.
func TestAHardLinkIsCutByWriting(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string]string{
		"write_file":  `{"path":"twin","content":"taken over"}`,
		"edit_file":   `{"path":"twin","old_text":"s3cret","new_text":"taken over"}`,
		"move_file":   `{"from":"readme.md","to":"twin","overwrite":true}`,
		"delete_file": `{"path":"twin"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, root := workspace(t)
			if err := os.Link(filepath.Join(filepath.Dir(root), "outside", "secret.txt"), filepath.Join(root, "twin")); err != nil {
				t.Fatal(err)
			}
			before := outside(t, root)
			if text, err := run(t.Context(), fileTools(w)[name], arguments); err != nil {
				t.Errorf("%q, %v", text, err)
			}
			if after := outside(t, root); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("outside was %v and is %v", before, after)
			}
			if content, err := os.ReadFile(filepath.Join(root, "twin")); err == nil && strings.Contains(string(content), "s3cret") {
				t.Errorf("the twin says %q", content)
			}
		})
	}
}

// What is no file neither blocks a tool nor is written to.
func TestSpecialFilesBlockNobody(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	var listening net.ListenConfig
	socket, err := listening.Listen(t.Context(), "unix", filepath.Join(root, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	link(t, "pipe", filepath.Join(root, "to-pipe"))
	for _, path := range []string{"pipe", "socket", "to-pipe"} {
		for _, name := range []string{"read_file", "list_directory", "search_files", "write_file", "edit_file", "move_file to"} {
			tool, _, _ := strings.Cut(name, " ")
			began := time.Now()
			if text, err := run(t.Context(), fileTools(w)[tool], attempts(t, w, path)[name]); err == nil {
				t.Errorf("%s of %s: %q", name, path, text)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("%s of %s took %v", name, path, took)
			}
		}
	}
	if text, err := run(t.Context(), tools.SearchFiles(w), `{"pattern":"x"}`); err != nil {
		t.Errorf("a search past them: %q, %v", text, err)
	}
}

// The folder is held, not its name: what takes its name later is another one.
func TestAnotherFolderOfTheSameNameIsNotTheWorkspace(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	if err := os.Rename(root, root+"-moved"); err != nil {
		t.Fatal(err)
	}
	link(t, "outside", root)
	if text, err := run(t.Context(), tools.ReadFile(w), `{"path":"secret.txt"}`); err == nil {
		t.Errorf("read: %q", text)
	}
	if text, err := run(t.Context(), tools.WriteFile(w), encoded(t, "new.txt", "x")); err != nil {
		t.Errorf("written: %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(root+"-moved", "new.txt")); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 1 {
		t.Errorf("outside is %v, %v", entries, err)
	}
}

func TestOddContentHasItsLimits(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	const lines = 100 << 20 / 64
	large, err := os.Create(filepath.Join(root, "large.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for range lines / 1024 {
		if _, err := large.WriteString(strings.Repeat(strings.Repeat("l", 63)+"\n", 1024)); err != nil {
			t.Fatal(err)
		}
	}
	if err := large.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "wide.txt"), strings.Repeat("w", 2<<20)+" needle\nend\n")
	write(t, filepath.Join(root, "binary"), "\x7fELF\x00\x1b[2J needle")
	write(t, filepath.Join(root, "broken.txt"), strings.Repeat("fine\n", 4_000)+"\xff\xfe needle\x1b]0;owned\x07\n")
	write(t, filepath.Join(root, "zeros"), "")
	if err := os.Truncate(filepath.Join(root, "zeros"), 1<<40); err != nil { // it takes no room
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, tool, arguments, says string }{
		{"100 MB are read in parts", "read_file", `{"path":"large.txt"}`, "go on with first_line 497"},
		{"100 MB have an end", "read_file", `{"path":"large.txt","first_line":1638400}`, "llll"},
		{"100 MB are not searched", "search_files", `{"pattern":"needle","name":"large.txt"}`, "[1 files or folders could not be searched to their end]"},
		{"100 MB are not edited", "edit_file", `{"path":"large.txt","old_text":"l","new_text":"m","replace_all":true}`, "no more can be edited"},
		{"2 MB in a line are cut", "read_file", `{"path":"wide.txt"}`, "the rest of this long line was left out"},
		{"2 MB in a line are not searched", "search_files", `{"pattern":"needle","name":"wide.txt"}`, "could not be searched to their end"},
		{"2 MB in a line are edited", "edit_file", `{"path":"wide.txt","old_text":" needle","new_text":""}`, "in line 1."},
		{"what is binary is described", "read_file", `{"path":"binary"}`, "binary is not text: 16 bytes"},
		{"what is binary is not edited", "edit_file", `{"path":"binary","old_text":"needle","new_text":"x"}`, "only text in UTF-8 can be edited"},
		{"broken UTF-8 is read", "read_file", `{"path":"broken.txt","first_line":4001}`, "needle"},
		{"broken UTF-8 is not edited", "edit_file", `{"path":"broken.txt","old_text":"needle","new_text":"x"}`, "only text in UTF-8 can be edited"},
		{"a tebibyte of nothing is described", "read_file", `{"path":"zeros"}`, "zeros is not text: 1099511627776 bytes"},
		{"a tebibyte of nothing is not searched", "search_files", `{"pattern":"needle","name":"zeros"}`, "could not be searched to their end"},
	} {
		text, err := run(t.Context(), fileTools(w)[tt.tool], tt.arguments)
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, tt.says) || len(text) > events.MaxResultBytes {
			t.Errorf("%s: %d bytes, %.200q", tt.name, len(text), text)
		}
	}
}

// What a terminal would take for an order stands in no line of names.
func TestNamesCannotBreakALine(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	write(t, root+"/odd\x1b[2J\nname/a\rb.txt", "treasure")
	for _, text := range []string{
		must(run(t.Context(), tools.ListDirectory(w), `{}`)),
		must(run(t.Context(), tools.ListDirectory(w), `{"pattern":"*.txt"}`)),
		must(run(t.Context(), tools.SearchFiles(w), `{"pattern":"treasure"}`)),
	} {
		if strings.ContainsAny(text, "\x1b\r") || !strings.Contains(text, `odd\x1b[2J\nname`) {
			t.Errorf("got %q", text)
		}
	}
}

func must(text string, err error) string {
	if err != nil {
		return err.Error()
	}
	return text
}
