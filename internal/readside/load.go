package readside

import (
	"context"
	"errors"
	"log/slog"
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
	mu      sync.Mutex
	working map[string]map[string]standing // chats by tenant
}

// standing is why a chat counts as one that works.
type standing int

const (
	resting standing = iota // it does not
	begun                   // it was given a turn, and the log has not told
	working                 // the log says so
)

// newLoad knows of none.
func newLoad() *load { return &load{working: map[string]map[string]standing{}} }

// Working implements [gateway.Load].
func (l *load) Working(k events.Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.working[k.Tenant][k.Chat] != resting
}

// Count implements [gateway.Load].
func (l *load) Count(tenant string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.working[tenant])
}

// see takes a commit, or the newest of a chat.
func (l *load) see(h protocol.Head) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !isWork(h.Owes) {
		delete(l.working[h.Key.Tenant], h.Key.Chat)
		return
	}
	l.set(h.Key, working)
}

// set notes how a chat stands. The lock is held.
func (l *load) set(k events.Key, s standing) {
	if l.working[k.Tenant] == nil {
		l.working[k.Tenant] = map[string]standing{}
	}
	l.working[k.Tenant][k.Chat] = s
}

// Begin implements [gateway.Load]. A commit from before that is told only now may end
// it too soon: then one turn more than allowed may begin.
func (l *load) Begin(k events.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.working[k.Tenant][k.Chat] == resting {
		l.set(k, begun)
	}
}

// Rest implements [gateway.Load].
func (l *load) Rest(k events.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.working[k.Tenant][k.Chat] == begun {
		delete(l.working[k.Tenant], k.Chat)
	}
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
	l.working = map[string]map[string]standing{}
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
