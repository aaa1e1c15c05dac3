//go:build processes

package readme

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
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
	talkers    = 6
	talkBefore = 30 // turns that have ended when the backup begins
	talkAfter  = 30 // and after it, before everything is lost
	answerTime = 2 * time.Minute
)

// talkScript answers after a call, and holds a turn open where it is told to.
const talkScript = `
rules:
  - when: {input: hold}
    answer:
      - pause: 1h
  - when: {step: 1}
    answer:
      - call: {name: append_ledger, arguments: '{"text": "{{input}}"}'}
  - answer:
      - text: "Noted: {{input}}"
`

// Somebody backs up an installation in use with the lines of docs/OPERATIONS.md,
// loses the server with its store, and restores with the lines that follow.
func TestBackupAndRestoreAsThePageSays(t *testing.T) {
	if _, err := exec.LookPath("nats"); err != nil {
		t.Fatalf("make natscli installs it: %v", err)
	}
	saving, restoring := recipe(t)
	r := newReader(t)
	if out, err := runIn(r, "make build"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i, v := range r.env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			r.env[i] = "PATH=" + filepath.Join(r.dir, "bin") + ":" + path
		}
	}
	if err := os.WriteFile(filepath.Join(r.dir, "talk.yaml"), []byte(talkScript), 0o600); err != nil {
		t.Fatal(err)
	}

	lost := &installation{reader: r, name: "lost"}
	lost.serve("everturn server --store lost --port 0")
	lost.do("everturn streams apply")
	lost.startParts()
	before := &people{t: t, url: lost.url, seen: map[string]seen{}}
	before.talk()
	held := before.hold()
	before.untilTurns(talkBefore)

	promised := before.acknowledged()
	r.env = append(r.env, "NATS_URL="+lost.url)
	r.typeAll(saving)
	before.untilTurns(int(before.turns.Load()) + talkAfter)
	lost.destroy()
	before.stop()
	if err := os.RemoveAll(filepath.Join(r.dir, "lost")); err != nil {
		t.Fatal(err)
	}

	r.typeAll(restoring)
	shown, _ := r.terminal(MainTerminal).screen()
	if !strings.Contains(shown, "no rule broken") {
		t.Errorf("verify says:\n%s", shown)
	}
	t.Logf("numbers of commands: %q", regexp.MustCompile(`update COMMANDS: .*`).FindString(shown))

	// The page's last step: the same store where it is looked for.
	r.terminal("restoring").signal(syscall.SIGTERM)
	found := &installation{reader: r, name: "found"}
	found.serve("until everturn server --store restored --port 0; do sleep 1; done") // the first one may take a moment to go
	found.startParts()
	after := &people{t: t, url: found.url, seen: map[string]seen{}}
	after.connect()
	for chat, want := range promised {
		after.has(chat, want)
		for n := range 2 {
			after.says(chat, fmt.Sprintf("restored %d", n))
		}
	}
	after.interrupted(held)
	if out := found.do("everturn verify"); !strings.Contains(out, "no rule broken") {
		t.Errorf("verify says:\n%s", out)
	}
	t.Logf("%d chats and %d turns were acknowledged before the backup; all are there, and go on", len(promised), turnsOf(promised))
	if t.Failed() {
		t.Log(r.screens())
	}
}

// recipe are the blocks of the page below its headings about backups.
func recipe(t *testing.T) (saving, restoring []Block) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "docs", "OPERATIONS.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(content), "\n## Backup\n")
	section, _, ends := strings.Cut(section, "\n## ")
	first, second, both := strings.Cut(section, "\n### Restoring\n")
	if !found || !ends || !both {
		t.Fatal("the page has lost a heading")
	}
	if saving, err = Parse(first); err != nil {
		t.Fatal(err)
	}
	if restoring, err = Parse(second); err != nil {
		t.Fatal(err)
	}
	if len(saving) == 0 || len(restoring) < 2 {
		t.Fatalf("%d and %d blocks", len(saving), len(restoring))
	}
	return saving, restoring
}

// typeAll types the blocks that a reader types, of which all must succeed.
func (r *reader) typeAll(blocks []Block) {
	r.t.Helper()
	for _, b := range blocks {
		if b.NotRun != "" {
			continue
		}
		start := time.Now()
		if err := r.block(b); err != nil {
			r.t.Fatalf("%s: %v\n%s", b.title(), err, r.screens())
		}
		r.t.Logf("in %v: %s", time.Since(start).Round(time.Millisecond), b.title())
	}
}

func runIn(r *reader, commands string, env ...string) (string, error) {
	cmd := exec.Command("bash", "--noprofile", "--norc", "-c", commands)
	cmd.Dir, cmd.Env = r.dir, append(append([]string{}, r.env...), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// installation is a server with one of each part.
type installation struct {
	*reader

	name  string
	url   string
	parts []*terminal
}

// serve starts a server and waits until it says how to connect.
func (i *installation) serve(command string) {
	i.t.Helper()
	server := i.open("server", command)
	shown, match, err := server.until(0, regexp.MustCompile(`export NATS_URL=(\S+)`))
	if err != nil {
		i.t.Fatalf("%v:\n%s", err, shown)
	}
	i.url = shown[match[2]:match[3]]
}

// open runs a command that does not end by itself.
func (i *installation) open(part, command string) *terminal {
	i.t.Helper()
	s := i.terminal(i.name + " " + part)
	if _, _, err := s.typeIn(command); err != nil {
		i.t.Fatal(err)
	}
	i.parts = append(i.parts, s)
	return s
}

func (i *installation) startParts() {
	at := " --server " + i.url
	i.open("orchestrator", "orchestrator --script talk.yaml --ack-wait 1s"+at)
	i.open("tool runner", "toolrunner --ledger ledger --ack-wait 1s"+at)
	i.open("projections", "everturn projections"+at)
}

// do runs a command that must succeed and gives what it printed.
func (i *installation) do(command string) string {
	i.t.Helper()
	out, err := runIn(i.reader, command, "NATS_URL="+i.url)
	if err != nil {
		i.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return out
}

// destroy kills everything at once.
func (i *installation) destroy() {
	for _, s := range i.parts {
		s.signal(syscall.SIGKILL)
	}
	for _, s := range i.parts {
		<-s.ended
	}
}

// seen is how far somebody was told that a chat has come.
type seen struct {
	rev  uint64
	turn int
	hash string // of the commit of that rev
}

func turnsOf(all map[string]seen) (sum int) {
	for _, s := range all {
		sum += s.turn
	}
	return sum
}

// people talk to an installation.
type people struct {
	t     *testing.T
	url   string
	c     *client.Client
	log   *streams.Log
	turns atomic.Int64
	end   context.CancelFunc
	all   sync.WaitGroup

	mu   sync.Mutex
	seen map[string]seen
}

func (p *people) connect() {
	p.t.Helper()
	nc, err := nats.Connect(p.url, nats.MaxReconnects(-1))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(nc.Close)
	p.c = client.New(nc, "", "user:test")
	reader, err := streams.OpenReader(p.t.Context(), nc, streams.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(reader.Close)
	p.log = reader.Log
}

// talk begins to say things in some chats, over and over.
func (p *people) talk() {
	p.t.Helper()
	p.connect()
	ctx, cancel := context.WithCancel(p.t.Context())
	p.end = cancel
	for range talkers {
		p.all.Go(func() {
			chat := client.NewID()
			for n := 1; ctx.Err() == nil; n++ {
				err := p.say(ctx, chat, fmt.Sprint("before ", n))
				if err != nil && ctx.Err() == nil {
					p.t.Errorf("chat %s: %v", chat, err)
					return
				}
			}
		})
	}
}

// say says something in a chat, which is made if it is not there, and waits for
// the end of the turn.
func (p *people) say(ctx context.Context, chat, text string) error {
	_, reply, err := p.c.SendNew(ctx, chat, protocol.Send{Parts: []events.Part{events.Text(text)}})
	if err != nil {
		return err
	}
	for {
		last, err := p.log.Last(ctx, p.c.Key(chat))
		if err == nil && strings.Contains(last.Get(protocol.HeaderTypes), "turn.completed") {
			c, err := events.Decode(last.Body)
			if err == nil && c.Rev > reply.Rev {
				p.turns.Add(1)
				p.mu.Lock()
				p.seen[chat] = seen{rev: c.Rev, turn: reply.Turn, hash: events.Hash(last.Body)}
				p.mu.Unlock()
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// hold begins a turn that does not end by itself.
func (p *people) hold() (chat string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), answerTime)
	defer cancel()
	chat, _, err := p.c.SendNew(ctx, client.NewID(), protocol.Send{Parts: []events.Part{events.Text("hold")}})
	if err != nil {
		p.t.Fatal(err)
	}
	return chat
}

// interrupted ends the turn that was held, by whoever has it now.
func (p *people) interrupted(chat string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), answerTime)
	defer cancel()
	if _, err := p.c.Interrupt(ctx, chat, 1, ""); err != nil {
		p.t.Fatalf("interrupt the turn that was open at the backup: %v", err)
	}
	p.says(chat, "after it")
}

func (p *people) untilTurns(n int) {
	p.t.Helper()
	late := time.After(answerTime)
	for int(p.turns.Load()) < n {
		select {
		case <-late:
			p.t.Fatalf("waited in vain for turn %d", n)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// acknowledged is what people were told by now.
func (p *people) acknowledged() map[string]seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.seen)
}

func (p *people) stop() {
	p.end()
	p.all.Wait()
}

// has fails unless the chat has the commit that was told, at its rev.
func (p *people) has(chat string, want seen) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), answerTime)
	defer cancel()
	k := p.c.Key(chat)
	last, err := p.log.Last(ctx, k)
	if err != nil {
		p.t.Errorf("chat %s was acknowledged and is not there: %v", chat, err)
		return
	}
	for m, err := range p.log.Read(ctx, k, 0, last.Sequence) {
		if err != nil {
			p.t.Fatal(err)
		}
		if events.Hash(m.Body) == want.hash {
			return
		}
	}
	p.t.Errorf("chat %s has lost turn %d, which had ended before the backup", chat, want.turn)
}

// says is say, which must succeed.
func (p *people) says(chat, text string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), answerTime)
	defer cancel()
	if err := p.say(ctx, chat, text); err != nil {
		p.t.Fatalf("chat %s does not go on: %v", chat, err)
	}
}
