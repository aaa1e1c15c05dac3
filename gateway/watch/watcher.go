package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// beginLimit is how long to wait for a hub that does not hear the feed yet.
const beginLimit = 5 * time.Second

// Watcher is given what happens in a chat, in order. Next is called by one
// goroutine at a time; Close by any.
type Watcher struct {
	hub    *Hub
	chat   *chat
	closed chan struct{}
	once   sync.Once

	// Guarded by the chat's lock.
	at      *item // the place in the list of what was given last; nil while it reads the log instead
	lagged  bool
	showing []*showing // attempts that are open, as far as this watcher has come
	era     int

	// Of the goroutine in Next.
	rev      uint64
	hash     string // of the commit at rev, if that was seen
	reset    *Reset
	snapshot *snapshot         // that is being given
	log      []json.RawMessage // read from the log, not yet given
	first    *commit           // of those; nil if it was not decoded yet
	chunk    int               // how many to read next; 0 before the first
	failing  time.Time         // since when questions have no answer; zero if they have
	erased   bool
}

// showing is how far an attempt was given.
type showing struct {
	opened
	attempt *attempt // nil while nobody has collected it
	next    int
}

// Open begins to watch a chat behind a cursor: the rev of the newest commit that
// was seen, as a decimal number; "0" for all commits from the first on. Without one,
// it begins with a snapshot. A cursor that is none of the chat's leads to a reset.
// From its return on nothing is missed. Close it.
//
// It waits a moment for a hub that is about to run. A chat that cannot be watched is a
// [*protocol.RefusedError]; [ErrFull] and [ErrStopped] are about this process; after
// any other error trying again may help.
func (h *Hub) Open(ctx context.Context, k events.Key, cursor string) (*Watcher, error) {
	if err := k.Validate(); err != nil {
		return nil, &protocol.RefusedError{Code: events.CodeBadCommand, Detail: err.Error()}
	}
	late := time.NewTimer(beginLimit)
	defer late.Stop()
	select {
	case <-h.ready:
	case <-h.stopped:
		return nil, ErrStopped
	case <-late.C:
		return nil, ErrStopped
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-h.stopped: // it was ready once
		return nil, ErrStopped
	default:
	}
	w := &Watcher{hub: h, closed: make(chan struct{})}
	if err := h.join(w, k); err != nil {
		return nil, err
	}
	if err := w.begin(ctx, cursor); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// begin finds out where to begin.
func (w *Watcher) begin(ctx context.Context, cursor string) error {
	if cursor == "" {
		return w.anew(ctx, nil)
	}
	rev, err := strconv.ParseUint(cursor, 10, 64)
	if err != nil {
		return w.anew(ctx, &Reset{Why: WhyUnknown, Detail: "what was seen is not a rev of this chat"})
	}
	known := w.chat.known()
	head, err := w.head(ctx)
	if err != nil {
		return err
	}
	if head.Rev < rev {
		return w.anew(ctx, &Reset{Why: WhyAhead, Detail: fmt.Sprintf("rev %d was never reached: the newest is %d", rev, head.Rev)})
	}
	w.rev = rev
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	w.chat.stands(head, known)
	w.standsAt(head)
	return nil
}

// anew begins with a snapshot, of which the first page is fetched at once: whether
// the chat can be seen at all is known then.
func (w *Watcher) anew(ctx context.Context, why *Reset) error {
	w.reset, w.snapshot = why, &snapshot{}
	w.chat.mu.Lock()
	w.at = nil // what comes meanwhile is read from the log
	w.chat.mu.Unlock()
	return w.turnPage(ctx)
}

// restart begins anew because of something that was found out on the way.
func (w *Watcher) restart(why Why, detail string) {
	w.rev, w.hash, w.log, w.first = 0, "", nil, nil
	w.reset, w.snapshot = &Reset{Why: why, Detail: detail}, &snapshot{}
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	w.at, w.showing, w.era = nil, nil, w.chat.era
}

// Cursor is the rev of the newest commit that was given, or that a whole snapshot
// has reached: with it a watcher comes back. Empty if nothing was reached yet. It
// is for the goroutine of Next.
func (w *Watcher) Cursor() string {
	if w.snapshot != nil {
		return ""
	}
	return strconv.FormatUint(w.rev, 10)
}

// Close ends the watching, and a Next that waits. It may be called again.
func (w *Watcher) Close() {
	w.once.Do(func() {
		close(w.closed)
		w.hub.leave(w)
	})
}

// drop lets go of what is kept for the watcher. The caller holds the chat's lock.
func (w *Watcher) drop() { w.at, w.showing = nil, nil }

// fallBehind is what becomes of one that is too slow. The caller holds the lock.
func (w *Watcher) fallBehind() {
	w.lagged = true
	w.drop()
}

// Next waits for what comes next. If ctx ends first nothing is lost: the next call
// gives it. The error is that of ctx, or says why there
// is nothing more: [ErrLagged], [ErrStopped], [ErrClosed], [ErrUnanswered] or a
// [*protocol.RefusedError].
func (w *Watcher) Next(ctx context.Context) (Event, error) {
	for {
		if err := w.ended(ctx); err != nil {
			return Event{}, err
		}
		if w.reset != nil {
			return w.giveReset()
		}
		if w.snapshot != nil {
			e, err := w.page(ctx)
			if err != nil || e.Kind != "" {
				return e, err
			}
			continue
		}
		if err := w.decodeFirst(); err != nil {
			return Event{}, err
		}
		e, do, err := w.look(time.Now())
		if err == nil && do != nil {
			err = do(ctx)
		}
		if err != nil || e.Kind != "" {
			return e, err
		}
	}
}

// ended is why there is nothing more; nil if there may be.
func (w *Watcher) ended(ctx context.Context) error {
	select {
	case <-w.closed:
		return ErrClosed
	case <-w.hub.stopped:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	default:
	}
	if w.erased {
		return &protocol.RefusedError{Code: events.CodeErased, Detail: "the chat was erased"}
	}
	return nil
}

func (w *Watcher) giveReset() (Event, error) {
	data, err := json.Marshal(w.reset)
	if err != nil {
		return Event{}, fmt.Errorf("watch: %w", err)
	}
	e := Event{Kind: KindReset, Data: data, Reset: w.reset}
	w.reset = nil
	return e, nil
}
