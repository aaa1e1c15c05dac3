package events

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// MaxHistoryBytes bounds the history that a chat begins with. It is held in
// memory as a whole wherever the chat is read from its start.
const MaxHistoryBytes = 64 << 20

// ErrHistory means that bytes are no history: not the whole log of one chat up to
// some commit, each behind the one before it.
//
// It comes wrapped: ask with [errors.Is].
var ErrHistory = errors.New("not the unbroken log of a chat")

// Recorded is a commit with the hash of the bytes it was read from.
type Recorded struct {
	Commit
	Hash string
}

// ReadHistory reads the history that a [ChatInherited] names. Where a chat
// begins that has a history itself, what stands before it is that history.
//
// The error wraps [ErrHistory], or is a [*VersionError] if only a newer release
// can read the bytes. That commits follow each other is all that is looked at;
// whether what they say is legal is not.
func ReadHistory(b []byte) ([]Recorded, error) {
	if len(b) > MaxHistoryBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrHistory, len(b), MaxHistoryBytes)
	}
	var list []Recorded
	for rest, offset := b, 0; len(rest) > 0; rest = b[offset:] {
		line, _, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			return nil, fmt.Errorf("%w: line %d has no end", ErrHistory, len(list)+1)
		}
		c, err := Decode(line)
		if version := (*VersionError)(nil); errors.As(err, &version) {
			return nil, fmt.Errorf("history, line %d: %w", len(list)+1, version)
		}
		if err == nil {
			err = follows(list, c, b[:offset])
		}
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrHistory, len(list)+1, err)
		}
		list = append(list, Recorded{Commit: c, Hash: Hash(line)})
		offset += len(line) + 1
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrHistory)
	}
	return list, nil
}

// OriginOf names the end of a history.
func OriginOf(history []Recorded) Origin {
	last := history[len(history)-1]
	return Origin{Tenant: last.Key.Tenant, Chat: last.Key.Chat, Rev: last.Rev, Hash: last.Hash}
}

// follows says why a commit is not the one after the last of a list, whose bytes
// are those given; nil if it is.
func follows(list []Recorded, c Commit, before []byte) error {
	if err := c.Key.Validate(); err != nil {
		return err
	}
	if slices.ContainsFunc(c.Events[1:], begins) {
		return errors.New("a chat begins within a commit")
	}
	if inherited, ok := c.Events[0].(ChatInherited); ok {
		switch {
		case buries(c):
			return errors.New("the chat is erased: nobody goes on from it")
		case len(list) == 0:
			return errors.New("the history before it is missing")
		case c.Rev != 1:
			return fmt.Errorf("a chat begins at rev %d", c.Rev)
		case inherited.Origin != OriginOf(list) || c.Prev != inherited.Origin.Hash || inherited.History != DigestOf(before):
			return errors.New("a chat begins with another history than the one before it")
		}
		return nil
	}
	if buries(c) {
		return errors.New("the chat is erased: nobody goes on from it")
	}
	prev, key, rev := "", c.Key, uint64(1)
	if n := len(list); n > 0 {
		prev, key, rev = list[n-1].Hash, list[n-1].Key, list[n-1].Rev+1
	}
	created := begins(c.Events[0])
	switch {
	case c.Key != key:
		return fmt.Errorf("a commit of chat %s in the log of %s", c.Key, key)
	case c.Rev != rev:
		return fmt.Errorf("rev %d stands where %d should", c.Rev, rev)
	case c.Prev != prev:
		return fmt.Errorf("rev %d does not follow the commit before it", c.Rev)
	case created != (len(list) == 0):
		return errors.New("a chat begins with chat.created, and with nothing else")
	}
	return nil
}

// begins reports whether an event is the first of a chat.
func begins(e Event) bool {
	_, created := e.(ChatCreated)
	_, inherited := e.(ChatInherited)
	_, spawned := e.(ChatSpawned)
	return created || inherited || spawned
}
