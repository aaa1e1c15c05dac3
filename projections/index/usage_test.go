package index

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol/listing"
)

// turnOf is a turn with one answer, by the agent that its settings name.
func turnOf(n int, agent string, meanwhile ...events.Event) []events.Event {
	step := events.StepID{Turn: n, Step: 1}
	settings := events.RecordedSettings{Digest: events.DigestOf([]byte(agent)), Body: &events.Effective{Agent: agent}}
	return slices.Concat(
		[]events.Event{events.TurnStarted{Turn: n, Settings: settings}},
		meanwhile,
		[]events.Event{
			events.StepRequested{Step: step, Attempt: 1, Model: "large", Purpose: events.PurposeAnswer},
			events.StepCompleted{Step: step, Attempt: 1, Usage: events.Usage{Input: 10, Output: 1}},
			events.TurnCompleted{Turn: n},
		},
	)
}

// A row whose key is empty, which is that of no agent, is a page's last like any other.
func TestUsageIsPagedBehindAnEmptyKey(t *testing.T) {
	t.Parallel()
	l := &logs{}
	l.write(t, named(1), noon, "user:ann", created(""))
	for n, agent := range []string{"", "helper", "writer"} {
		l.write(t, named(1), noon, "user:ann", turnOf(n+1, agent)...)
	}
	x := follow(t, l, t.TempDir())
	var got []string
	for q := (listing.UsageRequest{By: listing.ByAgent, Limit: 1}); ; {
		page := ask[listing.Usage](t, x.Index, "acme", listing.QueryUsage, q)
		for _, row := range page.Rows {
			got = append(got, row.Key)
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"", "helper", "writer"}, got); diff != "" {
		t.Errorf("agents on pages of one (-want +got):\n%s", diff)
	}
}

// Settings that are changed while a turn runs are those of the next one: what the turn
// uses is its agent's.
func TestUsageIsThatOfTheTurnsAgent(t *testing.T) {
	t.Parallel()
	l := &logs{}
	l.write(t, named(1), noon, "user:ann", created(""))
	l.write(t, named(1), noon, "user:ann", turnOf(1, "helper", events.ChatConfigured{Settings: events.Settings{Agent: "writer"}})...)
	x := follow(t, l, t.TempDir())
	rows := ask[listing.Usage](t, x.Index, "acme", listing.QueryUsage, listing.UsageRequest{By: listing.ByAgent}).Rows
	if len(rows) != 1 || rows[0].Key != "helper" {
		t.Errorf("a turn of helper is counted as %+v", rows)
	}
}

// A fork made while a model is asked gives that attempt up in its first commit. It did
// not ask, so it counts nothing; what it asks itself it does.
func TestAForkCountsNoAttemptThatItDidNotMake(t *testing.T) {
	t.Parallel()
	l := &logs{blobs: map[events.Digest][]byte{}}
	origin := chatgen.New(events.Key{Tenant: "acme", Chat: "origin"})
	origin.Create(events.Settings{Model: "large", Tools: &[]string{}})
	origin.Send("a zebra")
	fork := origin.ForkAt(events.Key{Tenant: "acme", Chat: "fork"}, origin.State.Rev())
	fork.Send("and a quagga")
	fork.Answer(events.Text("extinct"))
	for _, c := range []*chatgen.Chat{origin, fork} {
		for _, b := range c.Bytes {
			l.put(c.Key(), b)
		}
		maps.Copy(l.blobs, c.Blobs)
	}
	x := follow(t, l, t.TempDir())
	if got := ask[listing.Usage](t, x.Index, "acme", listing.QueryUsage, listing.UsageRequest{Chat: "fork"}).Total.Attempts; got != 1 {
		t.Errorf("%d attempts are counted of the fork, want its own one", got)
	}
}

// A title that was asked for in the origin is not the one that a fork asks for, though
// both attempts are called the same.
func TestAForkAsksForATitleByItself(t *testing.T) {
	t.Parallel()
	f := fold{chat: &chat{}}
	title := func(model string) events.StepRequested {
		return events.StepRequested{Step: events.StepID{Step: 1}, Attempt: 1, Model: model, Purpose: events.PurposeTitle}
	}
	f.inherit([]events.Recorded{{Commit: events.Commit{Events: []events.Event{created(""), title("origin's")}}}})
	f.event(events.ChatInherited{})
	f.event(title("fork's"))
	f.event(events.StepCompleted{Step: events.StepID{Step: 1}, Attempt: 1, Usage: events.Usage{Input: 1}})
	for as := range f.spent {
		if as.model != "fork's" {
			t.Errorf("what the fork used is counted as %+v", as)
		}
	}
	if len(f.spent) != 1 {
		t.Errorf("%d rows of usage, want 1", len(f.spent))
	}
}

// However much is told of what waits, a page of it has room in an answer.
func TestAPageOfWhatWaitsHasRoomInAnAnswer(t *testing.T) {
	t.Parallel()
	l := &logs{}
	long := strings.Repeat(`"\`, maxOpenBytes)
	const chats = listing.MaxLimit
	for n := range chats {
		k := named(n)
		l.write(t, k, noon, "user:ann", created(long))
		call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
		l.write(t, k, noon, "", events.QuestionAsked{Call: call, Questions: []events.Question{{Text: long}}})
	}
	x := follow(t, l, t.TempDir())
	seen := 0
	for q := (listing.OpenRequest{Limit: listing.MaxLimit}); ; {
		page := ask[listing.Open](t, x.Index, "acme", listing.QueryOpen, q)
		seen += len(page.Open)
		raw, err := question.Encode(page)
		if err != nil || len(raw) > question.MaxAnswerBytes {
			t.Fatalf("an answer of %d bytes, %v; at most %d have room", len(raw), err, question.MaxAnswerBytes)
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	if seen != chats {
		t.Errorf("%d things wait on all pages, want %d", seen, chats)
	}
}

// An image that somebody sends is nothing to search; the words that replace it are.
func TestAnInputIsFoundByTheWordsItWasGivenLater(t *testing.T) {
	t.Parallel()
	l := &logs{}
	image := events.Part{Type: events.PartImage, Blob: events.DigestOf([]byte("image")), MediaType: "image/png"}
	l.write(t, named(1), noon, "user:ann", created(""),
		events.InputAccepted{Input: "i1", Parts: []events.Part{image}, Mode: events.ModeQueue, By: "user:ann"})
	l.write(t, named(1), noon, "user:ann", events.InputEdited{Input: "i1", Parts: []events.Part{events.Text("a zebra")}, By: "user:ann"})
	l.write(t, named(1), noon, "user:ann", events.InputEdited{Input: "i1", Parts: []events.Part{image}, By: "user:ann"})
	l.write(t, named(1), noon, "user:ann", events.InputEdited{Input: "i1", Parts: []events.Part{events.Text("a quagga")}, By: "user:ann"})
	x := follow(t, l, t.TempDir())
	for word, want := range map[string]int{"zebra": 0, "quagga": 1} {
		if got := ask[listing.Hits](t, x.Index, "acme", listing.QuerySearch, listing.SearchRequest{Text: word}).Hits; len(got) != want {
			t.Errorf("%s is found %d times, want %d", word, len(got), want)
		}
	}
}

// Whose a chat is, its first commit says. If that cannot be read, nobody knows: it is
// not whoever sent the next command.
func TestAChatIsNotTheirsWhoWroteInIt(t *testing.T) {
	t.Parallel()
	l := &logs{}
	l.write(t, named(1), noon, "user:ann", created(""))
	n, k := 0, named(1)
	for shard, list := range l.stored {
		if len(list) > 0 {
			n = shard
		}
	}
	l.stored[n][0].Body = fmt.Appendf(nil, `{"v":1,"id":"x","tenant":%q,"chat":%q,"rev":1,"at":"2026-11-29T12:00:00Z","events":[{"type":"chat.created.v9"}]}`, k.Tenant, k.Chat)
	l.write(t, k, noon, "user:bob", saying("i1", "hello"))
	x := follow(t, l, t.TempDir())
	list := ask[listing.Chats](t, x.Index, "acme", listing.QueryChats, listing.ChatsRequest{}).Chats
	if len(list) != 1 || list[0].Owner != "" {
		t.Errorf("the chat is listed as %+v", list)
	}
}
