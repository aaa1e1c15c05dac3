//go:build processes

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/freeport"
	"github.com/everturn/everturn/internal/readme"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

const (
	grownTurns = 20 // that end before, and after
	cutOff     = 4  // chats whose turn is cut off, and as many whose command nobody has seen
)

// One server becomes three as docs/OPERATIONS.md says, with the lines that it has:
// everything is moved by a backup while nobody can write. Every commit is where it
// was, turns that were open go on, so does every chat, and then one of three may die.
func TestNodesGrowFromOne(t *testing.T) {
	for name, accounts := range map[string]bool{"with accounts": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			g := startGrowth(t, accounts)
			l := g.startTalk()
			l.goesOn(grownTurns)
			before := l.stop()
			waiting := g.cutOff(l)
			for k := range waiting {
				before[k] = g.history(l.r, k) // nothing, of some
			}

			began := time.Now()
			g.backUp()
			backedUp := time.Now()
			g.startThree()
			well := time.Now()
			t.Logf("%s", g.types(g.restoring, fmt.Sprintf("nats://127.0.0.1:%d", g.list[home].clients)))
			restored := time.Now()
			g.haveCopies()
			t.Logf("backed up in %v, three servers well in %v, restored in %v, copies whole in %v",
				rounded(backedUp.Sub(began)), rounded(well.Sub(backedUp)), rounded(restored.Sub(well)), rounded(time.Since(restored)))
			r := g.reader()
			g.unchanged(r, before)
			g.startEach(nodesInCluster)
			g.goOn(r, before, waiting)

			l = g.startTalk()
			l.goesOn(grownTurns)
			victim := g.notOurs(streams.CommandsStream)
			g.kill(victim)
			l.goesOn(grownTurns)
			g.restartNode(victim)
			keys := slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(l.stop())))
			g.check(r, keys)
			g.eachEffectOnce(keys)
			g.everturn("verify")
		})
	}
}

// growth is a single server that becomes three.
type growth struct {
	*nodes
	accounts bool // whether the single server has those that the three have

	saving, restoring string // what the page says
}

// startGrowth starts a single server with one of each part.
func startGrowth(t *testing.T, accounts bool) *growth {
	t.Helper()
	if _, err := exec.LookPath("nats"); err != nil {
		t.Fatalf("make nodes installs it: %v", err)
	}
	n := &nodes{cluster: newCluster(t, settings{ackWait: 2 * time.Second, script: busyTurn})}
	n.list, n.etc = n.freeNodes(), filepath.Join(n.dir, "etc")
	g := &growth{nodes: n, accounts: accounts, saving: typed(t, "## Backup"), restoring: typed(t, "## From one server to three")}
	if accounts {
		g.configure(g.serveWithAccounts("server", g.store(), g.list[home].clients))
	} else {
		g.startServer()
	}
	g.everturn("streams", "apply")
	g.startEach(1)
	return g
}

// store is where the single server keeps its data.
func (g *growth) store() string { return filepath.Join(g.dir, "store") }

// typed is what a section of the page has people type that is nobody's own: its
// only block.
func typed(t *testing.T, heading string) string {
	t.Helper()
	page := read("../../docs/OPERATIONS.md")
	_, section, found := strings.Cut(page, "\n"+heading+"\n")
	section, _, ends := strings.Cut(section, "\n#")
	blocks, err := readme.Parse(section)
	blocks = slices.DeleteFunc(blocks, func(b readme.Block) bool { return b.NotRun != "" })
	if !found || !ends || err != nil || len(blocks) != 1 {
		t.Fatalf("the page has %d blocks below %q: %v", len(blocks), heading, err)
	}
	return blocks[0].Text
}

// cutOff says something in some chats and stops everything but the server: turns
// have begun and wait for their tools, then commands are only stored. It gives what
// was said.
func (g *growth) cutOff(l *crowd) map[events.Key]string {
	g.t.Helper()
	g.terminate("toolrunner-1")
	said := map[events.Key]string{}
	submit := func(text string) events.Key {
		k := l.cl.Key(client.NewID())
		said[k] = text
		for _, command := range []protocol.Body{
			protocol.Create{V: protocol.Version},
			protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(text)}},
		} {
			if err := l.cl.Submit(patient(g.t), k.Chat, client.NewID(), command); err != nil {
				g.t.Fatal(err)
			}
		}
		return k
	}
	for i := range cutOff {
		k := submit(fmt.Sprint("cut off ", i))
		l.r.until(g.t, k, "a call of a tool that nobody runs", func(h history) bool { return h.last(events.ToolRequested{}.EventType()) })
	}
	g.terminate("orchestrator-1")
	for i := range cutOff {
		submit(fmt.Sprint("stored ", i))
	}
	g.terminate("projections-1")
	return said
}

// backUp stops the server, and starts it where nobody finds it for as long as the
// backup takes.
func (g *growth) backUp() {
	g.t.Helper()
	g.terminate("server")
	port := freeport.One(g.t)
	at := fmt.Sprintf("nats://127.0.0.1:%d", port)
	if g.accounts {
		g.serveWithAccounts("server", g.store(), port)
	} else {
		g.port = port
		g.startServer()
		at = g.url
	}
	g.types(g.saving, at)
	g.terminate("server")
}

// startThree starts three servers with empty stores, and with the accounts of the
// one if it had any.
func (g *growth) startThree() {
	g.t.Helper()
	if !g.accounts {
		g.configure(g.made())
	}
	for _, node := range g.list {
		g.launchNode(node)
	}
	g.untilHealthy()
}

// haveCopies waits until every stream has its copies.
func (g *growth) haveCopies() {
	g.t.Helper()
	g.untilHealthy()
	list := g.jetStream().ListStreams(patient(g.t))
	for info := range list.Info() {
		if info.Config.Replicas != nodesInCluster || info.Config.PersistMode != jetstream.DefaultPersistMode {
			g.t.Errorf("stream %s has %d replicas and persist mode %v", info.Config.Name, info.Config.Replicas, info.Config.PersistMode)
		}
	}
	if err := list.Err(); err != nil {
		g.t.Fatal(err)
	}
}

// types has a shell do what the page says, with what it says to export, and gives
// what that shows.
func (g *growth) types(commands, url string) string {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), clusterPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-c", commands)
	cmd.Dir = g.dir
	cmd.Env = append(os.Environ(), "PATH="+binaries+":"+os.Getenv("PATH"), "HOME="+g.dir, "XDG_CONFIG_HOME="+g.dir, "NATS_URL="+url)
	if g.secrets != nil {
		cmd.Env = append(cmd.Env, "NATS_USER="+userOperator, "NATS_PASSWORD="+g.secrets[userOperator])
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("%s: %v\n%s", commands, err, out)
	}
	return string(out)
}

func sameEntry(a, b verify.Entry) bool {
	return a.Subject == b.Subject && a.Sequence == b.Sequence && bytes.Equal(a.Commit, b.Commit)
}

func (g *growth) history(r reader, k events.Key) history {
	g.t.Helper()
	h, err := r.read(patient(g.t), k)
	if err != nil {
		g.t.Fatal(err)
	}
	return h
}

// unchanged fails unless the chats' logs are what they were, each commit at its
// place.
func (g *growth) unchanged(r reader, before map[events.Key]history) {
	g.t.Helper()
	commits := 0
	for k, want := range before {
		commits += len(want.entries)
		if got := g.history(r, k); !slices.EqualFunc(got.entries, want.entries, sameEntry) {
			g.t.Errorf("chat %s was\n%sand is\n%s", k, want, got)
		}
	}
	g.t.Logf("%d commits of %d chats are where they were", commits, len(before))
}

// goOn waits until what was cut off is answered, and then says something in each
// of the chats.
func (g *growth) goOn(r reader, before map[events.Key]history, waiting map[events.Key]string) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), turnPatience)
	defer cancel()
	cl := g.client()
	keys := slices.Collect(maps.Keys(before))
	err := together(len(keys), func(i int) error {
		k := keys[i]
		turns := len(every[events.TurnStarted](before[k]))
		if text, ok := waiting[k]; ok {
			turns = 1
			if h, err := r.wait(ctx, k, func(h history) bool { return h.ended(turns) }); err != nil || !strings.HasSuffix(h.finalText(), text) {
				return fmt.Errorf("chat %s: the answer to %q is %q: %w", k, text, h.finalText(), err)
			}
		}
		text := "after all " + k.Chat
		if _, err := cl.Command(ctx, k.Chat, protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(text)}}); err != nil {
			return fmt.Errorf("chat %s: %w", k, err)
		}
		h, err := r.wait(ctx, k, func(h history) bool { return h.ended(turns + 1) })
		if err != nil || !strings.HasSuffix(h.finalText(), text) {
			return fmt.Errorf("chat %s: the answer to %q is %q: %w", k, text, h.finalText(), err)
		}
		return nil
	})
	if err != nil {
		g.t.Fatal(err)
	}
}
