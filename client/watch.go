package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

const (
	// watchPending is how many messages a slow watcher may fall behind.
	watchPending = 4096

	// watchSilence is how long an open turn may be silent before its chat is
	// asked how it stands: the feed may have lost its end.
	watchSilence = 5 * time.Second
)

// Watcher sees what happens in a chat. It is used by one goroutine at a time.
//
// What is seen is for showing: a connection that was lost leaves a gap, which
// comes as [Missed], and the log has everything. Deltas may come before the
// commit that requested their step.
type Watcher struct {
	c        *Client
	key      events.Key
	sub      *nats.Subscription
	messages chan *nats.Msg

	rev  uint64  // of the newest commit seen or known of
	open bool    // a turn is
	next []Sight // seen, not yet given
}

// OpenWatcher begins to watch: from its return on nothing is missed unnoticed.
// The chat need not exist yet. Close it.
func (c *Client) OpenWatcher(ctx context.Context, chat string) (*Watcher, error) {
	key := c.Key(chat)
	if err := key.Validate(); err != nil {
		return nil, err
	}
	w := &Watcher{c: c, key: key, messages: make(chan *nats.Msg, watchPending)}
	filter := strings.TrimSuffix(protocol.FeedCommitSubject(key), "commit") + ">"
	var err error
	if w.sub, err = c.nc.ChanSubscribe(filter, w.messages); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	try, cancel := context.WithTimeout(ctx, storeTry)
	defer cancel()
	if err := c.nc.FlushWithContext(try); err != nil {
		w.Close()
		return nil, fmt.Errorf("watch: %w", err)
	}
	switch head, err := c.Head(ctx, chat); {
	case err == nil:
		w.rev, w.open = head.Rev, running(head)
	case ctx.Err() != nil:
		w.Close()
		return nil, fmt.Errorf("watch: %w", err)
	default: // no such chat yet, or nobody answers: then the first commit says where it stands
	}
	return w, nil
}

func running(h transcript.Head) bool {
	return h.Status == transcript.StatusRunning || h.Status == transcript.StatusInterrupting
}

// Close ends the watching.
func (w *Watcher) Close() { _ = w.sub.Unsubscribe() } // fails only on a closed connection

// Running reports whether a turn was open when the newest commit seen was made.
func (w *Watcher) Running() bool { return w.open }

// Next waits for what happens next. The error is ctx's, or says what could not
// be read.
func (w *Watcher) Next(ctx context.Context) (Sight, error) {
	for len(w.next) == 0 {
		silence := time.NewTimer(watchSilence)
		var err error
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case msg := <-w.messages:
			err = w.take(msg)
		case <-silence.C:
			err = w.look(ctx)
		}
		silence.Stop()
		if err != nil {
			return Sight{}, err
		}
	}
	s := w.next[0]
	w.next = w.next[1:]
	return s, nil
}

// take notes what a message says.
func (w *Watcher) take(msg *nats.Msg) error {
	s, err := seen(w.key, msg)
	if err != nil {
		return err
	}
	if s == (Sight{}) {
		return nil // something that a newer release shows
	}
	if s.Commit != nil {
		if s.Commit.Rev <= w.rev {
			return nil // it was known of, or came twice
		}
		w.missed(s.Commit.Rev-1, w.open)
		w.rev = s.Commit.Rev
		for _, e := range s.Commit.Events {
			w.event(e)
		}
	}
	w.next = append(w.next, s)
	return nil
}

func (w *Watcher) event(e events.Event) {
	if _, ok := e.(events.TurnStarted); ok {
		w.open = true
	}
	if _, ok := endOf(e); ok {
		w.open = false
	}
}

// missed notes that the commits up to a rev were not seen.
func (w *Watcher) missed(to uint64, running bool) {
	if w.rev != 0 && to > w.rev {
		w.next = append(w.next, Sight{Missed: &Missed{From: w.rev + 1, To: to, Running: running}})
		w.rev = to
	}
}

// look asks how the chat stands if a turn is open and says nothing.
func (w *Watcher) look(ctx context.Context) error {
	switch {
	case !w.sub.IsValid():
		return fmt.Errorf("watch: %w", nats.ErrConnectionClosed)
	case !w.open:
		return nil
	}
	head, err := w.c.Head(ctx, w.key.Chat)
	if err != nil {
		return ctx.Err() // else it is asked again after the next silence
	}
	w.open = running(head)
	w.missed(head.Rev, w.open)
	return nil
}

// Watch calls see with what happens in a chat from now on, in order, until ctx
// ends or see returns false. Ready, if given, is called when nothing can be
// missed unnoticed any more. It is [Watcher] with a loop around it.
func (c *Client) Watch(ctx context.Context, chat string, ready func(), see func(Sight) bool) error {
	w, err := c.OpenWatcher(ctx, chat)
	if err != nil {
		return err
	}
	defer w.Close()
	if ready != nil {
		ready()
	}
	for {
		s, err := w.Next(ctx)
		if err != nil {
			return err
		}
		if !see(s) {
			return nil
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
