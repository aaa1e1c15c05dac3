package streams

import (
	"context"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

const snapshotsStream = bucketPrefix + SnapshotsBucket

// Snapshots is a cache of folded states in the bucket SNAPSHOTS. It implements
// the snapshots port of orchestrators.
type Snapshots struct{ c *connection }

// SnapshotKey is where [SnapshotsBucket] keeps the chat's snapshot of that version
// of its form.
func SnapshotKey(k events.Key, version int) string {
	return strconv.Itoa(version) + "." + k.Tenant + "." + k.Chat
}

func snapshotSubject(k events.Key, version int) string {
	return bucketSubject(SnapshotsBucket, SnapshotKey(k, version))
}

// bucketSubject is where a bucket keeps a key.
func bucketSubject(bucket, key string) string { return "$KV." + bucket + "." + key }

// Put stores the chat's snapshot under the version of its form.
func (s *Snapshots) Put(ctx context.Context, k events.Key, version int, content []byte) error {
	_, err := s.c.publish(ctx, &nats.Msg{Subject: s.c.bucketWrite(snapshotSubject(k, version)), Data: content})
	return translate(err, "put snapshot of %s", k)
}

// Get gives it back, or [protocol.ErrNotFound].
//
// Any replica answers: an older snapshot is as true as a newer one, only the
// tail to be read is longer.
func (s *Snapshots) Get(ctx context.Context, k events.Key, version int) ([]byte, error) {
	subject := snapshotSubject(k, version)
	m, err := s.c.request(ctx, &nats.Msg{Subject: s.c.prefix + "DIRECT.GET." + snapshotsStream + "." + subject})
	if err != nil {
		return nil, translate(err, "get snapshot of %s", k)
	}
	switch status := m.Header.Get(statusHeader); {
	case m.Header.Get(batchSubject) == "" && status != "" && status != statusNone:
		return nil, fmt.Errorf("get snapshot of %s: the server answers with status %s", k, status)
	case m.Header.Get(batchSubject) == "", m.Header.Get(bucketOperation) != "": // none, or deleted
		return nil, fmt.Errorf("get snapshot of %s: %w", k, protocol.ErrNotFound)
	}
	return m.Data, nil
}
