package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/listing"
)

// shards of the logs in these tests.
const shards = 4

// noon is when chats that are written by hand begin.
var noon = events.At(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC))

// logs are the logs of all chats in memory, with their content. The zero value is empty.
type logs struct {
	mu     sync.Mutex
	stored [shards][]protocol.Stored // nil bodies are deleted
	blobs  map[events.Digest][]byte
	revs   map[events.Key]uint64
	prev   map[events.Key]string
	grown  chan struct{} // closed when there is more
}

func (l *logs) Shards() int { return shards }

// Get implements [Blobs].
func (l *logs) Get(_ context.Context, _ events.Key, d events.Digest) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.blobs[d]
	if !ok {
		return nil, protocol.ErrNotFound
	}
	return b, nil
}

// Follow implements [Log].
func (l *logs) Follow(ctx context.Context, from []uint64, commit func(int, protocol.Stored) error, ready func() error) error {
	next := slices.Clone(from)
	for told := false; ; {
		l.mu.Lock()
		if l.grown == nil {
			l.grown = make(chan struct{})
		}
		grown, stored := l.grown, l.stored
		l.mu.Unlock()
		for n, list := range stored {
			if uint64(len(list)) < from[n] {
				return protocol.ErrReplaced
			}
			for _, m := range list[max(next[n], 1)-1:] {
				next[n] = m.Sequence + 1
				if m.Body == nil {
					continue
				}
				if err := commit(n, m); err != nil {
					return err
				}
			}
			next[n] = max(next[n], 1)
		}
		if !told {
			told = true
			if err := ready(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-grown:
		}
	}
}

// put stores the bytes of a commit.
func (l *logs) put(k events.Key, body []byte) place {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := protocol.Shard(k, shards)
	sequence := uint64(len(l.stored[n]) + 1)
	l.stored[n] = append(l.stored[n], protocol.Stored{Subject: protocol.LogSubject(n, k), Sequence: sequence, Body: body})
	if l.grown != nil {
		close(l.grown)
		l.grown = nil
	}
	return place{n, sequence}
}

// write appends a commit of some events to a chat.
func (l *logs) write(tb testing.TB, k events.Key, at events.Time, by string, list ...events.Event) {
	tb.Helper()
	if l.revs == nil {
		l.revs, l.prev = make(map[events.Key]uint64), make(map[events.Key]string)
	}
	l.revs[k]++
	body, err := events.Encode(events.Commit{
		ID: fmt.Sprintf("commit-%d", l.revs[k]), Key: k, Rev: l.revs[k], Prev: l.prev[k], At: at,
		Cause: events.Cause{Kind: events.CausedByCommand, ID: "command", By: by}, Events: list,
	})
	if err != nil {
		tb.Fatal(err)
	}
	l.prev[k] = events.Hash(body)
	l.put(k, body)
}

// delete makes a chat's commits up to a rev unreadable, as erasing does.
func (l *logs) delete(k events.Key, before uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := protocol.Shard(k, shards)
	subject := protocol.LogSubject(n, k)
	for i, m := range l.stored[n] {
		if c, err := events.Decode(m.Body); m.Subject == subject && err == nil && c.Rev < before {
			l.stored[n][i].Body = nil
		}
	}
}

// histories stores generated chats of several tenants, their commits mixed: single
// ones, families, forks, imports and erased ones.
func histories(tb testing.TB, seed uint64, chats, messages int) *logs {
	tb.Helper()
	chance := rand.New(rand.NewPCG(seed, 7))
	l := &logs{blobs: make(map[events.Digest][]byte)}
	var all []*chatgen.Chat
	for n := range chats {
		k := events.Key{Tenant: []string{"acme", "zoo"}[n%2], Chat: fmt.Sprintf("chat-%d", n)}
		switch n % 5 {
		case 0:
			f := chatgen.NewFamily(k, chance)
			for range messages {
				f.Step()
			}
			all = append(all, f.Chats()...)
		case 1:
			c := chatgen.Log(k, chance, messages)
			all = append(all, c)
			if rev := len(c.Bytes); rev > 2 && !gone(c) {
				k.Chat += "-fork"
				fork := c.ForkAt(k, uint64(1+chance.IntN(rev)))
				fork.Send("and then?")
				all = append(all, fork)
			}
		case 2:
			c := chatgen.Log(k, chance, messages)
			c.Erase()
			c.Rest()
			all = append(all, c)
		default:
			all = append(all, chatgen.Log(k, chance, messages))
		}
	}
	for _, c := range all {
		maps.Copy(l.blobs, c.Blobs)
	}
	l.mix(chance, all)
	return l
}

// gone reports whether nothing can be forked from a chat.
func gone(c *chatgen.Chat) bool { return !c.State.Exists() || events.Erased(c.Bytes[len(c.Bytes)-1]) }

// mix stores the commits of chats, each chat's in their order.
func (l *logs) mix(chance *rand.Rand, all []*chatgen.Chat) {
	next := make([]int, len(all))
	var open []int
	for n := range all {
		open = append(open, n)
	}
	for len(open) > 0 {
		at := chance.IntN(len(open))
		n := open[at]
		if next[n] == len(all[n].Bytes) {
			open = slices.Delete(open, at, at+1)
			continue
		}
		l.put(all[n].Key(), all[n].Bytes[next[n]])
		next[n]++
	}
}

// events is how many events are stored.
func (l *logs) events(tb testing.TB) (count, commits int) {
	tb.Helper()
	for _, list := range l.stored {
		for _, m := range list {
			c, err := events.Decode(m.Body)
			if err != nil {
				continue
			}
			count, commits = count+len(c.Events), commits+1
		}
	}
	return count, commits
}

// following is an index that keeps up with some logs.
type following struct {
	*Index

	tb   testing.TB
	stop func()
}

// follow keeps an index in a folder until stop is called or the test ends.
func follow(tb testing.TB, l *logs, dir string) *following {
	tb.Helper()
	x, err := New(Config{ // with the race detector SQLite takes many times as long
		Dir: dir, Log: l, Blobs: l, QueryTime: 2 * time.Minute, Logger: slog.New(slog.NewTextHandler(tb.Output(), nil)),
	})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			tb.Errorf("run: %v", err)
		}
	})
	tb.Cleanup(stop)
	f := &following{Index: x, tb: tb, stop: stop}
	f.caughtUp(l)
	return f
}

// caughtUp waits until everything that is stored is in the file.
func (f *following) caughtUp(l *logs) {
	f.tb.Helper()
	l.mu.Lock()
	var want [shards]uint64
	for n, list := range l.stored {
		for _, m := range list {
			if m.Body != nil {
				want[n] = m.Sequence
			}
		}
	}
	l.mu.Unlock()
	await(f.tb, func() bool {
		f.mu.RLock()
		defer f.mu.RUnlock()
		if f.current == nil || !f.current.complete.Load() {
			return false
		}
		for n, p := range *f.current.positions.Load() {
			if p.sequence < want[n] {
				return false
			}
		}
		return true
	})
}

// await waits until something is so.
func await(tb testing.TB, so func() bool) {
	tb.Helper()
	for begun := time.Now(); !so(); {
		if time.Since(begun) > time.Minute {
			tb.Fatal("it does not come")
		}
		if err := pause(tb.Context(), 5*time.Millisecond); err != nil {
			tb.Fatal(err)
		}
	}
}

// ask asks a query; the answer is of the type of a.
func ask[A any](tb testing.TB, x *Index, tenant, name string, q any) A {
	tb.Helper()
	a, err := asking[A](tb, x, tenant, name, q)
	if err != nil {
		tb.Fatalf("%s %+v: %v", name, q, err)
	}
	return a
}

func asking[A any](tb testing.TB, x *Index, tenant, name string, q any) (A, error) {
	tb.Helper()
	var a A
	body, err := json.Marshal(q)
	if err != nil {
		tb.Fatal(err)
	}
	got, err := x.Queries()[name](tb.Context(), tenant, body)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(got, &a); err != nil {
		tb.Fatal(err)
	}
	return a, nil
}

// dump is every row of every table of the newest file in a folder, as text.
func dump(tb testing.TB, dir string) map[string][]string {
	tb.Helper()
	n, err := folder(dir).newest()
	if err != nil {
		tb.Fatal(err)
	}
	db, err := connect(folder(dir).file(n))
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	rows := make(map[string][]string)
	for _, table := range []string{"positions", "chats", "places", "said", "spent", "open", "quarantine", "words"} {
		text := "SELECT * FROM " + table
		if table == "words" {
			text = "SELECT rowid, * FROM words"
		}
		rows[table] = dumped(tb, db, text)
	}
	if _, err := db.ExecContext(tb.Context(), "INSERT INTO words (words) VALUES ('integrity-check')"); err != nil {
		tb.Errorf("words: %v", err)
	}
	return rows
}

func dumped(tb testing.TB, db *sql.DB, text string) []string {
	tb.Helper()
	found, err := db.QueryContext(tb.Context(), text)
	if err != nil {
		tb.Fatal(err)
	}
	defer found.Close()
	columns, err := found.Columns()
	if err != nil {
		tb.Fatal(err)
	}
	var list []string
	for found.Next() {
		values := make([]any, len(columns))
		for n := range values {
			values[n] = new(any)
		}
		if err := found.Scan(values...); err != nil {
			tb.Fatal(err)
		}
		var b strings.Builder
		for n := range values {
			fmt.Fprintf(&b, "%s=%v ", columns[n], *values[n].(*any))
		}
		list = append(list, b.String())
	}
	if err := found.Err(); err != nil {
		tb.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// every asks for all pages of the list of chats.
func every(tb testing.TB, x *Index, tenant string, q listing.ChatsRequest, between func()) []listing.Chat {
	tb.Helper()
	var all []listing.Chat
	for {
		a := ask[listing.Chats](tb, x, tenant, listing.QueryChats, q)
		all = append(all, a.Chats...)
		if a.Next == "" {
			return all
		}
		q.After = a.Next
		if between != nil {
			between()
		}
	}
}
