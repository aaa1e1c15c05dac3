//go:build processes && upgrade

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
	"github.com/everturn/everturn/streams"
)

// mixed is a cluster whose parts are of several releases: the part kind-release
// is of that one, such as orchestrator-old.
type mixed struct {
	*cluster
	of     map[string]release
	server release
}

// startMixed starts a server of one release, with the streams as it sets them up.
func startMixed(t *testing.T, s settings, server release, others ...release) *mixed {
	t.Helper()
	m := &mixed{of: map[string]release{}, server: server}
	for _, r := range append(others, server) {
		m.of[r.name] = r
	}
	m.cluster = newCluster(t, s)
	m.programs = func(part string) string {
		if part == "server" {
			return m.server.dir
		}
		return m.of[releaseOf(part)].dir
	}
	m.startServer()
	m.insist(server, "streams", "apply")
	return m
}

// releaseOf is the release in the name of a part: kind-release, or, if there are
// several, kind-release-number.
func releaseOf(part string) string { return strings.Split(part, "-")[1] }

// everturnOf runs a command of a release's command line and gives what it printed.
func (m *mixed) everturnOf(r release, args ...string) string {
	m.t.Helper()
	out, err := m.tryEverturn(patient(m.t), r, args...)
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

// insist is everturnOf for what may be asked again: nobody may be there yet, or
// the whole machine stands still.
func (m *mixed) insist(r release, args ...string) string {
	m.t.Helper()
	ctx := patient(m.t)
	for {
		out, err := m.tryEverturn(ctx, r, args...)
		if err == nil {
			return out
		}
		select {
		case <-ctx.Done():
			m.t.Fatal(err)
		case <-time.After(poll):
		}
	}
}

func (m *mixed) tryEverturn(ctx context.Context, r release, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(r.dir, "everturn"), args...)
	cmd.Env = append(os.Environ(), "NATS_URL="+m.url)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s everturn %s: %w\n%s%s", r.name, strings.Join(args, " "), err, out, failure.Bytes())
	}
	return string(out), nil
}

// startAll starts parts by their names.
func (m *mixed) startAll(names ...string) {
	m.t.Helper()
	for _, name := range names {
		m.restart(name)
	}
}

// replace stops a part in order, as an upgrade does, and starts another.
func (m *mixed) replace(name, by string) {
	m.t.Helper()
	m.end(name)
	m.restart(by)
}

// works waits until a part that has just been started has done something.
func (m *mixed) works(name string) {
	m.t.Helper()
	switch kind, _, _ := strings.Cut(name, "-"); kind {
	case "orchestrator":
		m.untilMetrics(name, "a commit", func(n numbers) bool { return n.of(commitsMade) > 0 })
	case "toolrunner":
		m.untilMetrics(name, "a result", func(n numbers) bool { return n.of(resultsSent) > 0 })
	case "projections": // the only ones
		m.headOf(m.client(), m.others[0], func(transcript.Head) bool { return true })
	}
}

// headOf asks again and again for the head of a chat until it is as wanted. The
// chat's log is not read.
func (m *mixed) headOf(cl *client.Client, k events.Key, wanted func(transcript.Head) bool) {
	m.t.Helper()
	ctx := patient(m.t)
	for {
		head, err := cl.Head(ctx, k.Chat)
		if err == nil && wanted(head) {
			return
		}
		select {
		case <-ctx.Done():
			m.t.Fatalf("chat %s: its head is %+v (%v)", k, head, err)
		case <-time.After(poll):
		}
	}
}

// end stops a part in order and waits until it is gone.
func (m *mixed) end(name string) {
	m.t.Helper()
	p := m.running[name]
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		m.t.Fatalf("stop %s: %v", name, err)
	}
	select {
	case <-p.done:
	case <-patient(m.t).Done():
		m.t.Fatalf("%s does not stop", name)
	}
	delete(m.running, name)
}

// talk is many chats in which somebody speaks, turn after turn.
type talk struct {
	keys  []events.Key
	turns atomic.Int64 // that have ended
	over  chan struct{}
	ended chan error
}

// talk begins in so many chats. Each ends after so many turns, or with 0 when
// the talk is told to.
func (m *mixed) talk(ctx context.Context, chats, turns int) *talk {
	m.t.Helper()
	cl, r, ends := m.client(), m.reader(), m.turnEnds()
	l := &talk{keys: make([]events.Key, chats), over: make(chan struct{}), ended: make(chan error, 1)}
	for n := range l.keys {
		l.keys[n] = cl.Key(client.NewID())
		if _, err := cl.Command(ctx, l.keys[n].Chat, protocol.Create{V: protocol.Version}); err != nil {
			m.t.Fatal(err)
		}
	}
	one := func(n int) error {
		k := l.keys[n]
		for turn := 1; turns == 0 || turn <= turns; turn++ {
			select {
			case <-l.over:
				return nil
			default:
			}
			ended := ends.of(k)
			if err := speak(ctx, cl, k, fmt.Sprintf("chat %d turn %d", n, turn)); err != nil {
				return fmt.Errorf("chat %d turn %d: %w", n, turn, err)
			}
			if err := r.afterEnd(ctx, ended, k, turn); err != nil {
				return fmt.Errorf("chat %d turn %d: %w", n, turn, err)
			}
			l.turns.Add(1)
		}
		return nil
	}
	go func() { l.ended <- together(chats, one) }()
	return l
}

// speak says something in a chat. A server that has just been started listens
// before it has its streams: what it does not take then was not stored.
func speak(ctx context.Context, cl *client.Client, k events.Key, text string) error {
	for {
		_, err := cl.Command(ctx, k.Chat, protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(text)}})
		if !errors.Is(err, client.ErrNoStreams) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(poll):
		}
	}
}

// until waits until so many turns have ended.
func (m *mixed) until(ctx context.Context, l *talk, turns int) {
	m.t.Helper()
	for int(l.turns.Load()) < turns {
		select {
		case err := <-l.ended:
			l.ended <- err
			if err != nil || int(l.turns.Load()) < turns {
				m.t.Fatalf("the talk ended after %d turns: %v", l.turns.Load(), err)
			}
		case <-ctx.Done():
			m.t.Fatalf("waited in vain for turn %d of all; %d have ended", turns, l.turns.Load())
		case <-time.After(poll):
		}
	}
}

// finish waits until everybody has said what they wanted.
func (m *mixed) finish(l *talk) {
	m.t.Helper()
	close(l.over)
	if err := <-l.ended; err != nil {
		m.t.Fatal(err)
	}
}

// nothingIsWrong looks at the end of a test, when no turn is open, at all that
// was to hold. Of each release one projection must be startable.
func (m *mixed) nothingIsWrong(l *talk, releases ...release) {
	m.t.Helper()
	ctx := patient(m.t)
	for m.stored(streams.CommandsStream) > 0 { // the last may be decided, and not acknowledged yet
		select {
		case <-ctx.Done():
			m.t.Fatal("commands are stored that nobody takes")
		case <-time.After(poll):
		}
	}
	if n := m.stored(streams.DeadStream); n != 0 {
		m.t.Errorf("%d messages were set aside", n)
	}
	if n := m.everyMetric("orchestrator").of(faults); n != 0 {
		m.t.Errorf("%d faults", n)
	}
	m.check(m.reader(), l.keys)
	m.eachEffectOnce(l.keys)
	m.nothingSaidTwice(l)
	for _, r := range releases {
		m.t.Logf("verify of %s: %s", r.name, strings.TrimSpace(m.insist(r, "verify", "--idle")))
	}
	for name := range m.running {
		if strings.HasPrefix(name, "projections-") {
			m.end(name)
		}
	}
	var told [][]projections.Transcript
	for _, r := range releases {
		name := "projections-" + r.name
		m.startProjections(name)
		told = append(told, m.transcripts(r, l.keys))
		m.end(name)
	}
	for n := range told[1:] {
		if diff := cmp.Diff(told[0], told[n+1]); diff != "" {
			m.t.Errorf("%s and %s tell different transcripts (-%[1]s +%[2]s):\n%[3]s", releases[0].name, releases[n+1].name, diff)
		}
	}
}

// stored is how many messages a stream holds.
func (m *mixed) stored(stream string) uint64 {
	m.t.Helper()
	js, err := jetstream.New(m.connect())
	if err != nil {
		m.t.Fatal(err)
	}
	s, err := js.Stream(patient(m.t), stream)
	if err != nil {
		m.t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

// nothingSaidTwice fails unless each chat has each of its inputs once, in the
// order in which it was said, and as many turns.
func (m *mixed) nothingSaidTwice(l *talk) {
	m.t.Helper()
	r, turns := m.reader(), 0
	for n, k := range l.keys {
		h, err := r.read(patient(m.t), k)
		if err != nil {
			m.t.Fatal(err)
		}
		inputs := every[events.InputAccepted](h)
		for i, in := range inputs {
			if want := fmt.Sprintf("chat %d turn %d", n, i+1); in.Parts[0].Text != want {
				m.t.Errorf("chat %s: input %d is %q, want %q", k, i+1, in.Parts[0].Text, want)
			}
		}
		ended := len(every[events.TurnCompleted](h))
		if ended != len(inputs) {
			m.t.Errorf("chat %s: %d inputs and %d completed turns\n%s", k, len(inputs), ended, h)
		}
		turns += ended
	}
	if int(l.turns.Load()) != turns {
		m.t.Errorf("the logs have %d turns, want the %d that were seen to end", turns, l.turns.Load())
	}
}

// transcripts are the chats as the command line of a release shows them, when
// somebody answers it.
func (m *mixed) transcripts(r release, keys []events.Key) []projections.Transcript {
	m.t.Helper()
	var all []projections.Transcript
	for _, k := range keys {
		out := m.insist(r, "transcript", k.Chat, "--json")
		pages := json.NewDecoder(strings.NewReader(out))
		for {
			var page projections.Transcript
			err := pages.Decode(&page)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				m.t.Fatalf("transcript of %s: %v\n%s", k, err, out)
			}
			all = append(all, page)
		}
	}
	return all
}
