//go:build processes

package runners

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

const (
	tenant = "acme"
	group  = "notes"

	ackWait  = time.Second      // of the group's queue, so that a killed runner is soon replaced
	patience = 60 * time.Second // for a fact
	poll     = 20 * time.Millisecond
)

// installation is everything but runners, each part in its account.
type installation struct {
	t     *testing.T
	dir   string
	roles string // folder with a context for each user
	log   *streams.Log
	cl    *client.Client

	started []*process
}

// process is one running program. What it writes to standard error is shown if the
// test fails.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended, with how in end
	end  error
	told bool // to end, or killed
}

// install starts a server with accounts, an orchestrator whose model follows the
// script, and projections.
func install(t *testing.T, script string) *installation {
	t.Helper()
	in := &installation{t: t, dir: t.TempDir()}
	if err := os.WriteFile(in.path("script.yaml"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(in.path("notes"), 0o700); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(filepath.Join(binaries, "everturn"), "server", "--auth", "--tenants", tenant, "--groups", group,
		"--port", "0", "--store", in.path("store"))
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in.start(server)
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it speaks when all is written
		t.Fatal(err)
	}
	in.roles = in.path("store/roles")
	in.start(exec.Command(filepath.Join(binaries, "orchestrator"), "--context", in.context("orchestrator"),
		"--script", in.path("script.yaml"), "--ack-wait", ackWait.String()))
	in.openLog()
	in.start(exec.Command(filepath.Join(binaries, "everturn"), "projections", "--context", in.context("projection")))
	in.cl = client.New(in.connect("client-"+tenant), tenant, "")
	return in
}

func (in *installation) path(name string) string { return filepath.Join(in.dir, name) }

func (in *installation) context(user string) string { return filepath.Join(in.roles, user+".json") }

// openLog waits until the orchestrator has made the streams.
func (in *installation) openLog() {
	in.t.Helper()
	operator := in.connect("operator")
	in.until("streams", func() bool {
		r, err := streams.OpenReader(in.patient(), operator, streams.Options{})
		if err != nil {
			return false
		}
		in.t.Cleanup(r.Close)
		in.log = r.Log
		return true
	})
}

// start runs a program until the test ends.
func (in *installation) start(cmd *exec.Cmd) *process {
	in.t.Helper()
	p := &process{cmd: cmd, done: make(chan struct{})}
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.Env = append(append(os.Environ(), "NATS_URL=", "NATS_CONTEXT=", "XDG_CONFIG_HOME="+in.dir), cmd.Env...)
	if err := cmd.Start(); err != nil {
		in.t.Fatal(err)
	}
	go func() { p.end = cmd.Wait(); close(p.done) }()
	in.started = append(in.started, p)
	in.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		<-p.done
		if in.t.Failed() {
			in.t.Logf("--- %s ---\n%s", filepath.Base(cmd.Path), &said)
		}
	})
	return p
}

// user is what the context of one holds.
type user struct{ URL, User, Password string }

func (in *installation) user(name string) user {
	in.t.Helper()
	content, err := os.ReadFile(in.context(name))
	if err != nil {
		in.t.Fatal(err)
	}
	var u user
	if err := json.Unmarshal(content, &u); err != nil {
		in.t.Fatal(err)
	}
	return u
}

func (in *installation) connect(name string) *nats.Conn {
	in.t.Helper()
	u := in.user(name)
	nc, err := nats.Connect(u.URL, nats.UserInfo(u.User, u.Password))
	if err != nil {
		in.t.Fatal(err)
	}
	in.t.Cleanup(nc.Close)
	return nc
}

// languages are those whose runner can be started here, besides Go. Python's client
// cannot be installed everywhere; that it could not is said.
func languages(t *testing.T) []string {
	t.Helper()
	if err := exec.CommandContext(t.Context(), "python3", "-c", "import nats").Run(); err != nil {
		t.Log("NOT TRIED: examples/python, since python3 cannot import nats here; see examples/python/requirements.txt")
		return []string{"node"}
	}
	return []string{"node", "python"}
}

// commands start a runner in each language.
var commands = map[string][]string{
	"go":     {os.Args[0]},
	"node":   {"node", "../../examples/node/notes.mjs"},
	"python": {"python3", "../../examples/python/notes.py"},
}

// manifests of the tools that all of them have.
const manifests = "../../examples/notes.json"

// runner starts a runner with the manifests in a file.
func (in *installation) runner(language, file string) *process {
	in.t.Helper()
	file, err := filepath.Abs(file)
	if err != nil {
		in.t.Fatal(err)
	}
	u := in.user("runner-" + group)
	cmd := exec.Command(commands[language][0], commands[language][1:]...)
	cmd.Env = []string{
		"NATS_URL=" + u.URL, "NATS_USER=" + u.User, "NATS_PASSWORD=" + u.Password, "NOTES=" + in.path("notes"), "MANIFESTS=" + file,
		"ACK_WAIT_MS=" + strconv.FormatInt(ackWait.Milliseconds(), 10),
	}
	if language == "go" {
		cmd.Env = append(cmd.Env, asRunner+"=1")
	}
	return in.start(cmd)
}

// kill ends a process without warning.
func (in *installation) kill(p *process) {
	in.t.Helper()
	p.told = true
	if err := p.cmd.Process.Kill(); err != nil {
		in.t.Fatal(err)
	}
	<-p.done
}

// terminate asks a process to end, and waits until it has.
func (in *installation) terminate(p *process) {
	in.t.Helper()
	p.told = true
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		in.t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-in.patient().Done():
		in.t.Fatal("a runner does not end")
	}
	if p.end != nil {
		in.t.Errorf("a runner that was told to end: %v", p.end)
	}
}

func (in *installation) patient() context.Context {
	ctx, cancel := context.WithTimeout(in.t.Context(), patience)
	in.t.Cleanup(cancel)
	return ctx
}

// until looks again and again until a fact holds.
func (in *installation) until(what string, holds func() bool) {
	in.t.Helper()
	ctx := in.patient()
	for !holds() {
		in.allRun()
		select {
		case <-ctx.Done():
			in.t.Fatalf("waited in vain for %s", what)
		case <-time.After(poll):
		}
	}
}

// allRun fails if a process has ended that nobody has told to.
func (in *installation) allRun() {
	in.t.Helper()
	for _, p := range in.started {
		select {
		case <-p.done:
			if !p.told {
				in.t.Fatalf("%s has ended: %v", p.cmd, p.end)
			}
		default:
		}
	}
}

// toolsOnOffer waits until a turn has the tools.
func (in *installation) toolsOnOffer() {
	in.t.Helper()
	in.until("the tools", func() bool {
		k := in.say("which tools are there?")
		in.until("a turn", func() bool { return len(every[events.TurnStarted](in.read(k))) > 0 })
		body := every[events.TurnStarted](in.read(k))[0].Settings.Body
		in.until("its end", func() bool { return ended(in.read(k)) })
		return body != nil && len(body.Tools) == 2
	})
}

// say begins a chat with a text.
func (in *installation) say(text string) events.Key {
	in.t.Helper()
	chat := client.NewID()
	ctx := in.patient()
	if _, err := in.cl.Command(ctx, chat, protocol.Create{V: protocol.Version}); err != nil {
		in.t.Fatal(err)
	}
	if _, err := in.cl.Send(ctx, chat, text); err != nil {
		in.t.Fatal(err)
	}
	return in.cl.Key(chat)
}

// read gives all that happened in a chat.
func (in *installation) read(k events.Key) []events.Event {
	in.t.Helper()
	ctx := in.patient()
	last, err := in.log.Last(ctx, k)
	if errors.Is(err, protocol.ErrNotFound) {
		return nil
	}
	if err != nil {
		in.t.Fatal(err)
	}
	var all []events.Event
	for m, err := range in.log.Read(ctx, k, 0, last.Sequence) {
		if err != nil {
			in.t.Fatal(err)
		}
		c, err := events.Decode(m.Body)
		if err != nil {
			in.t.Fatal(err)
		}
		all = append(all, c.Events...)
	}
	return all
}

// every event of a type, in order.
func every[E events.Event](all []events.Event) []E {
	var of []E
	for _, e := range all {
		if e, ok := e.(E); ok {
			of = append(of, e)
		}
	}
	return of
}

// ended reports whether the first turn has.
func ended(all []events.Event) bool {
	return len(every[events.TurnCompleted](all))+len(every[events.TurnFailed](all))+len(every[events.TurnInterrupted](all)) > 0
}

// journal is how many lines the journal has for each key.
func (in *installation) journal() map[string]int {
	in.t.Helper()
	lines := map[string]int{}
	content, err := os.ReadFile(in.path("notes/journal.txt"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		in.t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		key, _, _ := strings.Cut(line, " ")
		lines[key]++
	}
	return lines
}

// verify fails if anything is wrong with any log.
func (in *installation) verify() {
	in.t.Helper()
	cmd := exec.CommandContext(in.patient(), filepath.Join(binaries, "everturn"), "verify", "--idle", "--context", in.context("operator"))
	cmd.Env = append(os.Environ(), "NATS_URL=", "XDG_CONFIG_HOME="+in.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		in.t.Errorf("verify: %v\n%s", err, out)
	}
	in.t.Logf("%s", bytes.TrimSpace(out))
}
