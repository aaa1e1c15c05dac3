package projections

import (
	"errors"
	"fmt"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol"
)

// content gives content of a chat by its digest.
type content func(events.Digest) ([]byte, error)

// inherited is the fold of a chat before its first commit, which says from which
// history it goes on. Whatever stands there counts as changed last by that commit.
func inherited(k events.Key, first events.ChatInherited, get content) (*fold, error) {
	raw, err := get(first.History)
	if errors.Is(err, protocol.ErrNotFound) || errors.Is(err, protocol.ErrDamaged) {
		return nil, question.Refuse(events.CodeChatStopped, "the history that the chat goes on from cannot be read: %v", err)
	}
	if err != nil {
		return nil, fmt.Errorf("history of %s: %w", k, err)
	}
	list, err := events.ReadHistory(raw)
	if version := (*events.VersionError)(nil); errors.As(err, &version) {
		return nil, question.Refuse(events.CodeUnavailable, "%v", err)
	}
	if err == nil && events.OriginOf(list) != first.Origin {
		err = errors.New("it is that of another origin")
	}
	if err != nil {
		return nil, question.Refuse(events.CodeChatStopped, "the history that the chat goes on from: %v", err)
	}
	f := newFold(k)
	f.head.Rev = 1
	for _, c := range list {
		f.head.At = c.At
		for _, e := range c.Events {
			f.event(e)
		}
	}
	f.head.Rev, f.hash, f.bytes = 0, list[len(list)-1].Hash, len(raw)
	return f, nil
}
