//go:build processes

package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	_ "modernc.org/sqlite" // to read the files

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

const (
	indexedEvents   = 100_000
	indexKills      = 50
	indexLongest    = 1_500 * time.Millisecond // from the start of a process to its death
	indexCatchesUp  = 5 * time.Minute
	publishInFlight = 500
)

// A process that keeps the index of chats is killed fifty times while 100,000 events
// are stored and read: its rows are those of a fold from scratch.
func TestAnIndexOutlivesEveryProcess(t *testing.T) {
	c := startCluster(t, settings{ackWait: time.Second})
	nc := c.connect()
	bus, err := streams.Open(t.Context(), nc, streams.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(publishInFlight))
	if err != nil {
		t.Fatal(err)
	}

	var stored, commits int
	published := make(chan error, 1)
	go func() {
		var err error
		stored, commits, err = publishChats(t.Context(), js, bus)
		published <- err
	}()

	store := filepath.Join(c.dir, "projections")
	file := filepath.Join(store, "index", "index-1.db")
	keep := func() { c.start("projections-1", "everturn", "projections", "--server", c.url, "--store", store) }
	chance := rand.New(rand.NewPCG(50, 50))
	moved, before := 0, ""
	for range indexKills {
		keep()
		alive := time.NewTimer(time.Duration(chance.Int64N(int64(indexLongest))))
		select {
		case <-alive.C:
		case <-c.running["projections-1"].done:
			t.Fatal("it has ended by itself")
		}
		c.kill("projections-1")
		if at := fmt.Sprint(indexRows(t, file, "positions")); at != before {
			moved, before = moved+1, at
		}
	}
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	if stored < indexedEvents {
		t.Errorf("%d events were stored, want %d", stored, indexedEvents)
	}
	keep()
	begun := time.Now()
	for {
		if time.Since(begun) > indexCatchesUp {
			t.Fatalf("it has not caught up after %v", indexCatchesUp)
		}
		if upToDate(t, js, indexRows(t, file, "positions")) {
			break
		}
		timer := time.NewTimer(100 * time.Millisecond)
		<-timer.C
	}
	c.kill("projections-1")
	t.Logf("%d events in %d commits; %d kills, %d of them after it had read further; caught up in %v", stored, commits, indexKills, moved, rounded(time.Since(begun)))
	if moved < indexKills/5 {
		t.Errorf("only %d of %d kills came while it worked", moved, indexKills)
	}

	scratch := filepath.Join(c.dir, "scratch")
	rebuilt := time.Now()
	c.everturn("projections", "rebuild", "index", "--store", scratch)
	took := time.Since(rebuilt)
	t.Logf("a rebuild took %v: %.0f events/s", rounded(took), float64(stored)/took.Seconds())
	for _, table := range []string{"positions", "chats", "places", "said", "words", "spent", "open", "quarantine"} {
		want, got := indexRows(t, filepath.Join(scratch, "index", "index-1.db"), table), indexRows(t, file, table)
		t.Logf("%s: %d rows", table, len(want))
		if !slices.Equal(want, got) {
			t.Errorf("%s (-from scratch +after %d kills):\n%s", table, indexKills, cmp.Diff(want, got))
		}
	}
}

// publishChats stores generated chats, some of them forks, as orchestrators would have,
// and says how many events those are.
func publishChats(ctx context.Context, js jetstream.JetStream, bus *streams.Bus) (stored, commits int, err error) {
	for seed := uint64(0); stored < indexedEvents; seed++ {
		chance := rand.New(rand.NewPCG(seed, 39))
		k := events.Key{Tenant: fmt.Sprint("tenant", seed%3), Chat: fmt.Sprint("chat-", seed)}
		list := []*chatgen.Chat{chatgen.Log(k, chance, 80)}
		if origin := list[0]; seed%7 == 0 && origin.State.Exists() && !events.Erased(origin.Bytes[len(origin.Bytes)-1]) {
			k.Chat += "-fork"
			list = append(list, origin.ForkAt(k, origin.State.Rev()))
		}
		for _, chat := range list {
			for d, content := range chat.Blobs {
				if err := bus.Blobs.Put(ctx, chat.Key(), d, content); err != nil {
					return stored, commits, err
				}
			}
			subject := protocol.LogSubject(protocol.Shard(chat.Key(), bus.Log.Shards()), chat.Key())
			for n, body := range chat.Bytes {
				if _, err := js.PublishAsync(subject, body, jetstream.WithStallWait(time.Minute)); err != nil {
					return stored, commits, err
				}
				stored, commits = stored+len(chat.Commits[n].Events), commits+1
			}
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-ctx.Done():
	}
	return stored, commits, ctx.Err()
}

// upToDate reports whether positions are the ends of the streams.
func upToDate(t *testing.T, js jetstream.JetStream, positions []string) bool {
	t.Helper()
	for _, p := range positions {
		shard, read, _ := strings.Cut(p, "|")
		var n int
		if _, err := fmt.Sscan(shard, &n); err != nil {
			t.Fatal(err)
		}
		stream, err := js.Stream(t.Context(), streams.LogStream(n))
		if err != nil {
			t.Fatal(err)
		}
		sequence, _, _ := strings.Cut(read, "|")
		if fmt.Sprint(stream.CachedInfo().State.LastSeq) != sequence {
			return false
		}
	}
	return len(positions) > 0
}

// indexRows are the rows of a table, as text and sorted; none if there is no file yet.
func indexRows(t *testing.T, file, table string) []string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&mode=rw")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	columns := "*"
	if table == "words" {
		columns = "rowid, *"
	}
	rows, err := db.QueryContext(t.Context(), "SELECT "+columns+" FROM "+table)
	if err != nil {
		if table == "positions" {
			return nil // it was killed before there was one
		}
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for rows.Next() {
		values := make([]any, len(names))
		for n := range values {
			values[n] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		row := make([]string, len(values))
		for n, v := range values {
			row[n] = fmt.Sprint(*v.(*any))
		}
		list = append(list, strings.Join(row, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}
