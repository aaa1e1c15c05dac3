package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/picture"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// What a model is shown of a chat's images: providers refuse a request that has
// more. The newest come first.
const (
	maxShownImages = 100
	maxShownBytes  = 20 << 20 // of images, before they are encoded for the wire
)

// unfit looks at the content that a command names, and says why some of it does not
// do. It is looked at before the command is decided, as a model that cannot be shown
// what is in a chat fails again with every later turn.
func (o *Orchestrator) unfit(ctx context.Context, k events.Key, c chat.Command, p patience) (map[events.Digest]string, error) {
	attached := chat.Attached(c.Body)
	if len(attached) == 0 {
		return nil, nil //nolint:nilnil // nothing is unfit
	}
	if !p.until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, p.until)
		defer cancel()
	}
	unfit := make(map[events.Digest]string)
	for _, part := range attached {
		content, err := o.blob(ctx, k, part.Blob)
		var why string
		switch {
		case errors.Is(err, protocol.ErrNotFound):
			why = fmt.Sprintf("%s was not uploaded to this chat: upload it, then send again", part.Blob)
		case errors.Is(err, protocol.ErrDamaged):
			why = fmt.Sprintf("%s is damaged where it is stored: it has to be restored from a backup", part.Blob)
		case err != nil:
			return nil, fmt.Errorf("look at what is attached: %w", err)
		default:
			why = mismatch(part, content)
		}
		if why != "" {
			unfit[part.Blob] = why
		}
	}
	return unfit, nil
}

// mismatch says in what content is not what its part says, or nothing.
func mismatch(p events.Part, content []byte) string {
	if int64(len(content)) != p.Bytes {
		return fmt.Sprintf("bytes: %d, and %d were uploaded", p.Bytes, len(content))
	}
	if p.Type != events.PartImage {
		return ""
	}
	seen, err := picture.Look(content)
	switch {
	case err != nil:
		return fmt.Sprintf("%v: send another image, or this as a file", err)
	case seen.MediaType != p.MediaType:
		return fmt.Sprintf("media_type %q, and what was uploaded is %s", p.MediaType, seen.MediaType)
	}
	return ""
}

// show puts the bytes of stored images beside their digests, from the newest on for
// as long as there is room. An image that is left out, or that is none, is told of by
// the adapter.
func (o *Orchestrator) show(ctx context.Context, k events.Key, r *model.Request, p patience) error {
	room := shownRoom{images: maxShownImages, bytes: maxShownBytes}
	for i := range slices.Backward(r.Messages) {
		m := &r.Messages[i]
		for j := range slices.Backward(m.Results) {
			parts, err := o.shown(ctx, k, m.Results[j].Parts, &room, p)
			if err != nil {
				return err
			}
			if parts != nil {
				m.Results = slices.Clone(m.Results)
				m.Results[j].Parts = parts
			}
		}
		parts, err := o.shown(ctx, k, m.Parts, &room, p)
		if err != nil {
			return err
		}
		if parts != nil {
			m.Parts = parts
		}
	}
	return nil
}

// shownRoom is what may still be shown.
type shownRoom struct {
	images int
	bytes  int64
}

func (r *shownRoom) take(bytes int64) bool {
	if r.images == 0 || bytes > r.bytes {
		*r = shownRoom{} // none older: what is shown has no holes
		return false
	}
	r.images--
	r.bytes -= bytes
	return true
}

// shown is a copy of the parts with the bytes of their images, nil if there are
// none.
func (o *Orchestrator) shown(ctx context.Context, k events.Key, list []events.Part, room *shownRoom, p patience) ([]events.Part, error) {
	var parts []events.Part
	for i, part := range slices.Backward(list) {
		if part.Type != events.PartImage || part.Blob == "" || part.Bytes < 1 || !model.IsImageType(part.MediaType) || !room.take(part.Bytes) {
			continue
		}
		var content []byte
		err := o.patiently(ctx, p, func() (err error) {
			content, err = o.blob(ctx, k, part.Blob)
			return err
		})
		if err != nil {
			return nil, missing("an image of the chat", err)
		}
		if mismatch(part, content) != "" { // from a tool: nobody has looked at it yet
			continue
		}
		if parts == nil {
			parts = slices.Clone(list)
		}
		parts[i].Opaque = content
	}
	return parts, nil
}
