package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/sandbox"
	"github.com/everturn/everturn/toolrunner/tools"
)

// The launcher of these tests, set once before any of them.
var launcher sandbox.Launcher

func TestMain(m *testing.M) {
	launcher = sandbox.Enter()
	m.Run()
}

// offered opens what a configuration offers in a folder, by name.
func offered(t *testing.T, cfg tools.CommandConfig, folder string) map[string]toolrunner.Tool {
	t.Helper()
	all, err := cfg.Open(t.Context(), launcher, folder)
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]toolrunner.Tool)
	for _, tool := range all {
		byName[tool.Manifest().Name] = tool
	}
	return byName
}

// calling runs a call as a runner does.
func calling(ctx context.Context, t *testing.T, tool toolrunner.Tool, arguments any, grants ...string) (toolrunner.Output, error) {
	t.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	if err := accepts(tool.Manifest().Schema, string(raw)); err != nil {
		t.Errorf("%s: the schema does not take %s: %v", tool.Manifest().Name, raw, err)
	}
	return tool.Run(ctx, toolrunner.Call{
		Chat: events.Key{Tenant: "acme", Chat: "c1"}, ID: events.CallID{Turn: 1, Step: 1, Ordinal: 1}, Key: "key-1",
		Arguments: raw, Permissions: events.Permissions{Grants: grants}, Progress: func(string) {},
	})
}

type arguments map[string]any

func TestACommandTellsHowItEnded(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "sub", "file"), "content")
	for _, cfg := range []tools.CommandConfig{{Commands: true}, {Commands: true, Sandbox: "off"}} {
		byName := offered(t, cfg, folder)
		for _, tt := range []struct {
			name    string
			tool    string
			given   arguments
			want    string
			isError bool
		}{
			{"well", "run_command", arguments{"argv": []string{"cat", "file"}, "directory": "sub"}, "]\ncontent", false},
			{"badly", "run_command", arguments{"argv": []string{"cat", "file"}}, "[exit code 1 after", true},
			{"by a signal", "run_shell", arguments{"script": "kill -TERM $$"}, "[ended by SIGTERM", true},
			{"too late", "run_command", arguments{"argv": []string{"sleep", "60"}, "timeout_s": 1}, "it had not ended in the 1s it was given", true},
			{"both in order", "run_shell", arguments{"script": "echo one; echo two >&2; echo three"}, "one\ntwo\nthree\n", false},
			{"no shell looks", "run_command", arguments{"argv": []string{"echo", "$HOME; `id` | *"}}, "\n$HOME; `id` | *\n", false},
		} {
			out, err := calling(t.Context(), t, byName[tt.tool], tt.given)
			if err != nil || out.IsError != tt.isError || !strings.Contains(out.Text, tt.want) {
				t.Errorf("%s, sandbox %q: %+v, %v", tt.name, cfg.Sandbox, out, err)
			}
			if inside := strings.Contains(out.Text, "; sandbox: user, "); inside == (cfg.Sandbox == "off") {
				t.Errorf("%s, sandbox %q: says %q", tt.name, cfg.Sandbox, out.Text)
			}
		}
		for _, given := range []arguments{
			{"argv": []string{"no-such-program"}}, {"argv": []string{"./file"}, "directory": "sub"}, {"argv": []string{"ls"}, "directory": "nowhere"},
		} {
			if out, err := calling(t.Context(), t, byName["run_command"], given); !errors.Is(err, sandbox.ErrNotStarted) {
				t.Errorf("%v: %+v, %v", given, out, err)
			}
		}
	}
}

func TestCommandsAreOfferedAsWhatTheyAre(t *testing.T) {
	t.Parallel()
	byName := offered(t, tools.CommandConfig{Commands: true, AllowCommand: []string{`list=["ls"]`}}, t.TempDir())
	if len(byName) != 3 {
		t.Errorf("offered: %v", byName)
	}
	for name, tool := range byName {
		m := tool.Manifest()
		m.Group = "builtin"
		if err := m.Validate(); err != nil {
			t.Error(err)
		}
		asks := name != "run_list"
		if m.ReadOnly == asks || m.Idempotent == asks || (m.Policy == events.PolicyAsk) != asks {
			t.Errorf("%s: read only %v, idempotent %v, policy %s", name, m.ReadOnly, m.Idempotent, m.Policy)
		}
		for _, bad := range []string{`{"surprise":1}`, `{"argv":"ls"}`, `{"argv":[]}`, `{"script":""}`, `{"argv":["ls"],"timeout_s":0}`} {
			if err := accepts(m.Schema, bad); err == nil {
				t.Errorf("%s: the schema takes %s", name, bad)
			}
		}
		if _, err := run(t.Context(), tool, `{"surprise":1}`); err == nil {
			t.Errorf("%s: takes arguments it does not know", name)
		}
	}
}

func TestS7_6_ACommandGetsTheNetworkOnlyIfItIsGranted(t *testing.T) {
	t.Parallel()
	tool := offered(t, tools.CommandConfig{Commands: true}, t.TempDir())["run_command"]
	given := arguments{"argv": []string{"cat", "/proc/net/dev"}}
	without, err := calling(t.Context(), t, tool, given)
	if err != nil || strings.Contains(without.Text, ":") && strings.Count(without.Text, "\n") > 4 {
		t.Errorf("without: %+v, %v", without, err)
	}
	with, err := calling(t.Context(), t, tool, given, tools.GrantNetwork, "write:/srv")
	if err != nil || strings.Contains(with.Text, ", net,") || !strings.Contains(with.Text, `the grant "write:/srv" means nothing here`) {
		t.Errorf("with: %+v, %v", with, err)
	}
	if !strings.Contains(without.Text, ", net,") {
		t.Errorf("without: %+v", without)
	}
}

// A command that is not wanted any more ends, and its output says how far it came.
func TestACommandEndsWithItsCall(t *testing.T) {
	t.Parallel()
	tool := offered(t, tools.CommandConfig{Commands: true}, t.TempDir())["run_shell"]
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := time.Now()
	raw := json.RawMessage(`{"script":"echo begun; sleep 60"}`)
	out, err := tool.Run(ctx, toolrunner.Call{Arguments: raw, Progress: func(text string) {
		if strings.Contains(text, "begun") {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || !strings.Contains(out.Text, "begun") || time.Since(began) > 3*time.Second {
		t.Errorf("%+v, %v after %v", out, err, time.Since(began))
	}
}

func TestProgressShowsWhatACommandWrites(t *testing.T) {
	t.Parallel()
	tool := offered(t, tools.CommandConfig{Commands: true}, t.TempDir())["run_shell"]
	var (
		mu    sync.Mutex
		shown []string
	)
	raw := json.RawMessage(`{"script":"for i in 1 2 3 4; do echo line $i; sleep 0.3; done; head -c 100000 /dev/zero | tr '\\0' x; echo end"}`)
	if _, err := tool.Run(t.Context(), toolrunner.Call{Arguments: raw, Progress: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		shown = append(shown, text)
	}}); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(shown, "")
	for _, want := range []string{"line 1", "line 2", "line 3", "line 4", "end"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q was not shown", want)
		}
	}
	if len(shown) < 4 || len(all) > 20_000 {
		t.Errorf("shown %d times, %d bytes", len(shown), len(all))
	}
}

func TestAnyOutputIsTaken(t *testing.T) {
	t.Parallel()
	tool := offered(t, tools.CommandConfig{Commands: true}, t.TempDir())["run_shell"]
	for _, tt := range []struct {
		name, script string
		bytes        int // of output that are kept, about
	}{
		{"100 MB", `head -c 104857600 /dev/zero | tr '\0' x; echo; echo end`, 5 << 20},
		{"binary", `head -c 3000000 /dev/urandom; echo end`, 3_000_000},
		{"orders to a terminal", `printf '\033[2J\033]0;owned\007\033[31m'; echo end`, 20},
		{"broken text", `printf '\377\376\300\257\355\240\200'; echo end`, 8},
		{"a line of 2 MB", `head -c 2000000 /dev/zero | tr '\0' y; echo end`, 2_000_000},
		{"a cut character", `printf 'caf\303'; echo end`, 5},
		{"nothing but line breaks", `yes '' | head -c 500000; echo end`, 500_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, err := calling(t.Context(), t, tool, arguments{"script": tt.script})
			if err != nil || out.IsError || !strings.HasPrefix(out.Text, "[exit code 0") || !strings.HasSuffix(out.Text, "end\n") {
				t.Fatalf("%.300q … %.100q, %v", out.Text, out.Text[max(0, len(out.Text)-100):], err)
			}
			if n := len(out.Text); n < tt.bytes || n > tt.bytes+1000 {
				t.Errorf("%d bytes are kept, want about %d", n, tt.bytes)
			}
			if dropped := strings.Contains(out.Text, "bytes of its output were dropped]"); dropped != (tt.bytes == 5<<20) {
				t.Errorf("says %.300q", out.Text)
			}
			if shown := events.RepairText(out.Text); !utf8.ValidString(shown) || strings.ContainsAny(shown, "\x1b\x07\x00") {
				t.Error("what is shown is not repaired")
			}
			if out.Shown != 8<<10 {
				t.Errorf("%d bytes are shown", out.Shown)
			}
		})
	}
}

func TestB50ACommandThatAsksSomebodyEndsAndTheNextOneWorks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "repository", "file"), "x")
	for _, cfg := range []tools.CommandConfig{{Commands: true}, {Commands: true, Sandbox: "off"}} {
		byName := offered(t, cfg, folder)
		for _, tt := range []struct {
			tool  string
			given arguments
		}{
			{"run_command", arguments{"argv": []string{"cat"}}},
			{"run_shell", arguments{"script": "read x; echo got $x"}},
			{"run_shell", arguments{"script": "read x < /dev/tty"}},
			{"run_command", arguments{"argv": []string{"sh"}}},
			{"run_command", arguments{"argv": []string{"sh", "-i"}}},
			{"run_shell", arguments{"script": "cd repository && git init -q . && git add file && git commit"}},
			{"run_shell", arguments{"script": "$EDITOR file"}},
			{"run_shell", arguments{"script": "ssh nobody@127.0.0.1 -p 1 || true"}},
			{"run_shell", arguments{"script": "while true; do read x; done", "timeout_s": 1}},
			{"run_shell", arguments{"script": "trap '' TERM; while true; do sleep 1; done", "timeout_s": 1}},
		} {
			began := time.Now()
			out, err := calling(t.Context(), t, byName[tt.tool], tt.given)
			if took := time.Since(began); err != nil || took > 8*time.Second {
				t.Errorf("%v, sandbox %q: %+v, %v after %v", tt.given, cfg.Sandbox, out, err, took)
			}
			if next, err := calling(t.Context(), t, byName["run_command"], arguments{"argv": []string{"echo", "works"}}); err != nil || !strings.HasSuffix(next.Text, "]\nworks\n") {
				t.Errorf("the next call after %v: %+v, %v", tt.given, next, err)
			}
		}
	}
}

func TestB47OnlyTheExactCommandRunsUnasked(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	victim := filepath.Join(folder, "victim")
	write(t, victim, "untouched")
	write(t, filepath.Join(folder, "a"), "1\n")
	write(t, filepath.Join(folder, "b"), "2\n")
	write(t, filepath.Join(folder, ".git", "config"), "[core]\n\tfsmonitor = echo owned > victim; false\n")
	byName := offered(t, tools.CommandConfig{Commands: true, AllowCommand: []string{
		`diff=["diff","a","b"]`, `status=["git","status"]`, `hole=["sh","-c","echo owned > victim"]`,
	}}, folder)
	unasked := 0
	for name, tool := range byName {
		if tool.Manifest().Policy != events.PolicyAllow {
			continue
		}
		unasked++
		for _, bad := range []string{
			`{"argv":["diff","--output=victim","a","b"]}`, `{"arguments":"--output=victim"}`, `{"script":"x"}`, `{"directory":"/"}`, `{"":1}`, `[]`, `"x"`,
		} {
			if err := accepts(tool.Manifest().Schema, bad); err == nil {
				t.Errorf("%s takes %s", name, bad)
			}
			if _, err := run(t.Context(), tool, bad); err == nil {
				t.Errorf("%s runs with %s", name, bad)
			}
		}
		// Whatever the program makes of what lies in the workspace: it changes nothing.
		if _, err := calling(t.Context(), t, tool, arguments{}, tools.GrantNetwork); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if unasked != 3 {
		t.Errorf("%d tools run unasked", unasked)
	}
	if content, err := os.ReadFile(victim); err != nil || string(content) != "untouched" {
		t.Errorf("the victim says %q, %v", content, err)
	}
	out, err := calling(t.Context(), t, byName["run_diff"], arguments{})
	if err != nil || !strings.Contains(out.Text, "\n< 1\n---\n> 2\n") {
		t.Errorf("the allowed one: %+v, %v", out, err)
	}
	// Each of these is another command than the one that was allowed, and waits.
	for _, name := range []string{"run_command", "run_shell"} {
		if byName[name].Manifest().Policy != events.PolicyAsk {
			t.Errorf("%s runs unasked", name)
		}
	}
}

func TestB47WhatIsMeantForAShellIsNotAllowed(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		``, `status`, `status=`, `status=git status`, `status=[]`, `status=[""]`, `status=["GIT_PAGER=x","git","log"]`,
		`status=["git","log\nrm -rf ."]`, `status=["git","\r"]`, `status=["git","a\u0000b"]`, `status=[1]`, `status=["git",null]`, `status=["git"] ["x"]`, `=["git"]`,
		`a-b=["git"]`, `command=["git"]`, `shell=["sh"]`, `with space=["git"]`, strings.Repeat("a", 41) + `=["git"]`, `status={"argv":["git"]}`,
	} {
		if a, err := tools.ParseAllowed(bad); err == nil {
			t.Errorf("%q is taken for %+v", bad, a)
		}
	}
	good, err := tools.ParseAllowed(`status=["git","-C","a=b","status"]`)
	if err != nil || good.Name != "status" || len(good.Argv) != 4 {
		t.Errorf("%+v, %v", good, err)
	}
	cfg := tools.CommandConfig{AllowCommand: []string{`list=["ls"]`}, Sandbox: "off"}
	if _, err := cfg.Open(t.Context(), launcher, t.TempDir()); err == nil {
		t.Error("runs unasked without a sandbox")
	}
}
