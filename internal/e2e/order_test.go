//go:build processes

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

const (
	renames       = 1000
	renamers      = 8   // who rename at the same time
	renamesByKill = 300 // in effect when an orchestrator is killed
	renameTime    = 3 * time.Minute
)

// renamed is a rename as the server stored it.
type renamed struct {
	sequence uint64
	title    string
}

// Commands of one chat take effect in the order in which the server stored
// them, whoever of several orchestrators gets them, and each exactly once.
func TestRenamesTakeEffectInStoredOrder(t *testing.T) {
	t.Parallel()
	testRenames(t, 15*time.Second, func(*cluster, reader, events.Key) {})
}

// That one of them is killed in the middle, with commands in hand, changes
// nothing.
//
// Rule: S14.
func TestRenamesTakeEffectInStoredOrderAcrossAKill(t *testing.T) {
	t.Parallel()
	testRenames(t, time.Second, func(c *cluster, r reader, k events.Key) {
		r.untilRev(c.t, k, renamesByKill)
		c.kill("orchestrator-2")
		c.restart("orchestrator-2")
	})
}

func testRenames(t *testing.T, ackWait time.Duration, meanwhile func(c *cluster, r reader, k events.Key)) {
	t.Helper()
	c := startCluster(t, settings{ackWait: ackWait, script: quickTurn})
	for n := range 3 {
		c.startOrchestrator(fmt.Sprintf("orchestrator-%d", n+1))
	}
	c.startProjections("projections-1")
	cl, r := c.client(), c.reader()
	chat := client.NewID()
	if _, err := cl.Command(patient(t), chat, protocol.Create{V: protocol.Version}); err != nil {
		t.Fatal(err)
	}
	k := cl.Key(chat)

	began := time.Now()
	stored := make([][]renamed, renamers)
	js, err := jetstream.New(c.connect())
	if err != nil {
		t.Fatal(err)
	}
	published := make(chan error, 1)
	go func() {
		published <- together(renamers, func(n int) (err error) {
			stored[n], err = rename(t.Context(), js, k, n)
			return err
		})
	}()
	meanwhile(c, r, k)
	if err := <-published; err != nil {
		t.Fatal(err)
	}

	want := slices.SortedFunc(slices.Values(slices.Concat(stored...)), func(a, b renamed) int { return int(a.sequence) - int(b.sequence) })
	r.untilRev(t, k, renames+1)
	took := time.Since(began)
	h, err := r.read(patient(t), k)
	if err != nil {
		t.Fatal(err)
	}
	if got := titles(h); !slices.Equal(got, want) {
		t.Errorf("%d renames took effect, want %d; first difference at %d", len(got), len(want), difference(got, want))
	}
	sum := c.everyMetric("orchestrator")
	t.Logf("%d renames in %v: %.0f/s; decided for others %d; %s",
		renames, took.Round(time.Millisecond), renames/took.Seconds(), sum.of(commandsHelped), figures(sum))
	c.check(r, []events.Key{k})
}

// rename publishes one renamer's share, each as soon as the one before is stored.
func rename(ctx context.Context, js jetstream.JetStream, k events.Key, renamer int) ([]renamed, error) {
	var list []renamed
	for n := range renames / renamers {
		title := fmt.Sprintf("renamer %d title %d", renamer, n)
		body, err := json.Marshal(protocol.Rename{V: protocol.Version, Title: title})
		if err != nil {
			return nil, err
		}
		m := nats.NewMsg(protocol.CommandSubject(k, string(protocol.VerbRename)))
		m.Data = body
		m.Header.Set(protocol.HeaderID, client.NewID())
		ack, err := js.PublishMsg(ctx, m)
		if err != nil {
			return nil, err
		}
		list = append(list, renamed{sequence: ack.Sequence, title: title})
	}
	return list, nil
}

// titles are the renames of a history in the order in which they took effect.
func titles(h history) []renamed {
	var list []renamed
	for _, commit := range h.commits {
		for _, e := range commit.Events {
			if titled, ok := e.(events.ChatTitled); ok {
				list = append(list, renamed{sequence: commit.Cause.Sequence, title: titled.Title})
			}
		}
	}
	return list
}

// difference is the first place where two lists differ.
func difference(a, b []renamed) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// untilRev waits until the chat has as many commits.
func (r reader) untilRev(t *testing.T, k events.Key, rev uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), renameTime)
	defer cancel()
	for {
		last, err := r.log.Last(ctx, k)
		var commit events.Commit
		if err == nil {
			if commit, err = events.Decode(last.Body); err == nil && commit.Rev >= rev {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("chat %s: waited in vain for rev %d; it is at %d (%v)", k, rev, commit.Rev, err)
		case <-time.After(poll):
		}
	}
}
