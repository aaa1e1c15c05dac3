//go:build processes

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/freeport"
)

// binaries is where TestMain put the programs under test.
var binaries string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "everturn-e2e-")
	if err == nil {
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	binaries = dir
	code := m.Run()
	_ = os.RemoveAll(dir) // a leftover in the temporary folder fails no test
	os.Exit(code)
}

func build(dir string) error {
	for name, of := range map[string]string{
		"everturn": "../../cmd/everturn", "orchestrator": "../../cmd/orchestrator", "toolrunner": "../../cmd/toolrunner",
		"testrunner": "./testrunner", "testpayer": "./testpayer",
		"nats-server": "github.com/nats-io/nats-server/v2", // in the version that we are tested with
	} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, name), of)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

// cluster is an installation made of processes: one server, and as many of the
// other parts as a test starts.
type cluster struct {
	t       *testing.T
	dir     string
	port    int
	url     string                         // for whoever has no user of their own
	users   func(user, part string) string // how a part connects as a user; nil: as everybody does
	ledger  string
	ackWait time.Duration
	script  string
	models  string // its file, if something is known of the model besides the script
	running map[string]*process
	metrics map[string]string // where each part serves its own
	others  []events.Key      // chats that no test asked for, and that had effects

	programs func(part string) string // folder of a part's program; nil is binaries
	runner   []string                 // what runs as a tool runner, with its own flags; nil is toolrunner with the tools for tests
}

// process is one running program.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string        // file with what it wrote
	done chan struct{} // closed when it has ended, with how in end
	end  error
}

// settings of a cluster.
type settings struct {
	ackWait time.Duration
	script  string
	window  int // of the scripted model, in tokens; 0: nothing is known of it
}

// startCluster starts a server. Everything is stopped when the test ends, and
// what the processes wrote is shown if it failed.
func startCluster(t *testing.T, s settings) *cluster {
	t.Helper()
	c := newCluster(t, s)
	c.startServer()
	c.everturn("streams", "apply")
	return c
}

// newCluster is one in which nothing runs yet.
func newCluster(t *testing.T, s settings) *cluster {
	t.Helper()
	dir := t.TempDir()
	c := &cluster{
		t: t, dir: dir, port: freeport.One(t), ledger: filepath.Join(dir, "ledger"), ackWait: s.ackWait,
		script: filepath.Join(dir, "script.yaml"), running: map[string]*process{},
		metrics: map[string]string{},
	}
	if err := os.WriteFile(c.script, []byte(s.script), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.window > 0 {
		c.models = filepath.Join(dir, "models.yaml")
		file := fmt.Sprintf("models: [{name: small, provider: script, script: script.yaml, window: %d}]\n", s.window)
		if err := os.WriteFile(c.models, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(c.stop)
	return c
}

// urlOf is how a part connects as a user.
func (c *cluster) urlOf(user, part string) string {
	if c.users == nil {
		return c.url
	}
	return c.users(user, part)
}

// startServer starts the server, again on the same port and store after a kill,
// and waits until it says how to connect.
func (c *cluster) startServer() {
	c.t.Helper()
	p, out := c.startPiped("server", "everturn", "server",
		"--store", filepath.Join(c.dir, "store"), "--port", fmt.Sprint(c.port))
	line := bufio.NewScanner(out)
	for line.Scan() {
		if url, ok := strings.CutPrefix(line.Text(), "export NATS_URL="); ok {
			c.url = url
			go func() { // so that the pipe never fills; ends with the process
				for line.Scan() {
				}
			}()
			return
		}
	}
	<-p.done
	c.t.Fatalf("the server ended without saying how to connect: %v\n%s", p.end, read(p.log))
}

func (c *cluster) startOrchestrator(name string) {
	c.t.Helper()
	asked := []string{"--script", c.script}
	if c.models != "" {
		asked = []string{"--models", c.models}
	}
	c.start(name, "orchestrator", append(asked, "--server", c.urlOf(userOrchestrator, name), "--ack-wait", c.ackWait.String(),
		"--metrics", c.metricsAddress(name))...)
}

func (c *cluster) startRunner(name string) {
	c.t.Helper()
	runner := c.runner
	if runner == nil {
		runner = []string{"toolrunner", "--ledger", c.ledger, "--workspace", c.dir}
	}
	c.start(name, runner[0], append(slices.Clone(runner[1:]), "--server", c.urlOf(userRunner, name), "--ack-wait", c.ackWait.String(),
		"--metrics", c.metricsAddress(name))...)
}

func (c *cluster) startProjections(name string) {
	c.t.Helper()
	c.start(name, "everturn", "projections", "--server", c.urlOf(userProjection, name))
}

// everturn runs a command of the command line and gives what it printed.
func (c *cluster) everturn(args ...string) string {
	c.t.Helper()
	cmd := exec.CommandContext(patient(c.t), filepath.Join(binaries, "everturn"), args...)
	cmd.Env = append(os.Environ(), "NATS_URL="+c.url)
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("everturn %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (c *cluster) start(name, program string, args ...string) *process {
	c.t.Helper()
	return c.launch(name, exec.Command(c.program(name, program), args...))
}

// program is the path of a part's program.
func (c *cluster) program(part, program string) string {
	dir := binaries
	if c.programs != nil {
		dir = c.programs(part)
	}
	return filepath.Join(dir, program)
}

func (c *cluster) startPiped(name, program string, args ...string) (*process, *os.File) {
	c.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(c.program(name, program), args...)
	cmd.Stdout = w
	p := c.launch(name, cmd)
	_ = w.Close() // the process has its own
	return p, r
}

// launch starts a program, with variables that only it has.
func (c *cluster) launch(name string, cmd *exec.Cmd, variables ...string) *process {
	c.t.Helper()
	p := &process{name: name, cmd: cmd, log: filepath.Join(c.dir, name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // the process has its own
	cmd.Stderr = log
	if cmd.Stdout == nil {
		cmd.Stdout = log
	}
	cmd.Env = append(append(os.Environ(), "NATS_URL=", "EVERTURN_LOG_LEVEL=INFO"), variables...)
	if err := cmd.Start(); err != nil {
		c.t.Fatalf("start %s: %v", name, err)
	}
	go func() { defer close(p.done); p.end = cmd.Wait() }()
	c.running[name] = p
	return p
}

// kill ends a process of ours without warning, by its id, and waits until it is gone.
func (c *cluster) kill(name string) {
	c.t.Helper()
	p := c.running[name]
	if err := p.cmd.Process.Kill(); err != nil {
		c.t.Fatalf("kill %s: %v", name, err)
	}
	<-p.done
	delete(c.running, name)
}

// restart starts a killed process again.
func (c *cluster) restart(name string) {
	c.t.Helper()
	switch kind, _, _ := strings.Cut(name, "-"); kind {
	case "server":
		c.startServer()
	case "orchestrator":
		c.startOrchestrator(name)
	case "toolrunner":
		c.startRunner(name)
	case "projections":
		c.startProjections(name)
	default:
		c.t.Fatalf("no such part: %s", name)
	}
}

func (c *cluster) stop() {
	for name, p := range c.running {
		_ = p.cmd.Process.Kill() // it may have ended by itself
		<-p.done
		if c.t.Failed() {
			c.t.Logf("--- last words of %s ---\n%s", name, tail(read(p.log)))
		}
	}
}

const tailBytes = 4 << 10

func tail(s string) string {
	if len(s) <= tailBytes {
		return s
	}
	return "…" + s[len(s)-tailBytes:]
}

func read(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// connect is a connection that outlives the server's death.
func (c *cluster) connect() *nats.Conn {
	c.t.Helper()
	nc, err := nats.Connect(c.url, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(nc.Close)
	return nc
}

// client speaks for the default tenant.
func (c *cluster) client() *client.Client {
	c.t.Helper()
	return client.New(c.connect(), "", "user:test")
}

// patience is how long a test waits for a fact before it gives up.
const patience = 60 * time.Second

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
