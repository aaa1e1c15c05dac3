package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

const (
	// snapshotMessages is how many messages a page of a snapshot has at most.
	snapshotMessages = 100

	// logCommits is how many commits are read from the log at a time, at most: fewer
	// where they are large.
	logCommits = 64

	// maxLogBytes is how much of them is kept until it is given, if it is more than one.
	maxLogBytes = 256 << 10

	// unansweredLimit is how long a watcher asks again for what it must know.
	unansweredLimit = 30 * time.Second
)

// snapshot is one that is being given, page by page.
type snapshot struct {
	rev  uint64           // as of which; 0 before the first page
	next int              // the page behind this message
	page *transcript.Page // that was fetched and not given
}

// head asks how the chat stands.
func (w *Watcher) head(ctx context.Context) (transcript.Head, error) {
	var head transcript.Head
	err := w.hub.ask(ctx, w.chat.key, transcript.QueryHead, transcript.HeadRequest{Chat: w.chat.key.Chat}, &head)
	return head, err
}

// askAfter asks for all watchers of the chat.
func (w *Watcher) askAfter(ctx context.Context, known uint64) error {
	head, err := w.head(ctx)
	w.chat.answered(head, known, err, time.Now())
	return nil // no answer is no end: the question comes again
}

// turnPage fetches the next page of the snapshot. All are of the moment of the first.
func (w *Watcher) turnPage(ctx context.Context) error {
	s := w.snapshot
	question := transcript.Request{Chat: w.chat.key.Chat, After: s.next, Limit: snapshotMessages, At: transcript.Point{Rev: s.rev}}
	var page transcript.Page
	if err := w.hub.ask(ctx, w.chat.key, transcript.QueryPage, question, &page); err != nil {
		return err
	}
	s.page, s.rev, s.next = &page, page.Rev, page.Next
	return nil
}

// page gives the next page of the snapshot; with neither an event nor an error it is
// to be asked for again.
func (w *Watcher) page(ctx context.Context) (Event, error) {
	s := w.snapshot
	if s.page == nil {
		if err := w.patiently(ctx, w.turnPage(ctx)); err != nil || s.page == nil {
			return Event{}, err
		}
	}
	data, err := json.Marshal(s.page)
	if err != nil {
		return Event{}, fmt.Errorf("watch: %w", err)
	}
	e := Event{Kind: KindSnapshot, Data: data, Snapshot: s.page}
	s.page = nil
	if s.next != 0 {
		return e, nil
	}
	e.Rev = s.rev
	w.snapshot, w.rev, w.hash = nil, s.rev, ""
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	w.chat.stands(e.Snapshot.Head, 0)
	w.standsAt(e.Snapshot.Head)
	return e, nil
}

// readLog reads commits behind those that were given.
func (w *Watcher) readLog(ctx context.Context) error {
	known := w.chat.known()
	limit := cmp.Or(w.chunk, logCommits/4)
	question := transcript.CommitsRequest{Chat: w.chat.key.Chat, After: w.rev, Limit: limit}
	var answer transcript.Commits
	err := w.hub.ask(ctx, w.chat.key, transcript.QueryCommits, question, &answer)
	if no, ok := errors.AsType[*protocol.RefusedError](err); ok && no.Code == events.CodeBadCommand {
		w.restart(WhyReplaced, no.Detail) // it does not go that far
		return nil
	}
	if err != nil {
		return w.patiently(ctx, err)
	}
	w.chat.mu.Lock()
	w.chat.reached(answer.Rev, known)
	w.chat.mu.Unlock()
	if len(answer.Commits) == 0 && answer.Rev >= known {
		return w.patiently(ctx, fmt.Errorf("watch: the log has nothing behind rev %d, and its newest is %d", w.rev, answer.Rev))
	}
	w.failing = time.Time{}
	bytes := 0
	w.chunk = min(2*limit, logCommits)
	for _, raw := range answer.Commits {
		if bytes += len(raw); bytes > maxLogBytes && len(w.log) > 0 {
			w.chunk = len(w.log)
			break // the rest is read again, when there is room
		}
		w.log = append(w.log, raw)
	}
	return nil
}

// decodeFirst decodes the next commit that was read. It holds up nobody else.
func (w *Watcher) decodeFirst() (err error) {
	if len(w.log) > 0 && w.first == nil {
		w.first, err = readCommit(w.log[0])
	}
	return err
}

// readDeltas reads what is stored of an attempt, for all watchers of the chat.
func (w *Watcher) readDeltas(ctx context.Context, a *attempt) error {
	stored, err := w.hub.cfg.Feed.Deltas(ctx, w.chat.key, a.step, a.n)
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	a.read(stored, err, time.Now())
	w.chat.wake()
	return nil // without them the commit shows the answer
}

// patiently waits a moment after a question that had no answer, until they have had
// none for too long.
func (w *Watcher) patiently(ctx context.Context, err error) error {
	now := time.Now()
	switch {
	case err == nil:
		w.failing = time.Time{}
		return nil
	case isNo(err), ctx.Err() != nil, errors.Is(err, ErrStopped):
		return err
	case w.failing.IsZero():
		w.failing = now
	case now.Sub(w.failing) > unansweredLimit:
		return fmt.Errorf("%w: %v", ErrUnanswered, err) //nolint:errorlint // whose deadline has passed is not the caller's matter
	}
	w.wait(ctx, nil, now.Add(askAgain), now)
	return nil
}
