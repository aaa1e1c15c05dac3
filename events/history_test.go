package events_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/everturn/everturn/events"
)

// lines is a chat of some commits as another goes on from it.
func lines(t testing.TB, k events.Key, titles ...string) []byte {
	t.Helper()
	var all []byte
	prev := ""
	for i, title := range append([]string{""}, titles...) {
		c := events.Commit{ID: "id", Key: k, Rev: uint64(i + 1), Prev: prev, Events: []events.Event{events.ChatTitled{Title: title}}}
		if i == 0 {
			c.Events = []events.Event{events.ChatCreated{}}
		}
		b, err := events.Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		prev = events.Hash(b)
		all = append(append(all, b...), '\n')
	}
	return all
}

// goesOn is a chat that goes on from a history, alone.
func goesOn(t testing.TB, k events.Key, history []byte, change func(*events.ChatInherited)) []byte {
	t.Helper()
	list, err := events.ReadHistory(history)
	if err != nil {
		t.Fatal(err)
	}
	first := events.ChatInherited{Origin: events.OriginOf(list), History: events.DigestOf(history), Bytes: int64(len(history))}
	change(&first)
	b, err := events.Encode(events.Commit{ID: "id", Key: k, Rev: 1, Prev: first.Origin.Hash, Events: []events.Event{first}})
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

func TestAHistoryGoesThroughSeveralChats(t *testing.T) {
	t.Parallel()
	first := lines(t, events.Key{Tenant: "acme", Chat: "a"}, "one", "two")
	second := events.Key{Tenant: "globex", Chat: "b"}
	whole := slices.Concat(first, goesOn(t, second, first, func(*events.ChatInherited) {}))
	list, err := events.ReadHistory(whole)
	if err != nil {
		t.Fatal(err)
	}
	if last := events.OriginOf(list); len(list) != 4 || last.Rev != 1 || last.Chat != "b" || last.Hash != list[3].Hash {
		t.Errorf("%d commits, the last is %+v", len(list), last)
	}
	for name, change := range map[string]func(*events.ChatInherited){
		"rev":     func(e *events.ChatInherited) { e.Origin.Rev = 2 },
		"hash":    func(e *events.ChatInherited) { e.Origin.Hash = list[0].Hash },
		"chat":    func(e *events.ChatInherited) { e.Origin.Chat = "c" },
		"history": func(e *events.ChatInherited) { e.History = events.DigestOf(nil) },
	} {
		if _, err := events.ReadHistory(slices.Concat(first, goesOn(t, second, first, change))); !errors.Is(err, events.ErrHistory) {
			t.Errorf("another %s: error %v", name, err)
		}
	}
}

// after is a history with one more commit.
func after(t testing.TB, history []byte, list ...events.Event) []byte {
	t.Helper()
	commits, err := events.ReadHistory(history)
	if err != nil {
		t.Fatal(err)
	}
	last := commits[len(commits)-1]
	b, err := events.Encode(events.Commit{ID: "id", Key: last.Key, Rev: last.Rev + 1, Prev: last.Hash, Events: list})
	if err != nil {
		t.Fatal(err)
	}
	return append(append(bytes.Clone(history), b...), '\n')
}

// What makes a chat begin or end is looked for anywhere in a commit.
func TestNoHistoryHidesABeginningOrAnEnd(t *testing.T) {
	t.Parallel()
	whole := lines(t, events.Key{Tenant: "acme", Chat: "a"}, "one")
	if _, err := events.ReadHistory(after(t, whole, events.ChatTitled{Title: "two"})); err != nil {
		t.Fatal(err)
	}
	for _, e := range []events.Event{events.ChatErased{}, events.ContentDeleted{}, events.ChatCreated{}, events.ChatInherited{}} {
		if _, err := events.ReadHistory(after(t, whole, events.ChatTitled{Title: "two"}, e)); !errors.Is(err, events.ErrHistory) {
			t.Errorf("%s behind another event: error %v", e.EventType(), err)
		}
	}
}

// No byte of a history can be another one without its being noticed, but for
// the last commit's, which only who names the whole can tell.
func TestAChangedByteOfAHistoryShows(t *testing.T) {
	t.Parallel()
	whole := lines(t, events.Key{Tenant: "acme", Chat: "a"}, "one", "two")
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n')
	for i := range last {
		changed := bytes.Clone(whole)
		changed[i] ^= 1
		if _, err := events.ReadHistory(changed); err == nil {
			t.Fatalf("byte %d, %q as %q, goes through", i, whole[i], changed[i])
		}
	}
}

func FuzzReadHistory(f *testing.F) {
	first := lines(f, events.Key{Tenant: "acme", Chat: "a"}, "one", "two")
	f.Add(first)
	f.Add(slices.Concat(first, goesOn(f, events.Key{Tenant: "acme", Chat: "b"}, first, func(*events.ChatInherited) {})))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := events.ReadHistory(b)
		if err != nil {
			if _, newer := errors.AsType[*events.VersionError](err); !newer && !errors.Is(err, events.ErrHistory) {
				t.Errorf("error %v", err)
			}
			return
		}
		if origin := events.OriginOf(list); origin.Hash != list[len(list)-1].Hash || bytes.Count(b, []byte("\n")) != len(list) {
			t.Errorf("%d commits, %+v", len(list), origin)
		}
	})
}
