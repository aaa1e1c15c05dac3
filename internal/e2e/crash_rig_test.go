//go:build processes && crashpoints

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/crash"
	"github.com/everturn/everturn/protocol"
)

// The processes that have points.
const (
	theOrchestrator = "orchestrator"
	theRunner       = "toolrunner"
)

const crashScript = `
rules:
  - when: {input: effect, step: 1}
    answer:
      - pause: 250ms
      - call: {name: append_ledger, arguments: '{"text": "{{input}}", "linger_ms": 250}'}
  - when: {input: effect}
    answer:
      - text: "The ledger said: {{result}}"
  - when: {input: again, step: 1}
    answer:
      - text: "A moment."
      - call: {name: wait, arguments: '{"ms": 250}'}
  - when: {input: again}
    answer:
      - text: "The clock said: {{result}}"
  - when: {input: retry}
    answer:
      - fail: {class: overloaded, message: "too much to do", times: 1}
      - text: "Here I am: {{input}}"
  - when: {input: delegate, step: 1}
    answer:
      - call: {name: delegate, arguments: '{"task": "a word"}'}
  - when: {input: delegate}
    answer:
      - text: "Somebody said: {{result}}"
  - when: {input: stop thinking}
    answer:
      - pause: 1h
  - when: {input: stop working}
    answer:
      - call: {name: wait, arguments: '{"ms": 60000}'}
  - answer:
      - text: "Yes."
`

// conversation is what is said in one chat.
type conversation struct {
	says      string
	interrupt events.Type // the event after which the turn is interrupted; empty: never
	claimed   bool        // and not before a runner has asked for the call, else it might never run
	inChild   bool        // the points are those of the chat that works for its first call
}

// where is the chat whose points count, of a conversation in that one.
func (c conversation) where(k events.Key) events.Key {
	if c.inChild {
		return protocol.ChildKey(k, events.CallID{Turn: 1, Step: 1, Ordinal: 1})
	}
	return k
}

var conversations = []conversation{
	{says: "effect"},
	{says: "again"},
	{says: "retry"},
	{says: "delegate"},
	{says: "delegate", inChild: true},
	{says: "stop thinking", interrupt: "step.requested.v1"},
	{says: "stop working", interrupt: "tool.requested.v1", claimed: true},
}

// anyChat stands for the name of a chat where that is of no interest.
const anyChat = "CHAT"

// outcome is what people, and later turns, see of a conversation.
type outcome struct {
	Ended events.Type
	Text  string
	Calls []callOutcome
}

type callOutcome struct {
	Tool   string
	Status events.ToolStatus
	Text   string
}

// outcome of the history, with the chat's own name taken out. Of a call that
// was cancelled the text tells who was the first to say so: its runner, or the
// timer that ends an interrupted turn. Both are right.
func (h history) outcome(k events.Key) outcome {
	o := outcome{Text: strings.ReplaceAll(h.finalText(), k.Chat, anyChat)}
	tools := map[events.CallID]string{}
	for _, e := range h.all() {
		switch e := e.(type) {
		case events.TurnCompleted, events.TurnFailed, events.TurnInterrupted:
			o.Ended = e.EventType()
		case events.ToolRequested:
			tools[e.Call] = e.Tool
		case events.ToolCompleted:
			c := callOutcome{Tool: tools[e.Call], Status: e.Status}
			for _, p := range e.Parts {
				if e.Status != events.ToolCancelled {
					c.Text += p.Text
				}
			}
			o.Calls = append(o.Calls, c)
		}
	}
	return o
}

// lostEffect reports whether nobody can know the outcome of a call: it had its
// licence, and no result, at the moment its runner died.
func (h history) lostEffect(killed time.Time) bool {
	started, settled := false, false
	for _, c := range h.commits {
		for _, e := range c.Events {
			switch e.(type) {
			case events.ToolStarted:
				started = started || !c.At.Time().After(killed)
			case events.ToolCompleted:
				settled = settled || !c.At.Time().After(killed)
			}
		}
	}
	return started && !settled
}

// times are when the commits were decided, seen from a moment.
func (h history) times(moment time.Time) string {
	var b strings.Builder
	b.WriteString("seconds from the kill:")
	for _, c := range h.commits {
		fmt.Fprintf(&b, " %.2f", c.At.Time().Sub(moment).Seconds())
	}
	return b.String()
}

// kill is one death: who dies, at which point, in which conversation.
type kill struct {
	victim string
	talk   conversation
	at     crash.Passing // of anyChat, or of none
	tries  int
}

// String names it for people.
func (k kill) String() string {
	where := ""
	if k.talk.inChild {
		where = ", in its child"
	}
	return fmt.Sprintf("%s, %q%s, %s", k.victim, k.talk.says, where, k.at)
}

// armed is a kill that a process was started for, and the chat it is for.
type armed struct {
	kill
	key events.Key
}

// crashRig is an installation of which one process at a time dies.
type crashRig struct {
	*cluster
	tagged string // where the binaries with points are
	nc     *nats.Conn
	cl     *client.Client
	read   reader
	keys   []events.Key
	deaths map[string]*armed // what each process was started for
}

func startCrashRig(t *testing.T, tagged string) *crashRig {
	t.Helper()
	r := &crashRig{cluster: startCluster(t, settings{ackWait: time.Second, script: crashScript}), tagged: tagged, deaths: map[string]*armed{}}
	r.run(theOrchestrator, nil)
	r.run(theRunner, nil)
	r.startProjections("projections-1")
	r.toolsOnOffer()
	r.nc, r.cl, r.read = r.connect(), r.client(), r.reader()
	return r
}

// run starts one of the processes, to die as asked, or not at all.
func (r *crashRig) run(name string, a *armed) {
	r.t.Helper()
	var environment []string
	if a != nil {
		environment = append(environment, crash.EnvAt+"="+a.at.String())
		if a.at.Chat != "" {
			environment = append(environment, crash.EnvChat+"="+a.talk.where(a.key).Chat)
		}
	}
	r.deaths[name] = a
	r.runWith(name, environment...)
}

// runWith starts one of the processes with variables in its environment.
func (r *crashRig) runWith(name string, environment ...string) {
	r.t.Helper()
	args := slices.Concat(environment, []string{filepath.Join(r.tagged, name), "--server", r.url, "--ack-wait", r.ackWait.String()})
	switch name {
	case theOrchestrator:
		args = append(args, "--script", r.script)
	case theRunner:
		args = append(args, "--ledger", r.ledger, "--workspace", r.dir)
	}
	r.launch(name, exec.Command("env", args...))
}

// newKey names a chat that does not exist yet.
func (r *crashRig) newKey() events.Key {
	k := r.cl.Key(client.NewID())
	r.keys = append(r.keys, k)
	return k
}

// talk holds the conversation and gives the log when its turn has ended.
func (r *crashRig) talk(ctx context.Context, k events.Key, c conversation) (history, error) {
	awaitClaim, err := r.claims(k, c)
	if err != nil {
		return history{}, err
	}
	if _, err := r.cl.Command(ctx, k.Chat, protocol.Create{V: protocol.Version, Settings: events.Settings{
		Tools: &[]string{"append_ledger", "wait", "delegate"},
	}}); err != nil {
		return history{}, fmt.Errorf("create: %w", err)
	}
	// The chat's name tells the points of the model whose they are.
	text := []events.Part{events.Text(c.says + ", " + k.Chat)}
	if _, err := r.cl.Command(ctx, k.Chat, protocol.Send{V: protocol.Version, Parts: text}); err != nil {
		return history{}, fmt.Errorf("send: %w", err)
	}
	if c.interrupt != "" {
		if h, err := r.read.wait(ctx, k, func(h history) bool { return h.has(c.interrupt) }); err != nil {
			return h, fmt.Errorf("wait for %s: %w", c.interrupt, err)
		}
		if err := awaitClaim(ctx); err != nil {
			return history{}, fmt.Errorf("wait for a claim: %w", err)
		}
		if _, err := r.cl.Command(ctx, k.Chat, protocol.Interrupt{V: protocol.Version, Turn: 1}); err != nil {
			return history{}, fmt.Errorf("interrupt: %w", err)
		}
	}
	h, err := r.read.wait(ctx, k, func(h history) bool { return h.ended(1) })
	if err != nil {
		return h, fmt.Errorf("wait for the end of the turn: %w", err)
	}
	return h, nil
}

// claims listens for the first claim of a call of the conversation, if that is of
// interest, and gives the function that waits for it.
func (r *crashRig) claims(k events.Key, c conversation) (await func(context.Context) error, err error) {
	if !c.claimed {
		return func(context.Context) error { return nil }, nil
	}
	claims, err := r.nc.SubscribeSync(protocol.ClaimSubject(k))
	if err == nil {
		err = claims.AutoUnsubscribe(1) // nobody is to think that it would be answered here
	}
	if err == nil {
		err = r.nc.Flush()
	}
	return func(ctx context.Context) error {
		_, err := claims.NextMsgWithContext(ctx)
		return err
	}, err
}

// has reports whether an event of the type has happened.
func (h history) has(t events.Type) bool {
	return slices.ContainsFunc(h.all(), func(e events.Event) bool { return e.EventType() == t })
}

// recordings of each conversation; a point counts if all of them passed it, as
// others depend on how fast the machine is.
const recordings = 3

// recorded is what undisturbed conversations are like.
type recorded struct {
	points   []kill
	outcomes map[string]outcome // by what was said
	fleeting []string           // points that not every recording passed
}

// record holds every conversation undisturbed.
func (r *crashRig) record() recorded {
	r.t.Helper()
	all := recorded{outcomes: map[string]outcome{}}
	common := map[kill]int{}
	var order []kill
	for n := range recordings {
		for _, c := range conversations {
			k := r.newKey()
			list := func(name string) string { return filepath.Join(r.dir, fmt.Sprint(name, "-", n, "-", k.Chat)) }
			for _, name := range []string{theOrchestrator, theRunner} {
				r.kill(name)
				r.runWith(name, crash.EnvList+"="+list(name), crash.EnvChat+"="+c.where(k).Chat)
			}
			h, err := r.talk(patient(r.t), k, c)
			if err != nil {
				r.t.Fatalf("%q, undisturbed: %v\n%s", c.says, err, h)
			}
			o := h.outcome(k)
			if before, known := all.outcomes[c.says]; known && !cmp.Equal(before, o) {
				r.t.Fatalf("%q ends in different ways, undisturbed: %+v, %+v", c.says, before, o)
			}
			all.outcomes[c.says] = o
			for _, name := range []string{theOrchestrator, theRunner} {
				for _, p := range r.listed(list(name), c.where(k)) {
					if p.Chat == "" && p.Nth > 1 && strings.HasSuffix(p.Point, " offer") {
						continue // how often an offer is made depends on who was there first
					}
					point := kill{victim: name, talk: c, at: p}
					if p.Chat != "" {
						point.at.Chat = anyChat
					} else {
						point.talk = conversations[0] // any will do
					}
					if common[point] == 0 {
						order = append(order, point)
					}
					common[point]++
				}
			}
		}
	}
	for _, p := range order {
		want := recordings
		if p.at.Chat == "" {
			want *= len(conversations) // each start of a process passes it
		}
		if common[p] < want {
			all.fleeting = append(all.fleeting, p.String())
			continue
		}
		all.points = append(all.points, p)
	}
	return all
}

// listed gives what a process passed for the chat or for none, when it passes no
// more: the last ones come after the end of the turn.
func (r *crashRig) listed(path string, k events.Key) []crash.Passing {
	r.t.Helper()
	ctx := patient(r.t)
	var list []crash.Passing
	for quiet := 0; quiet < 10; quiet++ {
		now, err := crash.ReadList(path)
		if err != nil {
			r.t.Fatal(err)
		}
		if len(now) != len(list) {
			list, quiet = now, 0
		}
		select {
		case <-ctx.Done():
			r.t.Fatal(ctx.Err())
		case <-time.After(poll):
		}
	}
	return slices.DeleteFunc(list, func(p crash.Passing) bool { return p.Chat != "" && p.Chat != k.Chat })
}
