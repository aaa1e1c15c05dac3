package streams

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// What is erased is deleted message by message: only so does the server overwrite
// its bytes.

// Delete removes one commit of an erased chat and overwrites its bytes. One that is
// gone is no error.
func (l *Log) Delete(ctx context.Context, k events.Key, sequence uint64) error {
	subject, stream := l.place(k)
	m, err := l.c.leader(ctx, stream, get{Sequence: sequence})
	switch {
	case errors.Is(err, protocol.ErrNotFound):
		return nil
	case err != nil:
		return err
	case m.Subject != subject:
		return fmt.Errorf("delete message %d of %s: it belongs to %s, not to %s", sequence, stream, m.Subject, k)
	}
	return l.c.erase(ctx, stream, sequence)
}

// Of lists all content of a chat, sorted, whether or not anything refers to it. It
// looks through the names of all that is stored.
func (b *Blobs) Of(ctx context.Context, k events.Key) ([]events.Digest, error) {
	prefix := k.Tenant + "/" + k.Chat + "/"
	var found []events.Digest
	err := eachSubject(func(offset int) ([]string, int, error) {
		return b.c.subjects(ctx, blobsStream, blobSubjects, offset)
	}, func(subject string) {
		if hex, ok := strings.CutPrefix(blobName(subject), prefix); ok {
			found = append(found, events.HexDigest(hex))
		}
	})
	if err != nil {
		return nil, translate(err, "list the content of %s", k)
	}
	slices.Sort(found)
	return found, nil
}

// subjectsOverlap is how many subjects a page begins before the end of the one
// before it: so many may be deleted between the two without a step back.
const subjectsOverlap = 1000

// eachSubject calls on once with each of the subjects that page gives, which are all
// there are, in order, from an offset on, or as many as the server gives at once; and
// how many there are. Others may be deleted meanwhile, which moves those behind them
// to the front: one that is there from the beginning to the end is not missed.
func eachSubject(page func(offset int) ([]string, int, error), on func(subject string)) error {
	seen := "" // all up to this one were given
	for offset := 0; ; {
		subjects, total, err := page(offset)
		if err != nil {
			return err
		}
		slices.Sort(subjects)
		if offset > 0 && (len(subjects) == 0 || subjects[0] > seen) { // there may be some in between
			offset /= 2
			continue
		}
		for _, subject := range subjects {
			if subject > seen {
				on(subject)
				seen = subject
			}
		}
		if offset+len(subjects) >= total {
			return nil
		}
		offset += max(len(subjects)-subjectsOverlap, (len(subjects)+1)/2)
	}
}

// Delete removes content and overwrites its bytes. What is gone is no error. Its
// description goes last: until then the content is listed.
func (b *Blobs) Delete(ctx context.Context, k events.Key, d events.Digest) error {
	name := chatBlob(k, d)
	described, sequence, err := b.describe(ctx, name)
	if errors.Is(err, protocol.ErrNotFound) {
		return nil
	}
	if err == nil && described.NUID != "" {
		err = b.c.eraseAll(ctx, blobsStream, chunkSubject(described.NUID))
	}
	if err == nil {
		err = b.c.erase(ctx, blobsStream, sequence)
	}
	if err != nil {
		return fmt.Errorf("delete blob %s of %s: %w", d, k, err)
	}
	return nil
}

// Delete removes the chat's snapshots of every version. A bucket is not allowed to
// overwrite bytes: they are on the disk until the server writes their block anew.
func (s *Snapshots) Delete(ctx context.Context, k events.Key) error {
	filter := bucketSubject(SnapshotsBucket, protocol.Any+"."+k.Tenant+"."+k.Chat)
	return translate(s.c.purge(ctx, snapshotsStream, filter), "delete snapshots of %s", k)
}

// Delete removes all work of a chat, also what somebody has in hand, and overwrites
// its bytes.
func (w *Work) Delete(ctx context.Context, k events.Key) error {
	if err := w.c.eraseAll(ctx, WorkStream, protocol.WorkFilter(k)); err != nil {
		return fmt.Errorf("delete work of %s: %w", k, err)
	}
	return nil
}

// Delete removes everything that is kept of a chat, and overwrites its bytes.
func (d *Dead) Delete(ctx context.Context, k events.Key) error {
	if err := d.c.eraseAll(ctx, DeadStream, protocol.DeadSubject(k)); err != nil {
		return fmt.Errorf("delete what was set aside of %s: %w", k, err)
	}
	return nil
}

// blobSubjects is where the descriptions of all objects are.
const blobSubjects = "$O." + BlobsStore + ".M.*"

// blobName is the inverse of [blobSubject]; empty if it is none.
func blobName(subject string) string {
	name, err := base64.URLEncoding.DecodeString(subject[strings.LastIndexByte(subject, '.')+1:])
	if err != nil {
		return ""
	}
	return string(name)
}

// subjects gives some of the subjects of a stream that a filter names, from an
// offset on in their order, and how many there are.
func (c *connection) subjects(ctx context.Context, stream, filter string, offset int) (some []string, total int, err error) {
	var answer struct {
		apiAnswer
		Total int `json:"total"`
		State struct {
			Subjects map[string]uint64 `json:"subjects"`
		} `json:"state"`
	}
	err = c.api(ctx, "STREAM.INFO."+stream, struct {
		Filter string `json:"subjects_filter"`
		Offset int    `json:"offset"`
	}{filter, offset}, &answer)
	for subject := range answer.State.Subjects {
		some = append(some, subject)
	}
	return some, answer.Total, err
}
