package index

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// item is a stored message with all that is needed to fold it.
type item struct {
	place

	key     events.Key
	hash    string
	bytes   int               // of all that was read for it
	commit  events.Commit     // of rev 0 if it cannot be read
	history []events.Recorded // before the first commit of a fork or an import
	trouble []trouble
}

// maxTroubleBytes bounds why something was set aside.
const maxTroubleBytes = 500

// read makes an item of a stored message. An error means that it can be tried again.
func read(ctx context.Context, shard int, m protocol.Stored, blobs Blobs) (item, error) {
	i := item{place: place{shard, m.Sequence}, hash: events.Hash(m.Body), bytes: len(m.Body)}
	_, k, err := protocol.ParseLogSubject(m.Subject)
	if err != nil {
		return i, nil //nolint:nilerr // no chat has such a subject; only an operator can have stored it
	}
	i.key = k
	c, err := events.Decode(m.Body)
	if err == nil && c.Key != k {
		err = fmt.Errorf("a commit of chat %s", c.Key)
	}
	if err == nil && c.Rev == 0 {
		err = errors.New("it has no rev")
	}
	if err != nil {
		i.setAside(err.Error())
		return i, nil
	}
	i.commit = c
	return i, i.complete(ctx, blobs)
}

// setAside notes what is wrong with the item.
func (i *item) setAside(why string) {
	i.trouble = append(i.trouble, trouble{i.place, i.key, i.commit.Rev, clean(why, maxTroubleBytes)})
}

// complete fetches what the commit only names.
func (i *item) complete(ctx context.Context, blobs Blobs) error {
	if first, ok := i.commit.Events[0].(events.ChatInherited); ok {
		raw, err := blobs.Get(ctx, i.key, first.History)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		i.bytes += len(raw)
		if err == nil {
			i.history, err = events.ReadHistory(raw)
		}
		if err != nil {
			i.setAside(fmt.Sprintf("what it goes on from: %v", err))
		}
		for n := range i.history {
			if err := i.attach(ctx, blobs, i.history[n].Events); err != nil {
				return err
			}
		}
	}
	return i.attach(ctx, blobs, i.commit.Events)
}

// attach puts texts that lie apart into their places. One that cannot be had is not
// found by its words; everything else of the chat is.
func (i *item) attach(ctx context.Context, blobs Blobs, list []events.Event) error {
	for n, e := range list {
		if !speaks(e) {
			continue
		}
		parts := events.Parts(e)
		for p, part := range parts {
			if part.Type != events.PartText || part.Blob == "" {
				continue
			}
			text, err := blobs.Get(ctx, i.key, part.Blob)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				i.setAside(fmt.Sprintf("a text that lies apart: %v", err))
				continue
			}
			cut := events.CutText(string(text), maxSaidBytes)
			i.bytes += len(cut)
			parts[p] = part.Attach([]byte(cut))
		}
		list[n] = events.WithParts(e, parts)
	}
	return nil
}

// speaks reports whether an event has words of people or of the assistant.
func speaks(e events.Event) bool {
	switch e.(type) { //nolint:gochecksumtype // all others have none
	case events.InputAccepted, events.InputEdited, events.StepCompleted, events.StepInterrupted:
		return true
	}
	return false
}

// pause waits, or gives the error with which ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
