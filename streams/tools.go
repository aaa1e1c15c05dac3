package streams

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

const toolsStream = bucketPrefix + ToolsBucket

// Tools is the registry of offered tools: manifests by content in BLOBS, and in
// the bucket TOOLS which one each group offers under each name. It implements
// the tools port of orchestrators.
type Tools struct {
	c      *connection
	blobs  *Blobs
	queues *workQueues
}

// toolEntry is the value of a key "<group>.<tool>".
type toolEntry struct {
	Digest events.Digest `json:"digest"`
	Runner string        `json:"runner"`
	At     events.Time   `json:"at"`
}

// Offer stores the manifest by content and enters it under its group and name.
// It also makes the queue from which the group's runners are served.
func (t *Tools) Offer(ctx context.Context, e protocol.ToolEntry) error {
	content, digest := e.Manifest.Encode()
	if digest != e.Digest {
		return fmt.Errorf("offer tool %s: its manifest has digest %s, not %s", e.Manifest.Name, digest, e.Digest)
	}
	if err := t.queues.ensureGroup(ctx, e.Manifest.Group); err != nil {
		return fmt.Errorf("offer tool %s: %w", e.Manifest.Name, err)
	}
	if err := t.blobs.put(ctx, manifestBlob(digest), content); err != nil {
		return fmt.Errorf("offer tool %s: manifest: %w", e.Manifest.Name, err)
	}
	body, err := json.Marshal(toolEntry{Digest: digest, Runner: e.Runner, At: e.At})
	if err != nil {
		return fmt.Errorf("offer tool %s: %w", e.Manifest.Name, err)
	}
	return translate(t.c.keep(ctx, toolSubject(e.Manifest.Group, e.Manifest.Name), body), "offer tool %s", e.Manifest.Name)
}

// toolSubject is where a group's tool of that name lies.
func toolSubject(group, name string) string { return bucketSubject(ToolsBucket, group+"."+name) }

// Forget takes a tool off the list. Its manifest stays, for turns that knew it. One that
// is not there is no error.
func (t *Tools) Forget(ctx context.Context, group, name string) error {
	return translate(t.c.forget(ctx, toolSubject(group, name)), "forget tool %s", name)
}

// Keep stores a manifest by content and offers nobody the tool.
func (t *Tools) Keep(ctx context.Context, m protocol.Manifest) error {
	content, digest := m.Encode()
	if err := t.blobs.put(ctx, manifestBlob(digest), content); err != nil {
		return fmt.Errorf("keep the manifest of tool %s: %w", m.Name, err)
	}
	return nil
}

// Manifest gives a manifest by its digest, also one that is offered no more.
func (t *Tools) Manifest(ctx context.Context, d events.Digest) (protocol.Manifest, error) {
	content, err := t.blobs.get(ctx, manifestBlob(d), d)
	if err != nil {
		return protocol.Manifest{}, fmt.Errorf("manifest %s: %w", d, err)
	}
	var m protocol.Manifest
	if err := json.Unmarshal(content, &m); err != nil {
		return protocol.Manifest{}, fmt.Errorf("manifest %s: %w", d, err)
	}
	return m, nil
}

// List gives all entries, sorted by name.
func (t *Tools) List(ctx context.Context) ([]protocol.ToolEntry, error) {
	return listed(ctx, t.follow)
}

// Watch calls on with all entries, sorted by name, first and after each change,
// until ctx ends or it may have missed one: then call it again.
func (t *Tools) Watch(ctx context.Context, on func([]protocol.ToolEntry)) error {
	return t.follow(ctx, func(all []protocol.ToolEntry) error {
		on(all)
		return nil
	})
}

// follow is Watch until on fails.
func (t *Tools) follow(ctx context.Context, on func([]protocol.ToolEntry) error) error {
	entries := map[string]protocol.ToolEntry{} // by subject
	take := func(m *nats.Msg, _ bool) error { return t.enter(ctx, entries, m) }
	return t.c.mirror(ctx, toolsStream, bucketSubject(ToolsBucket, ">"), take, func() error {
		return on(slices.SortedFunc(maps.Values(entries), byName))
	})
}

// enter changes entries as a message of the bucket says.
func (t *Tools) enter(ctx context.Context, entries map[string]protocol.ToolEntry, m *nats.Msg) error {
	if m.Header.Get(bucketOperation) != "" { // a person removed it
		delete(entries, m.Subject)
		return nil
	}
	var e toolEntry
	if err := json.Unmarshal(m.Data, &e); err != nil {
		return nil //nolint:nilerr // nobody can use it; the tool stays as it was
	}
	known := entries[m.Subject]
	if known.Digest != e.Digest {
		manifest, err := t.Manifest(ctx, e.Digest)
		if errors.Is(err, protocol.ErrNotFound) {
			return nil // likewise
		}
		if err != nil {
			return err
		}
		known.Manifest, known.Digest = manifest, e.Digest
	}
	known.Runner, known.At = e.Runner, e.At
	entries[m.Subject] = known
	return nil
}

// byName orders by name, then by group.
func byName(a, b protocol.ToolEntry) int {
	return cmp.Or(cmp.Compare(a.Manifest.Name, b.Manifest.Name), cmp.Compare(a.Manifest.Group, b.Manifest.Group))
}
