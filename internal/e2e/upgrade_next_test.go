//go:build processes && upgrade

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
	"github.com/everturn/everturn/streams"
)

const leftToANewer = "everturn_orchestrator_versions_total"

// The release to come writes an event that the one before does not know, and
// snapshots of another form. Rolled back, the older one leaves that chat alone
// and goes on with all others; the newer one takes it up again.
func TestUpgradeAChatOfTheNextReleaseWaitsForIt(t *testing.T) {
	t.Parallel()
	for _, before := range []release{previous(t), today()} {
		t.Run("before it "+before.name, func(t *testing.T) {
			after := next(t)
			m := startMixed(t, settings{ackWait: time.Second, script: quickTurn}, before, after)
			newer, older := "orchestrator-"+after.name, "orchestrator-"+before.name
			m.startAll(newer, "toolrunner-"+before.name, "projections-"+after.name)
			m.toolsOnOffer()
			cl, r := m.client(), m.reader()

			both := ask(t, cl, "one")
			r.until(t, both, "the end of its turn", func(h history) bool { return h.ended(1) })
			theirs := ask(t, cl, "one")
			h := r.until(t, theirs, "the end of its turn", func(h history) bool { return h.ended(1) })
			if _, err := cl.Command(patient(t), theirs.Chat, protocol.Archive{V: protocol.Version}); err != nil {
				t.Fatal(err)
			}
			last, err := r.log.Last(patient(t), theirs)
			if err != nil {
				t.Fatal(err)
			}
			if types := last.Get(protocol.HeaderTypes); types != futureArchived {
				t.Fatalf("commit %d holds %s, want the event that only the next release knows", len(h.commits)+1, types)
			}
			m.untilSnapshot(both, after.form)

			// Rolled back.
			m.replace(newer, older)
			waiting := make(chan error, 1)
			go func() {
				_, err := cl.Command(patient(t), theirs.Chat, protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text("two")}})
				waiting <- err
			}()
			m.untilMetrics(older, "messages left to a newer release", func(n numbers) bool { return n.of(leftToANewer) > 2 })
			say(t, cl, both.Chat, "two")
			r.until(t, both, "the end of its second turn", func(h history) bool { return h.ended(2) })
			m.untilSnapshot(both, before.form)
			if now, err := r.log.Last(patient(t), theirs); err != nil || now.Sequence != last.Sequence {
				t.Errorf("its last commit was %d and is %d (%v)", last.Sequence, now.Sequence, err)
			}
			if n := m.untilMetrics(older, "its metrics", always).of(faults); n != 0 {
				t.Errorf("%d faults", n)
			}
			if n := m.stored(streams.DeadStream); n != 0 {
				t.Errorf("%d messages were set aside", n)
			}

			// Forth again; both are there.
			m.restart(newer)
			if err := <-waiting; err != nil {
				t.Fatalf("the command that waited: %v", err)
			}
			m.headOf(cl, theirs, func(h transcript.Head) bool { return h.Status == transcript.StatusIdle })
			say(t, cl, both.Chat, "three")
			r.until(t, both, "the end of its third turn", func(h history) bool { return h.ended(3) })
			m.eachEffectOnce([]events.Key{both})
			t.Logf("verify of %s: %s", after.name, m.insist(after, "verify"))
			m.insist(before, "verify", both.Chat)
		})
	}
}

// untilSnapshot waits until there is one of that form.
func (m *mixed) untilSnapshot(k events.Key, version int) {
	m.t.Helper()
	js, err := jetstream.New(m.connect())
	if err != nil {
		m.t.Fatal(err)
	}
	ctx := patient(m.t)
	bucket, err := js.KeyValue(ctx, streams.SnapshotsBucket)
	if err != nil {
		m.t.Fatal(err)
	}
	for {
		if _, err := bucket.Get(ctx, streams.SnapshotKey(k, version)); err == nil {
			return
		}
		select {
		case <-ctx.Done():
			m.t.Fatalf("no snapshot of form %d", version)
		case <-time.After(poll):
		}
	}
}

// heldTurn is a turn with a call, or one that lasts until it is interrupted.
const heldTurn = `
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

// A command line of one release works with an installation of the other.
func TestUpgradeACommandLineOfTheOtherRelease(t *testing.T) {
	t.Parallel()
	old, now := previous(t), today()
	for _, tt := range []struct{ parts, hand release }{{now, old}, {old, now}} {
		t.Run(fmt.Sprintf("%s client, %s server", tt.hand.name, tt.parts.name), func(t *testing.T) {
			m := startMixed(t, settings{ackWait: time.Second, script: heldTurn}, tt.parts, tt.hand)
			m.startAll("orchestrator-"+tt.parts.name, "toolrunner-"+tt.parts.name, "projections-"+tt.parts.name)
			m.toolsOnOffer()
			r, k := m.reader(), events.Key{Tenant: client.DefaultTenant, Chat: "oslo"}

			m.everturnOf(tt.hand, "send", "--chat", k.Chat, "What time is it?")
			m.shows(tt.hand, "Noted: What time is it?", "tail", k.Chat, "--until-idle")
			for _, what := range []string{"append_ledger", "Noted: What time is it?", "turn 1 completed"} {
				m.shows(tt.hand, what, "transcript", k.Chat)
			}
			m.everturnOf(tt.hand, "send", "--chat", k.Chat, "hold")
			m.everturnOf(tt.hand, "interrupt", k.Chat)
			h := r.until(t, k, "the end of the second turn", func(h history) bool { return h.ended(2) })
			if n := len(every[events.TurnInterrupted](h)); n != 1 {
				t.Errorf("%d turns were interrupted, want one\n%s", n, h)
			}
			m.everturnOf(tt.hand, "send", "--chat", k.Chat, "And now?")
			m.shows(tt.hand, "Noted: And now?", "tail", k.Chat, "--until-idle")
			m.shows(tt.hand, "Noted: And now?", "transcript", k.Chat)
			m.shows(tt.hand, "turn.interrupted.v1", "log", k.Chat)
			m.shows(tt.hand, "no rule broken", "verify", k.Chat)
			m.shows(tt.hand, "", "replay", k.Chat)
			m.check(r, []events.Key{k})
		})
	}
}

// shows fails unless what a command prints contains the words.
func (m *mixed) shows(r release, words string, args ...string) {
	m.t.Helper()
	if out := m.insist(r, args...); !strings.Contains(out, words) {
		m.t.Errorf("%s %v does not show %q:\n%s", r.name, args, words, out)
	}
}
