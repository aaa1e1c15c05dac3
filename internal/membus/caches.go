package membus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

type attemptKey struct {
	key     events.Key
	step    events.StepID
	attempt int
}

// feed implements [orchestrator.Feed]. Deltas are published without waiting, so
// no gate is asked.
type feed struct{ p *Process }

func (f feed) Delta(_ context.Context, k events.Key, d protocol.Delta) error {
	if f.p.Killed() {
		return ErrKilled
	}
	s := f.p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	at := attemptKey{k, d.Step, d.Attempt}
	s.deltas[at] = append(s.deltas[at], d)
	return nil
}

func (f feed) Deltas(ctx context.Context, k events.Key, id events.StepID, attempt int) ([]protocol.Delta, error) {
	return step(ctx, f.p, Op{Kind: "feed.deltas", Subject: k.String(), Stage: StageRead}, func(Fate) ([]protocol.Delta, error) {
		return slices.Clone(f.p.server.deltas[attemptKey{k, id, attempt}]), nil
	})
}

type blobKey struct {
	key    events.Key
	digest events.Digest
}

// blobs implements [orchestrator.Blobs].
type blobs struct{ p *Process }

func (b blobs) Put(ctx context.Context, k events.Key, d events.Digest, content []byte) error {
	content = slices.Clone(content) // a late effect comes when the caller writes into it again
	_, err := step(ctx, b.p, Op{Kind: "blobs.put", Subject: string(d), Stage: StageWrite}, func(Fate) (struct{}, error) {
		if events.DigestOf(content) != d {
			return struct{}{}, errors.New("put blob: content does not have its digest")
		}
		b.p.server.blobs[blobKey{k, d}] = content
		return struct{}{}, nil
	})
	return err
}

func (b blobs) Get(ctx context.Context, k events.Key, d events.Digest) ([]byte, error) {
	return step(ctx, b.p, Op{Kind: "blobs.get", Subject: string(d), Stage: StageRead}, func(Fate) ([]byte, error) {
		content, ok := b.p.server.blobs[blobKey{k, d}]
		if !ok {
			return nil, fmt.Errorf("blob %s: %w", d, protocol.ErrNotFound)
		}
		return slices.Clone(content), nil
	})
}

func (b blobs) Of(ctx context.Context, k events.Key) ([]events.Digest, error) {
	return step(ctx, b.p, Op{Kind: "blobs.of", Subject: k.String(), Stage: StageRead}, func(Fate) ([]events.Digest, error) {
		return b.p.server.contents(k), nil
	})
}

func (b blobs) Delete(ctx context.Context, k events.Key, d events.Digest) error {
	_, err := step(ctx, b.p, Op{Kind: "blobs.delete", Subject: string(d), Stage: StageWrite}, func(Fate) (struct{}, error) {
		delete(b.p.server.blobs, blobKey{k, d})
		return struct{}{}, nil
	})
	return err
}

// Contents lists all stored content of a chat, sorted.
func (s *Server) Contents(k events.Key) []events.Digest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.contents(k)
}

func (s *Server) contents(k events.Key) []events.Digest {
	var found []events.Digest
	for at := range s.blobs {
		if at.key == k {
			found = append(found, at.digest)
		}
	}
	slices.Sort(found)
	return found
}

// Blob is stored content.
func (s *Server) Blob(k events.Key, d events.Digest) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, ok := s.blobs[blobKey{k, d}]
	if !ok {
		return nil, fmt.Errorf("blob %s: %w", d, protocol.ErrNotFound)
	}
	return slices.Clone(content), nil
}

// tools implements [orchestrator.Tools].
type tools struct{ p *Process }

func (t tools) Offer(ctx context.Context, e protocol.ToolEntry) error {
	name := e.Manifest.Group + "." + e.Manifest.Name
	_, err := step(ctx, t.p, Op{Kind: "tools.offer", Subject: name, Stage: StageWrite}, func(Fate) (struct{}, error) {
		s := t.p.server
		s.manifests[e.Digest] = e.Manifest
		s.tools[name] = e
		s.toolsAt++
		s.change()
		return struct{}{}, nil
	})
	return err
}

func (t tools) Keep(ctx context.Context, m protocol.Manifest) error {
	_, digest := m.Encode()
	_, err := step(ctx, t.p, Op{Kind: "tools.keep", Subject: m.Name, Stage: StageWrite}, func(Fate) (struct{}, error) {
		t.p.server.manifests[digest] = m
		t.p.server.change()
		return struct{}{}, nil
	})
	return err
}

func (t tools) Manifest(ctx context.Context, d events.Digest) (protocol.Manifest, error) {
	return step(ctx, t.p, Op{Kind: "tools.manifest", Subject: string(d), Stage: StageRead}, func(Fate) (protocol.Manifest, error) {
		m, ok := t.p.server.manifests[d]
		if !ok {
			return protocol.Manifest{}, fmt.Errorf("manifest %s: %w", d, protocol.ErrNotFound)
		}
		return m, nil
	})
}

func (t tools) Watch(ctx context.Context, on func([]protocol.ToolEntry)) error {
	s, told := t.p.server, -1
	op := Op{Kind: "tools.watch", Stage: StageRead, ready: func() bool { return told < s.toolsAt }}
	for {
		all, err := step(ctx, t.p, op, func(Fate) ([]protocol.ToolEntry, error) {
			told = s.toolsAt
			var all []protocol.ToolEntry
			for _, name := range slices.Sorted(maps.Keys(s.tools)) {
				all = append(all, s.tools[name])
			}
			return all, nil
		})
		if err != nil {
			return err
		}
		on(all)
	}
}

type snapshotKey struct {
	key     events.Key
	version int
}

// snapshots implements [orchestrator.Snapshots]. All that was ever put is kept:
// a gate may have an old one given back.
type snapshots struct{ p *Process }

func (n snapshots) Put(ctx context.Context, k events.Key, version int, content []byte) error {
	content = slices.Clone(content) // as above
	_, err := step(ctx, n.p, Op{Kind: "snapshots.put", Subject: k.String(), Stage: StageWrite}, func(Fate) (struct{}, error) {
		at := snapshotKey{k, version}
		n.p.server.snapshots[at] = append(n.p.server.snapshots[at], content)
		if seen := n.p.server.options.Observer.Snapped; seen != nil {
			seen(k, version)
		}
		return struct{}{}, nil
	})
	return err
}

func (n snapshots) Get(ctx context.Context, k events.Key, version int) ([]byte, error) {
	return step(ctx, n.p, Op{Kind: "snapshots.get", Subject: k.String(), Stage: StageRead}, func(f Fate) ([]byte, error) {
		all := n.p.server.snapshots[snapshotKey{k, version}]
		if len(all) == 0 {
			return nil, fmt.Errorf("snapshot of %s: %w", k, protocol.ErrNotFound)
		}
		return slices.Clone(all[len(all)-1-int(f.Draw%uint64(len(all)))]), nil
	})
}

func (n snapshots) Delete(ctx context.Context, k events.Key) error {
	_, err := step(ctx, n.p, Op{Kind: "snapshots.delete", Subject: k.String(), Stage: StageWrite}, func(Fate) (struct{}, error) {
		maps.DeleteFunc(n.p.server.snapshots, func(at snapshotKey, _ [][]byte) bool { return at.key == k })
		return struct{}{}, nil
	})
	return err
}

// EditSnapshot puts an edited copy of the newest snapshot on top of it, if there
// is one: what a reader may find who finds the wrong one.
func (s *Server) EditSnapshot(k events.Key, version int, edit func([]byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := snapshotKey{k, version}
	if all := s.snapshots[at]; len(all) > 0 {
		s.snapshots[at] = append(all, edit(slices.Clone(all[len(all)-1])))
	}
}

// DeadLetter is a message nobody could decide.
type DeadLetter struct {
	Key     events.Key
	Message protocol.Stored
	Command string
	Why     string
}

// dead implements [orchestrator.Dead].
type dead struct{ p *Process }

func (d dead) Put(ctx context.Context, k events.Key, m protocol.Stored, command, why string) error {
	_, err := step(ctx, d.p, Op{Kind: "dead.put", Subject: k.String(), Stage: StageWrite}, func(Fate) (struct{}, error) {
		d.p.server.dead = append(d.p.server.dead, DeadLetter{k, m, command, why})
		return struct{}{}, nil
	})
	return err
}

func (d dead) Note(ctx context.Context, k events.Key, command string) (int, error) {
	name := k.String() + "." + command
	return step(ctx, d.p, Op{Kind: "dead.note", Subject: name, Stage: StageWrite}, func(Fate) (int, error) {
		d.p.server.notes[name]++
		return d.p.server.notes[name], nil
	})
}

func (d dead) Forgive(ctx context.Context, k events.Key, command string) error {
	name := k.String() + "." + command
	_, err := step(ctx, d.p, Op{Kind: "dead.forgive", Subject: name, Stage: StageWrite}, func(Fate) (struct{}, error) {
		d.p.server.notes[name] = max(d.p.server.notes[name]-1, 0)
		return struct{}{}, nil
	})
	return err
}

func (d dead) Delete(ctx context.Context, k events.Key) error {
	_, err := step(ctx, d.p, Op{Kind: "dead.delete", Subject: k.String(), Stage: StageWrite}, func(Fate) (struct{}, error) {
		s := d.p.server
		s.dead = slices.DeleteFunc(slices.Clone(s.dead), func(l DeadLetter) bool { return l.Key == k })
		maps.DeleteFunc(s.notes, func(name string, _ int) bool { return strings.HasPrefix(name, k.String()+".") })
		return struct{}{}, nil
	})
	return err
}

// Dead are the messages that were set aside.
func (s *Server) Dead() []DeadLetter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.dead)
}
