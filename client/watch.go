package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Sight is one thing seen while watching a chat. Exactly one field is set.
type Sight struct {
	Commit   *events.Commit
	Delta    *protocol.Delta
	Progress *protocol.Progress
}

// watchPending is how many messages a slow watcher may fall behind.
const watchPending = 4096

// Watch calls see with what happens in a chat from now on, in order, until ctx
// ends or see returns false. Ready is called when nothing more can be missed.
//
// What is seen is for showing: it can have gaps after a lost connection. Commits
// count their chat's revisions without gaps, so a watcher notices; the log has
// everything.
func (c *Client) Watch(ctx context.Context, chat string, ready func(), see func(Sight) bool) error {
	key := c.Key(chat)
	commits := protocol.FeedCommitSubject(key)
	filter := strings.TrimSuffix(commits, "commit") + ">"
	messages := make(chan *nats.Msg, watchPending)
	sub, err := c.nc.ChanSubscribe(filter, messages)
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	if err := c.nc.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	if ready != nil {
		ready()
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case msg := <-messages:
			sight, err := seen(key, msg)
			if err != nil {
				return err
			}
			if !see(sight) {
				return nil
			}
		}
	}
}

func seen(key events.Key, msg *nats.Msg) (Sight, error) {
	var s Sight
	var err error
	switch msg.Subject {
	case protocol.FeedCommitSubject(key):
		var commit events.Commit
		commit, err = events.Decode(msg.Data)
		s.Commit = &commit
	case protocol.FeedDeltaSubject(key):
		s.Delta = new(protocol.Delta)
		err = json.Unmarshal(msg.Data, s.Delta)
	case protocol.FeedProgressSubject(key):
		s.Progress = new(protocol.Progress)
		err = json.Unmarshal(msg.Data, s.Progress)
	}
	if err != nil {
		return Sight{}, fmt.Errorf("watch %s: %w", msg.Subject, err)
	}
	return s, nil
}
