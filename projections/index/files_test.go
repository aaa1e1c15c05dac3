package index

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/listing"
)

// A file is built beside the one in use while that goes on answering; whoever keeps it
// changes over, and the old one is deleted.
func TestARebuildIsChangedOverTo(t *testing.T) {
	t.Parallel()
	l := histories(t, 5, 10, 40)
	dir := t.TempDir()
	x := follow(t, l, dir)
	want := every(t, x.Index, "acme", listing.ChatsRequest{Children: true}, nil)
	read := 0
	if err := Build(t.Context(), Config{Dir: dir, Log: l, Blobs: l}, func(n int) { read = n }); err != nil {
		t.Fatal(err)
	}
	if _, commits := l.events(t); read != commits {
		t.Errorf("%d commits were read, want %d", read, commits)
	}
	await(t, func() bool {
		list, err := x.folder.generations()
		if got := every(t, x.Index, "acme", listing.ChatsRequest{Children: true}, nil); !cmp.Equal(got, want) {
			t.Fatal("the list changed with the file")
		}
		return err == nil && len(list) == 1 && list[0] == 2
	})
	l.write(t, named(900), noon, "user:ann", created("new"))
	x.caughtUp(l)
	if got := ask[listing.Chats](t, x.Index, "acme", listing.QueryChats, listing.ChatsRequest{Chat: named(900).Chat}); len(got.Chats) != 1 {
		t.Error("what came after the change is not there")
	}
}

// A file that is damaged, that another release folded, or that is of other logs is
// replaced by one that is right.
func TestAFileOfNoUseIsReplaced(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, dir string, l *logs){
		"damaged": func(t *testing.T, dir string, _ *logs) {
			if err := os.WriteFile(folder(dir).file(1), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"empty": func(t *testing.T, dir string, _ *logs) {
			if err := os.Truncate(folder(dir).file(1), 0); err != nil {
				t.Fatal(err)
			}
		},
		"of another release": func(t *testing.T, dir string, _ *logs) {
			db, err := connect(folder(dir).file(1))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.ExecContext(t.Context(), `UPDATE meta SET value = '0' WHERE name = 'version'; DELETE FROM chats`); err != nil {
				t.Fatal(err)
			}
		},
		"damaged within a row": func(t *testing.T, dir string, _ *logs) {
			db, err := connect(folder(dir).file(1))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.ExecContext(t.Context(), `UPDATE chats SET state = substr(state, 2); DELETE FROM positions`); err != nil {
				t.Fatal(err)
			}
		},
		"of logs that were longer": func(_ *testing.T, _ string, l *logs) {
			for n := range l.stored {
				l.stored[n] = l.stored[n][:len(l.stored[n])/2]
			}
		},
		"of other logs of the same length": func(t *testing.T, _ string, l *logs) {
			other := histories(t, 78, 10, 40)
			for n := range l.stored {
				l.stored[n] = append(other.stored[n][:min(len(l.stored[n]), len(other.stored[n])):min(len(l.stored[n]), len(other.stored[n]))], l.stored[n]...)[:len(l.stored[n])]
				for i := range l.stored[n] {
					l.stored[n][i].Sequence = uint64(i + 1)
				}
			}
			maps.Copy(l.blobs, other.blobs)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, dir := histories(t, 77, 10, 40), t.TempDir()
			follow(t, l, dir).stop()
			spoil(t, dir, l)
			x, err := New(Config{Dir: dir, Log: l, Blobs: l, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
			if err != nil {
				t.Fatal(err)
			}
			var runs sync.WaitGroup
			ctx, cancel := context.WithCancel(t.Context())
			runs.Go(func() { _ = x.Run(ctx) })
			fresh := t.TempDir()
			follow(t, l, fresh).stop()
			want := dump(t, fresh)
			await(t, func() bool {
				x.mu.RLock()
				defer x.mu.RUnlock()
				return x.current != nil && cmp.Equal(dump(t, dir), want)
			})
			cancel()
			runs.Wait()
		})
	}
}

// Two processes cannot keep one folder: the second says so, and goes on when it is free.
func TestAFolderIsKeptByOne(t *testing.T) {
	t.Parallel()
	l, dir := histories(t, 6, 3, 20), t.TempDir()
	x := follow(t, l, dir)
	other, err := New(x.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.keep(t.Context()); !errors.Is(err, ErrInUse) {
		t.Errorf("a second one: %v, want %v", err, ErrInUse)
	}
	x.stop()
	follow(t, l, dir)
}

// Where nothing can be kept, queries say that, and whoever keeps it tries again.
func TestAFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	l, dir := histories(t, 8, 3, 20), filepath.Join(t.TempDir(), "not a folder")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	x, err := New(Config{Dir: dir, Log: l, Blobs: l, Logger: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.keep(t.Context()); err == nil || !strings.Contains(err.Error(), "not a folder") {
		t.Errorf("error %v, want one that names the place", err)
	}
	_, err = asking[listing.Chats](t, x, "acme", listing.QueryChats, listing.ChatsRequest{})
	if no, ok := errors.AsType[*protocol.RefusedError](err); !ok || no.Code != events.CodeUnavailable {
		t.Errorf("error %v, want unavailable", err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	follow(t, l, dir)
}

// A disk that is full is an error that says so; what is there is answered, and when
// there is room what is missing follows.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	l, dir := histories(t, 11, 5, 40), t.TempDir()
	x := follow(t, l, dir)
	x.stop()
	s, err := openStore(t.Context(), folder(dir).file(1), shards)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.close() }() // the test has said what it has to say
	x.use(s)
	if _, err := s.write.ExecContext(t.Context(), "PRAGMA max_page_count = 1"); err != nil { // it becomes what there is
		t.Fatal(err)
	}
	before := len(dump(t, dir)["chats"])
	var items []item
	for n := range 400 {
		k := named(500 + n)
		l.write(t, k, noon, "user:ann", created(strings.Repeat("no room ", 20)), saying("i", strings.Repeat("no room at all ", 300)))
		list := reading{l}.of(k)
		i, err := read(t.Context(), protocol.Shard(k, shards), list[0], l)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, i)
	}
	if err := s.apply(t.Context(), items); err == nil || !strings.Contains(err.Error(), "full") {
		t.Fatalf("error %v, want one that says that it is full", err)
	}
	if got := len(every(t, x.Index, "acme", listing.ChatsRequest{Children: true, Archived: listing.ArchivedToo}, nil)); got == 0 {
		t.Error("nothing is answered any more")
	}
	if after := len(dump(t, dir)["chats"]); after != before {
		t.Errorf("%d chats are kept, want %d: half of a transaction", after, before)
	}
	x.use(nil)
	again := follow(t, l, dir)
	if got := ask[listing.Chats](t, again.Index, "acme", listing.QueryChats, listing.ChatsRequest{Chat: named(899).Chat}); len(got.Chats) != 1 {
		t.Error("what found no room is missing")
	}
}

// A file that was built takes no number that somebody else has taken, and both stay what
// they are.
func TestAFileThatWasBuiltReplacesNoOther(t *testing.T) {
	t.Parallel()
	const rounds = 50
	d := folder(t.TempDir())
	for n := range rounds {
		if err := os.WriteFile(d.building(), []byte("built"), 0o600); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(func() {
			if err := d.publish(); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() { // as keep begins a file
			newest, err := d.newest()
			if err != nil {
				t.Error(err)
				return
			}
			f, err := os.OpenFile(d.file(newest+1), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil {
				return // the other was quicker
			}
			if _, err := f.WriteString("kept"); err != nil {
				t.Error(err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		if _, err := os.Stat(d.building()); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("round %d: what was built is still there: %v", n, err)
		}
	}
	list, err := d.generations()
	if err != nil {
		t.Fatal(err)
	}
	built := 0
	for _, n := range list {
		text, err := os.ReadFile(d.file(n))
		if err != nil {
			t.Fatal(err)
		}
		if string(text) == "built" {
			built++
		} else if string(text) != "kept" {
			t.Errorf("file %d holds %q", n, text)
		}
	}
	if built != rounds {
		t.Errorf("%d of %d files that were built are there", built, rounds)
	}
}
