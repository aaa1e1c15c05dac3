package streams

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

const (
	blobChunkBytes = 256 << 10

	// blobConflictPause is between two looks at a blob that somebody else is
	// storing at this moment.
	blobConflictPause = 5 * time.Millisecond
)

// Blobs keeps large content by its digest, in the object store BLOBS. Its form
// is that of the client library's object stores, so that their tools read it.
//
// A blob is never put over another, which would take the chunks away from
// under whoever reads them: the description is stored behind a fence, so of
// several who put the same content one does.
type Blobs struct{ c *connection }

// Put stores content unless it is there.
func (b *Blobs) Put(ctx context.Context, k events.Key, d events.Digest, content []byte) error {
	if err := b.put(ctx, chatBlob(k, d), content); err != nil {
		return fmt.Errorf("put blob %s of %s: %w", d, k, err)
	}
	return nil
}

// Get gives content that hashes to d, or [protocol.ErrNotFound], or an error
// that wraps [protocol.ErrDamaged].
func (b *Blobs) Get(ctx context.Context, k events.Key, d events.Digest) ([]byte, error) {
	content, err := b.get(ctx, chatBlob(k, d), d)
	if err != nil {
		return nil, fmt.Errorf("get blob %s of %s: %w", d, k, err)
	}
	return content, nil
}

func chatBlob(k events.Key, d events.Digest) string { return k.Tenant + "/" + k.Chat + "/" + d.Hex() }

func manifestBlob(d events.Digest) string { return "manifests/" + d.Hex() }

func blobSubject(name string) string {
	return "$O." + BlobsStore + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
}

func chunkSubject(nuid string) string { return "$O." + BlobsStore + ".C." + nuid }

const blobsStream = objectPrefix + BlobsStore

// describe gives the description of an object and its sequence.
func (b *Blobs) describe(ctx context.Context, name string) (jetstream.ObjectInfo, uint64, error) {
	m, err := b.c.leader(ctx, blobsStream, get{Last: blobSubject(name)})
	if err != nil {
		return jetstream.ObjectInfo{}, 0, err
	}
	var d jetstream.ObjectInfo
	if err := json.Unmarshal(m.Body, &d); err != nil {
		return jetstream.ObjectInfo{}, 0, fmt.Errorf("description: %w", err)
	}
	return d, m.Sequence, nil
}

// put stores content under a name that no other content ever has.
func (b *Blobs) put(ctx context.Context, name string, content []byte) error {
	for {
		d, fence, err := b.describe(ctx, name)
		if err == nil && !d.Deleted {
			return nil
		}
		if err != nil && !errors.Is(err, protocol.ErrNotFound) {
			return err
		}
		err = b.store(ctx, name, content, fence)
		if !conflict(err) {
			return translate(err, "store")
		}
		// Somebody else stores it, or has: look again.
		sleep(ctx, blobConflictPause)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// store writes the chunks and then, behind the fence, the description that
// makes them an object. What is known to belong to no object it removes again.
func (b *Blobs) store(ctx context.Context, name string, content []byte, fence uint64) error {
	id := nuid.Next()
	for start := 0; start < len(content); start += blobChunkBytes {
		chunk := content[start:min(start+blobChunkBytes, len(content))]
		if _, err := b.c.publish(ctx, &nats.Msg{Subject: chunkSubject(id), Data: chunk}); err != nil {
			b.purge(ctx, id)
			return err
		}
	}
	digest := sha256.New()
	digest.Write(content)
	body, err := json.Marshal(jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: blobChunkBytes}},
		Bucket:     BlobsStore,
		NUID:       id,
		Size:       uint64(len(content)),
		Chunks:     uint32((len(content) + blobChunkBytes - 1) / blobChunkBytes),
		Digest:     jetstream.GetObjectDigestValue(digest),
	})
	if err != nil {
		return err
	}
	_, err = b.c.publish(ctx, &nats.Msg{
		Subject: blobSubject(name),
		Header: nats.Header{
			fenceHeader:         {strconv.FormatUint(fence, 10)},
			jetstream.MsgRollup: {jetstream.MsgRollupSubject},
		},
		Data: body,
	})
	if codeOf(err) != 0 { // else it may be stored after all, and its chunks are needed
		b.purge(ctx, id)
	}
	return err
}

// purge removes chunks that belong to no object. What it fails to remove costs
// room only.
func (b *Blobs) purge(ctx context.Context, nuid string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.c.try)
	defer cancel()
	_ = b.c.purge(ctx, blobsStream, chunkSubject(nuid))
}

// purge deletes all messages of a stream that a filter names, without overwriting
// their bytes.
func (c *connection) purge(ctx context.Context, stream, filter string) error {
	var answer struct{ apiAnswer }
	return c.api(ctx, "STREAM.PURGE."+stream, struct {
		Filter string `json:"filter"`
	}{filter}, &answer)
}

// get reads an object and checks it against its digest.
func (b *Blobs) get(ctx context.Context, name string, want events.Digest) ([]byte, error) {
	d, _, err := b.describe(ctx, name)
	if err != nil {
		return nil, err
	}
	if d.Deleted {
		return nil, protocol.ErrNotFound
	}
	content := make([]byte, 0, d.Size)
	var sequence uint64
	for range d.Chunks {
		m, err := b.c.leader(ctx, blobsStream, get{Next: chunkSubject(d.NUID), Sequence: sequence + 1})
		if errors.Is(err, protocol.ErrNotFound) {
			break // the digest tells
		}
		if err != nil {
			return nil, err
		}
		content, sequence = append(content, m.Body...), m.Sequence
	}
	if got := events.DigestOf(content); got != want {
		return nil, fmt.Errorf("%w: %d of %d bytes are stored, with digest %s: restore %s from a backup",
			protocol.ErrDamaged, len(content), d.Size, got, blobsStream)
	}
	return content, nil
}
