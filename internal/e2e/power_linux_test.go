//go:build processes

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// powerEvents is how many events are acknowledged before the power is cut.
const powerEvents = 10_000

// B53: the power of three servers is cut at once, then that of one, on disks that
// forget what was not synced. With the shipped configuration each event that was
// acknowledged is where it was, on every copy, and the chats go on behind it.
func TestPowerCutsTakeNothingThatWasAcknowledged(t *testing.T) {
	p := startPowered(t, "always")
	all := p.publish(powerEvents, p.cutAll)
	p.holds(all)

	one := p.leader(streams.LogStream(0))
	all = p.publish(powerEvents/lanes, func() { p.cut(one) })
	for shard := range p.reader().log.Shards() { // what the one has is what it tells when it leads
		for p.leader(streams.LogStream(shard)) != one {
			p.stepDown(streams.LogStream(shard))
		}
	}
	p.holds(all)
}

// B53: the same cut where the server syncs when it likes takes events that were
// acknowledged: so the disks do forget, and it is the configuration that holds
// them. Nothing is stored then behind a commit that is gone.
func TestPowerCutsTakeWhatIsNotSynced(t *testing.T) {
	p := startPowered(t, "2m")
	all := p.publish(powerEvents, p.cutAll)
	lost := 0
	for _, c := range all {
		known := c.told[len(c.told)-1].Sequence
		last, err := p.pen.Log.Last(patient(t), c.key)
		if err == nil && last.Sequence >= known {
			continue
		}
		lost++ // an error is fine: the whole stream may be gone
		sequence, err := p.pen.Log.Append(patient(t), protocol.Append{Key: c.key, Fence: known, Body: bodyOf(0, len(c.told))})
		if err == nil {
			t.Errorf("chat %s ends at %d, and appending behind %d stores message %d", c.key, last.Sequence, known, sequence)
		}
	}
	if lost == 0 {
		t.Errorf("of %d chats none has lost an event: the disks do not forget", len(all))
	}
	t.Logf("%d of %d chats have lost events", lost, len(all))
}

// powered is a cluster of three whose servers have a disk each.
type powered struct {
	*nodes
	disks map[string]*disk
	pen   *streams.Bus // writes
	chats []*written
}

// written is what one chat was told to have.
type written struct {
	key  events.Key
	told []protocol.Stored
}

// startPowered starts three servers with the shipped configuration, but for how
// they sync.
func startPowered(t *testing.T, sync string) *powered {
	t.Helper()
	p := &powered{nodes: prepareNodes(t, settings{}), disks: map[string]*disk{}}
	path := filepath.Join(p.etc, filepath.Base(shippedConfig))
	shipped := read(path)
	changed := strings.Replace(shipped, "sync_interval: always", "sync_interval: "+sync, 1)
	if !strings.Contains(changed, "sync_interval: "+sync) {
		t.Fatalf("the shipped configuration does not say how to sync:\n%s", shipped)
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, node := range p.list {
		p.disks[node.name] = newDisk(t, filepath.Join(p.dir, node.name))
	}
	p.launchAll()
	p.pen = p.writer(home)
	for lane := range lanes {
		p.chats = append(p.chats, &written{key: events.Key{Tenant: client.DefaultTenant, Chat: fmt.Sprintf("written-%d", lane)}})
	}
	return p
}

// cutAll cuts the power of all three at once, in the middle of their work.
func (p *powered) cutAll() {
	p.t.Helper()
	names := make([]string, 0, len(p.list))
	for _, node := range p.list {
		names = append(names, node.name)
	}
	p.cut(names...)
}

// cut cuts the power of servers, and waits until the cluster is well again.
func (p *powered) cut(names ...string) {
	p.t.Helper()
	for _, name := range names {
		p.kill(name)
	}
	for _, name := range names {
		p.disks[name].cut()
	}
	for _, node := range p.list {
		if _, runs := p.running[node.name]; !runs {
			p.launchNode(node)
		}
	}
	p.untilHealthy()
}

// publish appends events to all chats at once, each behind the one before it.
// When so many were acknowledged trouble comes, while it goes on; then it ends.
func (p *powered) publish(count int, trouble func()) []*written {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.t.Context(), raceTime)
	defer stop()
	var done atomic.Int64
	published := make(chan error, 1)
	go func() {
		published <- together(len(p.chats), func(i int) error {
			err := p.write(ctx, p.chats[i], &done)
			if err != nil {
				stop() // there is no use in going on
			}
			return err
		})
	}()
	began := time.Now()
	for done.Load() < int64(count) && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(poll):
		}
	}
	p.t.Logf("%d events in %v", done.Load(), time.Since(began).Round(time.Second))
	trouble()
	stop()
	if err := <-published; err != nil {
		p.t.Fatal(err)
	}
	return p.chats
}

// write appends to one chat until it is told to stop. An event whose answer did
// not come is there or not, which the next try finds out.
func (p *powered) write(ctx context.Context, c *written, done *atomic.Int64) error {
	for ctx.Err() == nil {
		a := protocol.Append{Key: c.key, Body: bodyOf(0, len(c.told))}
		if len(c.told) > 0 {
			a.Fence = c.told[len(c.told)-1].Sequence
		}
		sequence, err := p.pen.Log.Append(ctx, a)
		switch {
		case errors.Is(err, events.ErrConflict):
			last, err := p.pen.Log.Last(ctx, c.key)
			switch {
			case err != nil:
				continue // nobody can say now; the next try asks again
			case last.Sequence < a.Fence:
				return nil // what was acknowledged is gone: nothing is ever stored behind it
			case last.Sequence == a.Fence:
				continue // an earlier try was about to be stored, and was not
			case !bytes.Equal(last.Body, a.Body):
				return fmt.Errorf("chat %s, behind %d: %s is stored as message %d, want %s", c.key, a.Fence, last.Body, last.Sequence, a.Body)
			}
			sequence = last.Sequence
		case err != nil:
			select {
			case <-ctx.Done():
			case <-time.After(poll):
			}
			continue
		}
		c.told = append(c.told, protocol.Stored{Sequence: sequence, Body: a.Body})
		done.Add(1)
	}
	return nil
}

// holds reports what was acknowledged and is not there, or not the same.
func (p *powered) holds(all []*written) {
	p.t.Helper()
	for _, c := range all {
		read := 0
		for m, err := range p.pen.Log.Read(patient(p.t), c.key, 0, c.told[len(c.told)-1].Sequence) {
			switch {
			case err != nil:
				p.t.Fatal(err)
			case read >= len(c.told) || m.Sequence != c.told[read].Sequence || !bytes.Equal(m.Body, c.told[read].Body):
				p.t.Fatalf("chat %s: message %d is %s, which nobody was told at place %d", c.key, m.Sequence, m.Body, read)
			}
			read++
		}
		if read != len(c.told) {
			p.t.Errorf("chat %s: %d events were acknowledged, %d are there", c.key, len(c.told), read)
		}
	}
}
