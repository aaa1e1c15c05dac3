package bustest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/google/go-cmp/cmp"
)

// Feed is the suite of [orchestrator.Feed].
func Feed(t *testing.T, r Rig) {
	rules(t, r, []rule{
		{"an attempt's deltas are kept for a while, in order, apart from others", func(b *bench) {
			k := b.key("a")
			step := events.StepID{Turn: 1, Step: 1}
			var want []protocol.Delta
			for i := range 5 {
				d := protocol.Delta{Turn: 1, Step: step, Attempt: 2, I: i, Kind: "text", Text: string(rune('a' + i))}
				b.must(b.Feed.Delta(b.ctx, k, d))
				want = append(want, d)
				d.Attempt = 1
				b.must(b.Feed.Delta(b.ctx, k, d))
				d.Attempt, d.Step.Step = 2, 2
				b.must(b.Feed.Delta(b.ctx, k, d))
				d.Step = step
				b.must(b.Feed.Delta(b.ctx, b.key("b"), d))
			}
			var got []protocol.Delta
			b.eventually("all deltas are there", func() bool {
				var err error
				got, err = b.Other.Feed.Deltas(b.ctx, k, step, 2)
				b.must(err)
				return len(got) >= len(want)
			})
			if diff := cmp.Diff(want, got); diff != "" {
				b.Errorf("deltas (-want +got):\n%s", diff)
			}
		}},
		{"an attempt without deltas has none", func(b *bench) {
			got, err := b.Feed.Deltas(b.ctx, b.key("a"), events.StepID{Turn: 1, Step: 1}, 1)
			b.must(err)
			if len(got) != 0 {
				b.Errorf("got %v", got)
			}
		}},
	})
}

// Blobs is the suite of [orchestrator.Blobs].
func Blobs(t *testing.T, r Rig) {
	rules(t, r, []rule{
		{"content is found by its digest, in every process", func(b *bench) {
			k := b.key("a")
			for _, size := range []int{0, 1, 100_000, 3_000_000} {
				content := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
				d := events.DigestOf(content)
				b.must(b.Blobs.Put(b.ctx, k, d, content))
				b.must(b.Other.Blobs.Put(b.ctx, k, d, content)) // is there
				got, err := b.Other.Blobs.Get(b.ctx, k, d)
				b.must(err)
				if !bytes.Equal(got, content) {
					b.Errorf("%d bytes came back as %d others", size, len(got))
				}
			}
		}},
		{"what is not stored is not found", func(b *bench) {
			_, err := b.Blobs.Get(b.ctx, b.key("a"), events.DigestOf([]byte("missing")))
			b.want(err, protocol.ErrNotFound)
		}},
		{"a chat's content is listed, and deleted apart from all other", func(b *bench) {
			k, other := b.key("a"), b.key("ab")
			var want []events.Digest
			for _, size := range []int{0, 1, 700_000} {
				content := bytes.Repeat([]byte("x"), size)
				d := events.DigestOf(content)
				b.must(b.Blobs.Put(b.ctx, k, d, content))
				b.must(b.Blobs.Put(b.ctx, other, d, content))
				want = append(want, d)
			}
			slices.Sort(want)
			for i, d := range want {
				got, err := b.Other.Blobs.Of(b.ctx, k)
				b.must(err)
				if diff := cmp.Diff(want[i:], got); diff != "" {
					b.Errorf("content (-want +got):\n%s", diff)
				}
				for range 2 { // again does no harm
					b.must(b.Blobs.Delete(b.ctx, k, d))
				}
				_, err = b.Other.Blobs.Get(b.ctx, k, d)
				b.want(err, protocol.ErrNotFound)
			}
			if got, err := b.Blobs.Of(b.ctx, k); err != nil || len(got) > 0 {
				b.Errorf("left is %v (%v)", got, err)
			}
			for _, d := range want {
				_, err := b.Other.Blobs.Get(b.ctx, other, d)
				b.must(err)
			}
		}},
		{"a chat's content is not another's", func(b *bench) {
			content := []byte("mine")
			d := events.DigestOf(content)
			b.must(b.Blobs.Put(b.ctx, b.key("a"), d, content))
			_, err := b.Blobs.Get(b.ctx, b.key("b"), d)
			b.want(err, protocol.ErrNotFound)
		}},
	})
}

// Tools is the suite of [orchestrator.Tools].
func Tools(t *testing.T, r Rig) {
	rules(t, r, []rule{
		{"a manifest nobody offered is not found", func(b *bench) {
			_, err := b.Tools.Manifest(b.ctx, events.DigestOf([]byte("missing")))
			b.want(err, protocol.ErrNotFound)
		}},
		{"a manifest that is kept is found by all, and its tool is not on offer", func(b *bench) {
			b.must(b.Tools.Offer(b.ctx, entry("apple", "r1")))
			kept := manifest("zebra")
			_, digest := kept.Encode()
			for range 2 { // every process keeps what it knows, whenever it starts
				b.must(b.Tools.Keep(b.ctx, kept))
			}
			m, err := b.Other.Tools.Manifest(b.ctx, digest)
			b.must(err)
			if diff := cmp.Diff(kept, m); diff != "" {
				b.Errorf("manifest (-want +got):\n%s", diff)
			}
			told := make(chan []protocol.ToolEntry, 1)
			b.background(func(ctx context.Context) error {
				return b.Other.Tools.Watch(ctx, func(all []protocol.ToolEntry) {
					select {
					case told <- slices.Clone(all):
					default: // the first list is the one
					}
				})
			})
			if diff := cmp.Diff([]protocol.ToolEntry{entry("apple", "r1")}, <-told); diff != "" {
				b.Errorf("entries (-want +got):\n%s", diff)
			}
		}},
		{"offered tools are watched by all, sorted, and a new manifest replaces the old", func(b *bench) {
			b.must(b.Tools.Offer(b.ctx, entry("zebra", "r1")))
			b.must(b.Tools.Offer(b.ctx, entry("apple", "r1")))
			var (
				mu   sync.Mutex
				last []protocol.ToolEntry
			)
			b.background(func(ctx context.Context) error {
				return b.Other.Tools.Watch(ctx, func(all []protocol.ToolEntry) {
					mu.Lock()
					defer mu.Unlock()
					last = slices.Clone(all)
				})
			})
			var got []protocol.ToolEntry
			wait := func(what string, holds func() bool) {
				b.Helper()
				b.eventually(what, func() bool {
					mu.Lock()
					defer mu.Unlock()
					got = last
					return holds()
				})
			}
			wait("both entries are told", func() bool { return len(got) == 2 })
			if diff := cmp.Diff([]protocol.ToolEntry{entry("apple", "r1"), entry("zebra", "r1")}, got); diff != "" {
				b.Errorf("entries (-want +got):\n%s", diff)
			}
			old := entry("apple", "r1")
			changed := entry("apple", "r2")
			changed.Manifest.Description = "greener"
			_, changed.Digest = changed.Manifest.Encode()
			b.must(b.Tools.Offer(b.ctx, changed))
			wait("the change is told", func() bool { return len(got) == 2 && got[0].Digest == changed.Digest })
			if diff := cmp.Diff(changed, got[0]); diff != "" {
				b.Errorf("entry (-want +got):\n%s", diff)
			}
			for _, e := range []protocol.ToolEntry{old, changed} { // a turn may still run with the old one
				m, err := b.Other.Tools.Manifest(b.ctx, e.Digest)
				b.must(err)
				if diff := cmp.Diff(e.Manifest, m); diff != "" {
					b.Errorf("manifest (-want +got):\n%s", diff)
				}
			}
		}},
	})
}

func manifest(name string) protocol.Manifest {
	return protocol.Manifest{Name: name, Description: "a fruit or an animal", Schema: []byte(`{"type":"object"}`), Group: group}
}

func entry(name, runner string) protocol.ToolEntry {
	m := manifest(name)
	_, d := m.Encode()
	return protocol.ToolEntry{Manifest: m, Digest: d, Runner: runner, At: 1_790_000_000_123}
}

// Snapshots is the suite of [orchestrator.Snapshots].
func Snapshots(t *testing.T, r Rig) {
	rules(t, r, []rule{
		{"the newest is given back under its version", func(b *bench) {
			k := b.key("a")
			_, err := b.Snapshots.Get(b.ctx, k, 1)
			b.want(err, protocol.ErrNotFound)
			b.must(b.Snapshots.Put(b.ctx, k, 1, []byte("old")))
			b.must(b.Snapshots.Put(b.ctx, k, 1, []byte("new")))
			b.must(b.Snapshots.Put(b.ctx, k, 2, []byte("other form")))
			for version, want := range map[int]string{1: "new", 2: "other form"} {
				b.eventually("the snapshot is given back", func() bool { // a cache: it may be behind for a moment
					got, err := b.Other.Snapshots.Get(b.ctx, k, version)
					return err == nil && string(got) == want
				})
			}
			_, err = b.Snapshots.Get(b.ctx, b.key("b"), 1)
			b.want(err, protocol.ErrNotFound)
		}},
		{"a chat's are deleted in every version, and no other's", func(b *bench) {
			k, other := b.key("a"), b.key("ab")
			for version := range 3 {
				b.must(b.Snapshots.Put(b.ctx, k, version, []byte("of a")))
			}
			b.must(b.Snapshots.Put(b.ctx, other, 1, []byte("of ab")))
			for range 2 { // again does no harm
				b.must(b.Snapshots.Delete(b.ctx, k))
			}
			for version := range 3 {
				b.eventually("the snapshot is gone", func() bool {
					_, err := b.Other.Snapshots.Get(b.ctx, k, version)
					return errors.Is(err, protocol.ErrNotFound)
				})
			}
			_, err := b.Snapshots.Get(b.ctx, other, 1)
			b.must(err)
		}},
	})
}

// Dead is the suite of [orchestrator.Dead].
func Dead(t *testing.T, r Rig) {
	rules(t, r, []rule{
		{"tries are counted for each command, whoever notes them", func(b *bench) {
			k := b.key("a")
			for i, port := range []interface {
				Note(ctx context.Context, k events.Key, command string) (int, error)
			}{b.Dead, b.Other.Dead, b.Dead} {
				n, err := port.Note(b.ctx, k, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
				b.must(err)
				if n != i+1 {
					b.Errorf("note %d says %d", i+1, n)
				}
			}
			n, err := b.Other.Dead.Note(b.ctx, k, "01ARZ3NDEKTSV4RRFFQ69G5FAX")
			b.must(err)
			if n != 1 {
				b.Errorf("the first note of another command says %d", n)
			}
		}},
		{"what is kept of a chat is deleted", func(b *bench) {
			k, other := b.key("a"), b.key("ab")
			const command = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
			for _, of := range []events.Key{k, other} {
				_, err := b.Dead.Note(b.ctx, of, command)
				b.must(err)
				b.must(b.Dead.Put(b.ctx, of, protocol.Stored{Subject: protocol.CommandSubject(of, "send"), Body: []byte("{")}, command, "why"))
			}
			for range 2 { // again does no harm
				b.must(b.Other.Dead.Delete(b.ctx, k))
			}
			for of, want := range map[events.Key]int{k: 1, other: 2} {
				n, err := b.Dead.Note(b.ctx, of, command)
				b.must(err)
				if n != want {
					b.Errorf("a note of %s says %d, want %d", of, n, want)
				}
			}
		}},
		{"a try that is forgiven does not count", func(b *bench) {
			k := b.key("a")
			const command = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
			b.must(b.Dead.Forgive(b.ctx, k, command)) // there is none
			for _, want := range []int{1, 2} {
				n, err := b.Dead.Note(b.ctx, k, command)
				b.must(err)
				if n != want {
					b.Errorf("a note says %d, want %d", n, want)
				}
			}
			b.must(b.Other.Dead.Forgive(b.ctx, k, command))
			n, err := b.Dead.Note(b.ctx, k, command)
			b.must(err)
			if n != 2 {
				b.Errorf("the note after a forgiven one says %d, want 2", n)
			}
		}},
		{"a message is kept", func(b *bench) {
			k := b.key("a")
			m := protocol.Stored{
				Subject: protocol.CommandSubject(k, "send"), Sequence: 9, Body: []byte("{"),
				Header: map[string][]string{protocol.HeaderBy: {"user:ann"}},
			}
			b.must(b.Dead.Put(b.ctx, k, m, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "panicked three times"))
		}},
	})
}

// Runner is the suite of what is left of the tool runner's bus.
func Runner(t *testing.T, r Rig) {
	rules(t, r, []rule{
		{"progress is sent without waiting", func(b *bench) {
			runner := b.Rig.Runner(group)
			b.must(runner.Progress(b.ctx, b.key("a"), protocol.Progress{Call: events.CallID{Turn: 1, Step: 1, Ordinal: 1}, Text: "half"}))
		}},
		{"a fetch gives up with its context", func(b *bench) {
			ctx, cancel := context.WithCancel(b.ctx)
			cancel()
			_, err := b.Rig.Runner(group).Fetch(ctx, group, 1)
			b.want(err, context.Canceled)
		}},
	})
}
