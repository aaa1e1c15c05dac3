package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/listing"
)

// created is the first event of a chat.
func created(title string) events.Event { return events.ChatCreated{Title: title} }

// saying is an input of that text.
func saying(id, text string) events.Event {
	return events.InputAccepted{Input: id, Parts: []events.Part{events.Text(text)}, Mode: events.ModeQueue, By: "user:ann"}
}

func named(n int) events.Key { return events.Key{Tenant: "acme", Chat: fmt.Sprintf("chat-%03d", n)} }

func idsOf(list []listing.Chat) []string {
	ids := make([]string, len(list))
	for n, c := range list {
		ids[n] = c.Chat
	}
	return ids
}

// B45: 25 chats and 25 hits of one instant, pages of 20, and more comes between the
// pages: forwards and backwards each is seen once.
func TestB45_OneInstantIsPagedWithoutRepeatsOrHoles(t *testing.T) {
	t.Parallel()
	l := &logs{}
	for n := range 25 {
		l.write(t, named(n), noon, "user:ann", created(""), saying(fmt.Sprint("i", n), "the same instant"))
	}
	x := follow(t, l, t.TempDir())
	more := func() {
		for n := range 30 {
			l.write(t, named(100+n), noon, "user:ann", created(""), saying(fmt.Sprint("j", n), "the same instant"))
			l.write(t, named(n), noon, "user:ann", saying(fmt.Sprint("k", n), "the same instant"))
		}
		x.caughtUp(l)
	}

	first := ask[listing.Chats](t, x.Index, "acme", listing.QueryChats, listing.ChatsRequest{Limit: 20})
	found := ask[listing.Hits](t, x.Index, "acme", listing.QuerySearch, listing.SearchRequest{Text: "instant", Limit: 20})
	more()
	second := ask[listing.Chats](t, x.Index, "acme", listing.QueryChats, listing.ChatsRequest{Limit: 20, After: first.Next})
	forwards := slices.Concat(idsOf(first.Chats), idsOf(second.Chats))
	if second.Next != "" || len(forwards) != 25 || len(slices.Compact(slices.Sorted(slices.Values(forwards)))) != 25 {
		t.Errorf("forwards: %d chats: %v", len(forwards), forwards)
	}
	back := ask[listing.Chats](t, x.Index, "acme", listing.QueryChats, listing.ChatsRequest{Limit: 20, Before: second.Previous})
	if diff := cmp.Diff(idsOf(first.Chats), idsOf(back.Chats)); diff != "" {
		t.Errorf("backwards (-first page +again):\n%s", diff)
	}
	if back.Previous != "" {
		t.Error("something stands in front of the first page")
	}

	rest := ask[listing.Hits](t, x.Index, "acme", listing.QuerySearch, listing.SearchRequest{Text: "instant", Limit: 20, After: found.Next})
	seen := map[string]int{}
	for _, h := range slices.Concat(found.Hits, rest.Hits) {
		seen[fmt.Sprintf("%s rev %d", h.Chat, h.Rev)]++
	}
	for n := range 25 {
		if hit := fmt.Sprintf("%s rev 1", named(n).Chat); seen[hit] != 1 {
			t.Errorf("%s was found %d times", hit, seen[hit])
		}
	}
	reading := listing.Hits{Previous: rest.Previous, Hits: rest.Hits}
	seen = map[string]int{}
	for {
		for _, h := range reading.Hits {
			seen[fmt.Sprintf("%s rev %d", h.Chat, h.Rev)]++
		}
		if reading.Previous == "" {
			break
		}
		reading = ask[listing.Hits](t, x.Index, "acme", listing.QuerySearch, listing.SearchRequest{Text: "instant", Limit: 20, Before: reading.Previous})
	}
	for n := range 25 {
		if hit := fmt.Sprintf("%s rev 1", named(n).Chat); seen[hit] != 1 {
			t.Errorf("backwards %s was found %d times", hit, seen[hit])
		}
	}
}

// Whatever happens to chats while somebody reads the list: each that was there at the
// first page and is not erased stands on one page, and none that came later does.
func TestAListShowsEachChatOnceWhileChatsChange(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			chance := rand.New(rand.NewPCG(seed, 45))
			l := &logs{}
			change := func(n int) {
				k, at := named(n), noon.Add(0)+events.Time(chance.IntN(50)) // clocks differ
				list := []events.Event{saying(fmt.Sprint("i", l.revs[k]), "hello")}
				if l.revs[k] == 0 {
					list = slices.Insert(list, 0, created(""))
				}
				l.write(t, k, at, "user:ann", list...)
			}
			there := map[string]int{}
			for n := range 60 {
				change(n)
				there[named(n).Chat] = 0
			}
			x := follow(t, l, t.TempDir())
			limit := 1 + chance.IntN(15)
			erased := ""
			list := every(t, x.Index, "acme", listing.ChatsRequest{Limit: limit}, func() {
				for range chance.IntN(40) {
					n := chance.IntN(80)
					if named(n).Chat != erased {
						change(n)
					}
				}
				if erased == "" {
					k := named(chance.IntN(60))
					erased = k.Chat
					l.write(t, k, noon, "user:ann", events.ChatErased{})
				}
				x.caughtUp(l)
			})
			for _, c := range list {
				count, known := there[c.Chat]
				if !known {
					t.Errorf("%s was made later", c.Chat)
				}
				there[c.Chat] = count + 1
			}
			for chat, count := range there {
				if count != 1 && (chat != erased || count > 1) {
					t.Errorf("%s is listed %d times, in pages of %d", chat, count, limit)
				}
			}
		})
	}
}

// Backwards from the end the same list is read, whatever has changed.
func TestAListReadsBackwardsAsForwards(t *testing.T) {
	t.Parallel()
	l := &logs{}
	for n := range 40 {
		l.write(t, named(n), noon+events.Time(n/4), "user:ann", created(""))
	}
	x := follow(t, l, t.TempDir())
	q := listing.ChatsRequest{Limit: 7}
	var forwards, backwards []string
	var last listing.Chats
	for {
		last = ask[listing.Chats](t, x.Index, "acme", listing.QueryChats, q)
		forwards = append(forwards, idsOf(last.Chats)...)
		if q.After = last.Next; q.After == "" {
			break
		}
		l.write(t, named(len(forwards)%40), noon+99, "user:ann", saying("i", "hello"))
		x.caughtUp(l)
	}
	backwards = idsOf(last.Chats)
	for last.Previous != "" {
		last = ask[listing.Chats](t, x.Index, "acme", listing.QueryChats, listing.ChatsRequest{Limit: 7, Before: last.Previous})
		backwards = slices.Concat(idsOf(last.Chats), backwards)
	}
	if diff := cmp.Diff(forwards, backwards); diff != "" {
		t.Errorf("list (-forwards +backwards):\n%s", diff)
	}
}

// A list that somebody else began, who has read further, waits for what is missing here.
func TestACursorIsGoodAtEveryProcess(t *testing.T) {
	t.Parallel()
	l := &logs{}
	for n := range 9 {
		l.write(t, named(n), noon+events.Time(n), "user:ann", created(""))
	}
	one, other := follow(t, l, t.TempDir()), follow(t, l, t.TempDir())
	first := ask[listing.Chats](t, one.Index, "acme", listing.QueryChats, listing.ChatsRequest{Limit: 5})
	second := ask[listing.Chats](t, other.Index, "acme", listing.QueryChats, listing.ChatsRequest{Limit: 5, After: first.Next})
	if got := slices.Concat(idsOf(first.Chats), idsOf(second.Chats)); len(got) != 9 {
		t.Errorf("listed by two: %v", got)
	}
	other.stop()
	behind, err := New(other.cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := behind.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	behind.use(s) // it answers, and reads no more
	defer behind.use(nil)
	l.write(t, named(3), noon+99, "user:ann", saying("i", "hello"))
	one.caughtUp(l)
	ahead := ask[listing.Chats](t, one.Index, "acme", listing.QueryChats, listing.ChatsRequest{Limit: 5})
	_, err = asking[listing.Chats](t, behind, "acme", listing.QueryChats, listing.ChatsRequest{Limit: 5, After: ahead.Next})
	if no, ok := errors.AsType[*protocol.RefusedError](err); !ok || no.Code != events.CodeUnavailable {
		t.Errorf("error %v, want unavailable", err)
	}
}

// Filters choose, archived ones and those that work for others are out of the way, and
// whoever has just written waits for the commit.
func TestWhatIsAskedOfAList(t *testing.T) {
	t.Parallel()
	l := &logs{}
	running := events.TurnStarted{Turn: 1, Settings: events.RecordedSettings{Digest: "d", Body: &events.Effective{Agent: "clerk"}}}
	l.write(t, named(1), noon+1, "user:ann", created("one"))
	l.write(t, named(2), noon+2, "user:bob", created("two"), saying("i", "hello"), running)
	l.write(t, named(3), noon+3, "user:ann", created("three"), events.ChatArchived{})
	l.write(t, named(4), noon+4, "", events.ChatSpawned{Parent: events.Parent{Chat: named(2).Chat, Call: events.CallID{Turn: 1, Step: 1, Ordinal: 1}}})
	l.write(t, events.Key{Tenant: "zoo", Chat: named(1).Chat}, noon+5, "user:ann", created("theirs"))
	x := follow(t, l, t.TempDir())
	for _, tt := range []struct {
		name string
		q    listing.ChatsRequest
		want []string
	}{
		{"what is there", listing.ChatsRequest{}, []string{named(2).Chat, named(1).Chat}},
		{"an owner", listing.ChatsRequest{Owner: "user:ann"}, []string{named(1).Chat}},
		{"an owner, and what is archived", listing.ChatsRequest{Owner: "user:ann", Archived: listing.ArchivedToo}, []string{named(3).Chat, named(1).Chat}},
		{"what is archived", listing.ChatsRequest{Archived: listing.ArchivedOnly}, []string{named(3).Chat}},
		{"what runs", listing.ChatsRequest{Status: listing.StatusRunning}, []string{named(2).Chat}},
		{"an agent", listing.ChatsRequest{Agent: "clerk"}, []string{named(2).Chat}},
		{"children too", listing.ChatsRequest{Children: true}, []string{named(4).Chat, named(2).Chat, named(1).Chat}},
		{"children of one", listing.ChatsRequest{Parent: named(2).Chat}, []string{named(4).Chat}},
		{"one", listing.ChatsRequest{Chat: named(3).Chat, MinRev: 1}, []string{named(3).Chat}},
		{"one that is another tenant's", listing.ChatsRequest{Chat: "theirs"}, []string{}},
	} {
		got := idsOf(ask[listing.Chats](t, x.Index, "acme", listing.QueryChats, tt.q).Chats)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	for _, q := range []listing.ChatsRequest{
		{Limit: -1},
		{Limit: listing.MaxLimit + 1},
		{V: 7},
		{Status: "asleep"},
		{Archived: "never"},
		{After: "!"},
		{After: "AAAA"},
		{After: "AA", Before: "AA"},
		{MinRev: 3},
	} {
		_, err := asking[listing.Chats](t, x.Index, "acme", listing.QueryChats, q)
		if no, ok := errors.AsType[*protocol.RefusedError](err); !ok || no.Code != events.CodeBadCommand {
			t.Errorf("%+v: error %v, want bad_command", q, err)
		}
	}
	_, err := asking[listing.Chats](t, x.Index, "acme", listing.QueryChats, listing.ChatsRequest{Chat: named(1).Chat, MinRev: 2})
	if no, ok := errors.AsType[*protocol.RefusedError](err); !ok || no.Code != events.CodeUnavailable {
		t.Errorf("a rev that does not come: error %v, want unavailable", err)
	}
}
