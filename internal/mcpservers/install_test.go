//go:build processes

package mcpservers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/transcript"
)

const (
	// patience is for one thing that has to happen, on a machine that is busy.
	patience = time.Minute

	lookAgain = 20 * time.Millisecond
)

// binaries are built once for all tests.
var binaries = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "everturn-mcpservers-")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", folder, "../../cmd/everturn", "../../cmd/toolrunner").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return folder, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if folder, err := binaries(); err == nil {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

// installation is everturn dev, and a runner of its own with the servers.
type installation struct {
	bin       string
	url       string
	mark      string // in the arguments of each server
	file      string
	workspace string
	client    *client.Client
	runner    *exec.Cmd
}

func install(t *testing.T) *installation {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	i := &installation{bin: bin, workspace: filepath.Join(top, "work"), mark: "--mark=" + filepath.Base(filepath.Dir(top)) + filepath.Base(top)}
	if err := os.Mkdir(i.workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	i.file = i.servers(t, top, i.web(t))
	i.dev(t, top)
	nc, err := nats.Connect(i.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	i.client = client.New(nc, "", "test")
	i.startRunner(t)
	return i
}

// servers writes the file that names them all.
func (i *installation) servers(t *testing.T, top, web string) string {
	t.Helper()
	modules, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(modules); err != nil {
		t.Fatalf("%v; make mcpservers installs what it needs", err)
	}
	type entry = map[string]any
	server := func(name string, arguments ...string) entry {
		script := filepath.Join(modules, "@modelcontextprotocol", "server-"+name, "dist", "index.js")
		return entry{"command": "node", "args": append(append([]string{script}, arguments...), i.mark), "read": []string{modules}, "policy": "allow"}
	}
	files := server("filesystem", i.workspace)
	files["args"] = files["args"].([]string)[:2] // each argument is a folder
	files["write"], files["env"] = true, entry{"EVERTURN_MARK": i.mark}
	memory := server("memory")
	memory["write"], memory["env"] = true, entry{"MEMORY_FILE_PATH": filepath.Join(i.workspace, "memory.jsonl")}
	body, err := json.MarshalIndent(entry{"mcpServers": entry{
		"everything": server("everything", "stdio"), "files": files, "memory": memory,
		"web": entry{"type": "streamable-http", "url": web, "policy": "allow"},
	}}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(top, "servers.json")
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// web starts server-everything for HTTP, and gives its address.
func (i *installation) web(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	server := exec.Command("node", "node_modules/@modelcontextprotocol/server-everything/dist/index.js", "streamableHttp")
	server.Env = append(os.Environ(), "PORT="+port)
	start(t, server, syscall.SIGKILL)
	return "http://127.0.0.1:" + port + "/mcp"
}

// start starts a process that is ended with the test.
func start(t *testing.T, c *exec.Cmd, end syscall.Signal) {
	t.Helper()
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kill := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
		defer kill.Stop()
		_ = c.Process.Signal(end)
		_ = c.Wait()
		if t.Failed() {
			t.Logf("%s says:\n%s", filepath.Base(c.Path), said.String())
		}
	})
}

func (i *installation) environment(top string) []string {
	return append(os.Environ(), "XDG_CONFIG_HOME="+top, "NATS_URL=", "NATS_CONTEXT=", "ANTHROPIC_API_KEY=", "OPENAI_API_KEY=")
}

func (i *installation) dev(t *testing.T, top string) {
	t.Helper()
	dev := exec.Command(filepath.Join(i.bin, "everturn"), "dev", "--json", "--store", filepath.Join(top, "store"),
		"--port", "0", "--http", "127.0.0.1:0", "--script", "script.yaml", "--workspace", i.workspace)
	dev.Env = i.environment(top)
	said, err := dev.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, dev, syscall.SIGTERM)
	var where struct {
		NATS string `json:"nats_url"`
	}
	if err := json.NewDecoder(said).Decode(&where); err != nil {
		t.Fatal(err)
	}
	i.url = where.NATS
}

// startRunner starts the runner that has the servers, and waits for their tools.
func (i *installation) startRunner(t *testing.T) {
	t.Helper()
	i.runner = exec.Command(filepath.Join(i.bin, "toolrunner"), "--group", "mcp", "--mcp", i.file, "--workspace", i.workspace, "--server", i.url)
	i.runner.Env = i.environment(filepath.Dir(i.file))
	start(t, i.runner, syscall.SIGTERM)
	i.wait(t, "all tools are offered", func() bool {
		list := exec.CommandContext(t.Context(), filepath.Join(i.bin, "everturn"), "tools", "--server", i.url)
		list.Env = i.environment(filepath.Dir(i.file))
		out, err := list.Output()
		all := err == nil
		for _, name := range []string{"everything__get-sum", "web__get-sum", "files__read_text_file", "memory__read_graph"} {
			all = all && strings.Contains(string(out), name)
		}
		return all
	})
}

func (i *installation) wait(t *testing.T, what string, is func() bool) {
	t.Helper()
	late := time.After(patience)
	for !is() {
		select {
		case <-time.After(lookAgain):
		case <-late:
			t.Fatalf("it never happens: %s", what)
		}
	}
}

// running are the processes of the servers, as the host sees them.
func (i *installation) running(t *testing.T) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		line, _ := os.ReadFile(path) // it may have ended
		if !bytes.HasPrefix(line, []byte("node\x00")) {
			continue
		}
		environment, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		if !bytes.Contains(line, []byte(i.mark)) && !bytes.Contains(environment, []byte("="+i.mark+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// killServers kills all servers that are programs, and gives their numbers.
func (i *installation) killServers(t *testing.T) []int {
	t.Helper()
	pids := i.running(t)
	if len(pids) != 3 {
		t.Fatalf("%d servers run, want 3", len(pids))
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	return pids
}

// wantOthers waits until servers run in place of those that were killed: until then the
// runner may not have noticed, and what it sends is as good as lost.
func (i *installation) wantOthers(t *testing.T, killed []int) {
	t.Helper()
	i.wait(t, "the servers are started again", func() bool {
		now := i.running(t)
		return len(now) == len(killed) && !slices.ContainsFunc(now, func(pid int) bool { return slices.Contains(killed, pid) })
	})
}

func (i *installation) killRunner(t *testing.T) {
	t.Helper()
	if err := i.runner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = i.runner.Wait() // it says that it was killed
}

// wantGone waits until no server is left of a runner that was killed.
func (i *installation) wantGone(t *testing.T) {
	t.Helper()
	i.wait(t, "the servers end with their runner", func() bool { return len(i.running(t)) == 0 })
}

// begin says something in a new chat.
func (i *installation) begin(t *testing.T, text string) (chat string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	chat, err := i.client.Ensure(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.client.Send(ctx, chat, text); err != nil {
		t.Fatal(err)
	}
	return chat
}

// say says something in a new chat and waits for the end of the turn.
func (i *installation) say(t *testing.T, text string) (chat string, progress int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	chat, err := i.client.Ensure(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := i.client.Say(ctx, chat, text, func(s client.Sight) {
		if s.Progress != nil {
			progress++
		}
	})
	if err != nil || outcome.Status != transcript.TurnCompleted {
		t.Fatalf("%s: %+v, %v", text, outcome, err)
	}
	return chat, progress
}

// found is the first call of a chat, once there is one.
func (i *installation) found(t *testing.T, chat string) *transcript.Call {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	page, err := i.client.Transcript(ctx, chat)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range page.Messages {
		for _, p := range m.Parts {
			if p.Call != nil {
				return p.Call
			}
		}
	}
	return nil
}

func (i *installation) call(t *testing.T, chat string) *transcript.Call {
	t.Helper()
	call := i.found(t, chat)
	if call == nil {
		t.Fatal("there is no call")
	}
	return call
}

func (i *installation) waitStarted(t *testing.T, chat string) {
	t.Helper()
	i.wait(t, "the call is started", func() bool {
		call := i.found(t, chat)
		return call != nil && call.Status == transcript.CallStarted
	})
}

// waitCall waits until the call has a result.
func (i *installation) waitCall(t *testing.T, chat string) (call *transcript.Call) {
	t.Helper()
	i.wait(t, "the call has a result", func() bool {
		call = i.found(t, chat)
		return call != nil && call.Result != nil
	})
	return call
}

func (i *installation) answer(t *testing.T, chat string, call events.CallID, answers []events.Answer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := i.client.Answer(ctx, chat, call, answers...); err != nil {
		t.Fatal(err)
	}
}

func (i *installation) wantResult(t *testing.T, text string, status events.ToolStatus, inside string) {
	t.Helper()
	chat, _ := i.say(t, text)
	call := i.call(t, chat)
	result, err := json.Marshal(call.Result)
	if err != nil {
		t.Fatal(err)
	}
	if call.Status != transcript.CallStatus(status) || !strings.Contains(string(result), inside) {
		t.Errorf("%s: the call is %s: %s", text, call.Status, result)
	}
}

// prompt is what the model was shown last.
func (i *installation) prompt(t *testing.T, chat string) string {
	t.Helper()
	show := exec.CommandContext(t.Context(), filepath.Join(i.bin, "everturn"), "prompt", chat, "1.2", "--full", "--json", "--server", i.url)
	show.Env = i.environment(filepath.Dir(i.file))
	out, err := show.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
