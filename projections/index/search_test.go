package index

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/listing"
)

// Words are found as people mean them, and nothing that is typed is an operator.
func TestWhatIsFound(t *testing.T) {
	t.Parallel()
	l := &logs{}
	k := named(1)
	step := events.StepID{Turn: 1, Step: 1}
	l.write(t, k, noon, "user:ann", created("Käsebrot title"), saying("i", "the quick brown fox's den, AND a NEAR miss"))
	l.write(t, k, noon+1000, "", events.TurnStarted{Turn: 1, Inputs: []string{"i"}},
		events.StepRequested{Step: step, Attempt: 1, Model: "m", Purpose: events.PurposeAnswer})
	l.write(t, k, noon+2000, "", events.StepCompleted{Step: step, Attempt: 1, Parts: []events.Part{
		{Type: events.PartReasoning, Text: "hidden thoughts"}, events.Text("foxes are quick"), chatgen.Call("tool", `{"secretive":1}`),
	}})
	l.write(t, events.Key{Tenant: "zoo", Chat: k.Chat}, noon, "user:zed", created("a fox of theirs"))
	x := follow(t, l, t.TempDir())
	for _, tt := range []struct {
		text string
		want []listing.Kind
	}{
		{"fox", []listing.Kind{listing.KindUser}},
		{"fox*", []listing.Kind{listing.KindAssistant, listing.KindUser}},
		{"QUICK", []listing.Kind{listing.KindAssistant, listing.KindUser}},
		{"quick fox", []listing.Kind{listing.KindUser}},
		{`"quick fox"`, nil},
		{`"quick brown"`, []listing.Kind{listing.KindUser}},
		{`"quick brown`, []listing.Kind{listing.KindUser}},
		{"kasebrot", []listing.Kind{listing.KindTitle}},
		{"and near", []listing.Kind{listing.KindUser}},
		{"text:fox", nil},
		{"fox OR nothing", nil},
		{"NOT fox", nil},
		{"fox -quick ^brown (den)", []listing.Kind{listing.KindUser}},
		{"fox ??? !", []listing.Kind{listing.KindUser}},
		{"hidden", nil},
		{"secretive", nil},
		{"theirs", nil},
		{"t61636d65", nil}, // the word that stands for the tenant
	} {
		var got []listing.Kind
		for _, h := range ask[listing.Hits](t, x.Index, "acme", listing.QuerySearch, listing.SearchRequest{Text: tt.text}).Hits {
			got = append(got, h.Kind)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
	hit := ask[listing.Hits](t, x.Index, "acme", listing.QuerySearch, listing.SearchRequest{Text: "brown", Chat: k.Chat, Owner: "user:ann", Kind: listing.KindUser}).Hits
	want := []listing.Hit{{
		Chat: k.Chat, Title: "Käsebrot title", Rev: 1, At: noon, Kind: listing.KindUser, By: "user:ann",
		Snippet: []listing.Piece{{Text: "the quick "}, {Text: "brown", Found: true}, {Text: " fox's den, AND a NEAR miss"}},
	}}
	if diff := cmp.Diff(want, hit); diff != "" {
		t.Errorf("hit (-want +got):\n%s", diff)
	}
	for _, q := range []listing.SearchRequest{
		{}, {Text: "?!"}, {Text: `""`}, {Text: "*"}, {Text: "fox", Kind: "somebody"}, {Text: "fox", After: "AAAA"}, {Text: "fox", After: "AA", Before: "AA"},
	} {
		_, err := asking[listing.Hits](t, x.Index, "acme", listing.QuerySearch, q)
		if no, ok := errors.AsType[*protocol.RefusedError](err); !ok || no.Code != events.CodeBadCommand {
			t.Errorf("%+v: error %v, want bad_command", q, err)
		}
	}
	for _, text := range []string{strings.Repeat("a ", 17), strings.Repeat("a", listing.MaxSearchBytes+1)} {
		_, err := asking[listing.Hits](t, x.Index, "acme", listing.QuerySearch, listing.SearchRequest{Text: text})
		if no, ok := errors.AsType[*protocol.RefusedError](err); !ok || no.Code != events.CodeTooLarge {
			t.Errorf("%d bytes: error %v, want too_large", len(text), err)
		}
	}
}

// A long message that says one word thousands of times is found as fast as others, and
// its snippet is short, whole characters, and has the word.
func TestAMessageThatRepeatsItselfIsFound(t *testing.T) {
	t.Parallel()
	l := &logs{}
	for n, text := range []string{
		strings.Repeat("a ", 100_000), strings.Repeat("é", 30_000) + " a", strings.Repeat("ü ö ", 5_000) + "a" + strings.Repeat(" 日本", 9_000), "a",
	} {
		l.write(t, named(n), noon+events.Time(n), "user:ann", created("title"), saying("i", text))
	}
	x := follow(t, l, t.TempDir())
	found := ask[listing.Hits](t, x.Index, "acme", listing.QuerySearch, listing.SearchRequest{Text: "a"})
	if len(found.Hits) != 4 {
		t.Errorf("found %d times, want 4", len(found.Hits))
	}
	for _, h := range found.Hits {
		text, marked := textIn(h), false
		for _, p := range h.Snippet {
			marked = marked || p.Found && p.Text == "a"
		}
		if !marked || len(text) > bytesShown+2*len("…") || !utf8.ValidString(text) || strings.Contains(text, events.Replacement) {
			t.Errorf("snippet of %s: %q", h.Chat, text)
		}
	}
}

// Whatever is typed is a search or is refused: no text makes the file complain.
func FuzzSearch(f *testing.F) {
	for _, text := range []string{`fox`, `"`, `a"b*`, `NEAR(a b)`, "\x00*", "^a + -b", "{text}:a", "ﬀ", "\u0345", "½"} {
		f.Add(text)
	}
	l := &logs{}
	l.write(f, named(1), noon, "user:ann", created("fox"))
	x := follow(f, l, f.TempDir())
	f.Fuzz(func(t *testing.T, text string) {
		_, err := asking[listing.Hits](t, x.Index, "acme", listing.QuerySearch, listing.SearchRequest{Text: text})
		if _, refused := errors.AsType[*protocol.RefusedError](err); err != nil && !refused {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// What a fork or an import goes on from is found in it, said to be inherited, and what
// it cost is not counted again. Text that lies apart is found, too.
func TestAForkShowsWhatItGoesOnFrom(t *testing.T) {
	t.Parallel()
	l := &logs{blobs: map[events.Digest][]byte{}}
	origin := chatgen.New(events.Key{Tenant: "acme", Chat: "origin"})
	origin.Create(events.Settings{Model: "large", Tools: &[]string{}})
	origin.Send("a zebra")
	origin.Answer(events.Text("striped"))
	origin.Send("and " + strings.Repeat("a very long story ", 6000) + "of a quagga")
	origin.Answer(events.Text("extinct"))
	fork := origin.ForkAt(events.Key{Tenant: "acme", Chat: "fork"}, origin.State.Rev())
	moved := origin.ImportAt(events.Key{Tenant: "zoo", Chat: "moved"}, origin.State.Rev())
	for _, c := range []*chatgen.Chat{origin, fork, moved} {
		for _, b := range c.Bytes {
			l.put(c.Key(), b)
		}
		maps.Copy(l.blobs, c.Blobs)
	}
	x := follow(t, l, t.TempDir())
	found := map[string]bool{}
	for _, tenant := range []string{"acme", "zoo"} {
		for _, word := range []string{"zebra", "striped", "story", "extinct"} {
			for _, h := range ask[listing.Hits](t, x.Index, tenant, listing.QuerySearch, listing.SearchRequest{Text: word}).Hits {
				found[fmt.Sprint(tenant, " ", h.Chat, " ", word, " ", h.Inherited)] = true
			}
		}
	}
	want := map[string]bool{}
	for _, word := range []string{"zebra", "striped", "story", "extinct"} {
		want["acme origin "+word+" false"], want["acme fork "+word+" true"], want["zoo moved "+word+" true"] = true, true, true
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	for tenant, attempts := range map[string]int64{"acme": 2, "zoo": 0} {
		if got := ask[listing.Usage](t, x.Index, tenant, listing.QueryUsage, listing.UsageRequest{}).Total.Attempts; got != attempts {
			t.Errorf("%s: %d attempts are counted, want %d", tenant, got, attempts)
		}
	}
	line := ask[listing.Chats](t, x.Index, "zoo", listing.QueryChats, listing.ChatsRequest{}).Chats
	if len(line) != 1 || line[0].Title != "a zebra" || line[0].MessageCount != 4 || line[0].TurnCount != 2 || line[0].Origin == nil || line[0].Origin.Chat != "origin" || line[0].Owner != "user:ann" {
		t.Errorf("what was imported is listed as %+v", line)
	}
}

// No tenant sees, or can tell that there is, anything of another's.
func TestNoTenantSeesAnothers(t *testing.T) {
	t.Parallel()
	l := histories(t, 21, 20, 60)
	x := follow(t, l, t.TempDir())
	theirs := map[string]bool{}
	for _, c := range every(t, x.Index, "zoo", listing.ChatsRequest{Children: true, Archived: listing.ArchivedToo}, nil) {
		theirs[c.Chat] = true
	}
	cursor := ask[listing.Chats](t, x.Index, "zoo", listing.QueryChats, listing.ChatsRequest{Limit: 2}).Next
	for _, c := range ask[listing.Chats](t, x.Index, "acme", listing.QueryChats, listing.ChatsRequest{After: cursor, Children: true}).Chats {
		if theirs[c.Chat] {
			t.Errorf("another's cursor shows %s", c.Chat)
		}
	}
	for chat := range theirs {
		if a := ask[listing.Chats](t, x.Index, "acme", listing.QueryChats, listing.ChatsRequest{Chat: chat, Children: true}); len(a.Chats) > 0 {
			t.Errorf("%s is listed", chat)
		}
		if a := ask[listing.Open](t, x.Index, "acme", listing.QueryOpen, listing.OpenRequest{Chat: chat}); len(a.Open) > 0 {
			t.Errorf("%s waits", chat)
		}
		if a := ask[listing.Usage](t, x.Index, "acme", listing.QueryUsage, listing.UsageRequest{Chat: chat}); a.Total.Attempts > 0 {
			t.Errorf("%s is counted", chat)
		}
		for _, word := range []string{"a*", "i*", "t*", "s*"} {
			if a := ask[listing.Hits](t, x.Index, "acme", listing.QuerySearch, listing.SearchRequest{Text: word, Chat: chat}); len(a.Hits) > 0 {
				t.Errorf("%s is found", chat)
			}
		}
	}
	if len(theirs) == 0 {
		t.Error("there is nothing to be seen")
	}
	for _, tenant := range []string{"", "*", "a.b", ">", "nobody"} {
		for name := range x.Queries() {
			body := `{}`
			if name == listing.QuerySearch {
				body = `{"text":"a*"}`
			}
			answer, err := x.Queries()[name](t.Context(), tenant, []byte(body))
			if err == nil && strings.Contains(string(answer), "chat-") {
				t.Errorf("%q sees %s", tenant, answer)
			}
		}
	}
}

// What waits in a chat that works for another is found under its own chat, and under
// the owner of the other.
func TestWhatWaitsIsFoundByTheOwner(t *testing.T) {
	t.Parallel()
	l := &logs{}
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	l.write(t, named(1), noon, "user:ann", created("parent"))
	l.write(t, named(2), noon+1, "", events.ChatSpawned{Parent: events.Parent{Chat: named(1).Chat, Call: call}, Title: "child"})
	l.write(t, named(2), noon+2, "", events.TurnStarted{Turn: 1}, events.ApprovalRequested{Call: call, Tool: "mail", Due: noon + 9})
	l.write(t, named(3), noon, "user:bob", created("other"))
	for n := range 5 {
		l.write(t, named(3), noon+3, "", events.ActionRequested{Calls: []events.CallID{{Turn: 1, Step: 1, Ordinal: n + 1}}, Due: noon + 9})
	}
	x := follow(t, l, t.TempDir())
	got := ask[listing.Open](t, x.Index, "acme", listing.QueryOpen, listing.OpenRequest{Owner: "user:ann"})
	want := listing.Open{Open: []listing.Waiting{{
		Chat: named(2).Chat, Title: "child", Parent: &events.Parent{Chat: named(1).Chat, Call: call}, Kind: listing.OpenApproval,
		Since: noon + 2, Rev: 2, Due: noon + 9, Turn: 1, Call: &call, Tool: "mail",
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
	var all []listing.Waiting
	q := listing.OpenRequest{Limit: 2}
	for {
		a := ask[listing.Open](t, x.Index, "acme", listing.QueryOpen, q)
		all = append(all, a.Open...)
		if q.After = a.Next; q.After == "" {
			break
		}
	}
	if len(all) != 6 || all[0].Kind != listing.OpenApproval {
		t.Errorf("%d things wait in pages: %+v", len(all), all)
	}
	if a := ask[listing.Open](t, x.Index, "acme", listing.QueryOpen, listing.OpenRequest{Kinds: []listing.OpenKind{listing.OpenQuestion}}); len(a.Open) > 0 {
		t.Errorf("questions: %+v", a)
	}
	for _, q := range []listing.OpenRequest{{Kinds: []listing.OpenKind{"lunch"}}, {After: "AAAA"}, {Limit: 1000}} {
		_, err := asking[listing.Open](t, x.Index, "acme", listing.QueryOpen, q)
		if no, ok := errors.AsType[*protocol.RefusedError](err); !ok || no.Code != events.CodeBadCommand {
			t.Errorf("%+v: error %v, want bad_command", q, err)
		}
	}
}
