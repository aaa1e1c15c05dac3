package readside

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

var _ gateway.Load = (*load)(nil)

// load is in which chats a turn is at work, as the newest commit of each says: it
// names what is owed. A chat that waits for a person, or for a time to come, owes
// nothing that a model or a tool would do.
type load struct {
	now func() time.Time

	mu      sync.Mutex
	tenants map[string]*loaded
}

// loaded are the chats of a tenant that count as being at work.
type loaded struct {
	working map[string]struct{}  // the log says so
	begun   map[string]time.Time // they were given a turn, and count until then; zero: until that is decided
}

// tellTime is how long after a decision the log may take to tell of it. A command that
// came again is decided already: no log tells then.
const tellTime = 5 * time.Second

// newLoad knows of none.
func newLoad() *load { return &load{now: time.Now, tenants: map[string]*loaded{}} }

// of are the chats of a tenant, without those that count no more. The lock is held.
func (l *load) of(tenant string) *loaded {
	all := l.tenants[tenant]
	if all == nil {
		all = &loaded{working: map[string]struct{}{}, begun: map[string]time.Time{}}
		l.tenants[tenant] = all
	}
	now := l.now()
	maps.DeleteFunc(all.begun, func(_ string, until time.Time) bool { return !until.IsZero() && now.After(until) })
	return all
}

// Working implements [gateway.Load].
func (l *load) Working(k events.Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.of(k.Tenant)
	_, working := all.working[k.Chat]
	_, begun := all.begun[k.Chat]
	return working || begun
}

// Count implements [gateway.Load].
func (l *load) Count(tenant string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.of(tenant)
	return len(all.working) + len(all.begun)
}

// see takes a commit, or the newest of a chat.
func (l *load) see(h protocol.Head) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.of(h.Key.Tenant)
	delete(all.begun, h.Key.Chat)
	if isWork(h.Owes) {
		all.working[h.Key.Chat] = struct{}{}
		return
	}
	delete(all.working, h.Key.Chat)
	if len(all.working)+len(all.begun) == 0 {
		delete(l.tenants, h.Key.Tenant)
	}
}

// Begin implements [gateway.Load]. A commit from before that is told only now may end
// it too soon: then one turn more than allowed may begin.
func (l *load) Begin(k events.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.of(k.Tenant)
	if _, working := all.working[k.Chat]; !working {
		all.begun[k.Chat] = time.Time{}
	}
}

// Decided implements [gateway.Load].
func (l *load) Decided(k events.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.of(k.Tenant)
	if _, begun := all.begun[k.Chat]; begun {
		all.begun[k.Chat] = l.now().Add(tellTime)
	}
}

// Rest implements [gateway.Load].
func (l *load) Rest(k events.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of(k.Tenant).begun, k.Chat)
}

// isWork reports whether a model, a tool or another chat is at work.
func isWork(owes string) bool {
	for what := range strings.SplitSeq(owes, ",") {
		if slices.Contains([]string{protocol.OwesModel, protocol.OwesTool, protocol.OwesChat}, what) {
			return true
		}
	}
	return false
}

// forget begins anew: what was heard before may be long over.
func (l *load) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tenants = map[string]*loaded{}
}

// loadWait is how long to wait before heads are asked for again.
const loadWait = 500 * time.Millisecond

// watch keeps it current until ctx ends. Ready is called when the newest commits of
// all chats have been seen for the first time. A gateway may be started before the
// log is made.
func (l *load) watch(ctx context.Context, nc *nats.Conn, o streams.Options, log *slog.Logger, ready func()) {
	ready = sync.OnceFunc(ready)
	for told := false; ; told = true {
		l.forget()
		err := l.follow(ctx, nc, o, ready)
		if ctx.Err() != nil {
			return
		}
		if !told || !errors.Is(err, streams.ErrNoStreams) {
			log.WarnContext(ctx, "open turns are not followed now", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(loadWait):
		}
	}
}

func (l *load) follow(ctx context.Context, nc *nats.Conn, o streams.Options, ready func()) error {
	reader, err := streams.OpenReader(ctx, nc, o)
	if err != nil {
		return err
	}
	defer reader.Close()
	return reader.Log.Heads(ctx, l.see, ready)
}
