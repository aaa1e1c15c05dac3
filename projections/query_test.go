package projections_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
)

// ask puts a query as it comes from the bus.
func ask(t *testing.T, p *projections.Projections, name, body string) ([]byte, error) {
	t.Helper()
	return p.Queries()[name](t.Context(), ann.Tenant, []byte(body))
}

func TestAQueryThatIsNotUnderstoodIsRefused(t *testing.T) {
	t.Parallel()

	p := open(t, oneTurn().written(), nil)
	for _, tt := range []struct {
		name, query, body string
		want              events.Code
	}{
		{"no JSON", "chat", "nonsense", events.CodeBadCommand},
		{"an empty body", "chat", "", events.CodeBadCommand},
		{"no object", "chat", `["ann"]`, events.CodeBadCommand},
		{"an unknown field", "chat", `{"chat":"ann","min-rev":1}`, events.CodeBadCommand},
		{"two values", "chat", `{"chat":"ann"}{}`, events.CodeBadCommand},
		{"another version", "chat", `{"v":2,"chat":"ann"}`, events.CodeBadCommand},
		{"no chat", "chat", `{}`, events.CodeBadCommand},
		{"a chat that would name another subject", "chat", `{"chat":"a.b"}`, events.CodeBadCommand},
		{"a body that is too large", "chat", `{"chat":"` + strings.Repeat("a", 5_000) + `"}`, events.CodeTooLarge},
		{"a negative number of messages", "transcript", `{"chat":"ann","limit":-1}`, events.CodeBadCommand},
		{"too many messages", "transcript", `{"chat":"ann","limit":1001}`, events.CodeBadCommand},
		{"a negative place", "transcript", `{"chat":"ann","after":-1}`, events.CodeBadCommand},
		{"a time that is none", "transcript", `{"chat":"ann","at":"yesterday"}`, events.CodeBadCommand},
		{"a rev that is none", "transcript", `{"chat":"ann","at":1.5}`, events.CodeBadCommand},
		{"rev 0", "transcript", `{"chat":"ann","at":0}`, events.CodeBadCommand},
		{"no command", "command", `{"chat":"ann"}`, events.CodeBadCommand},
		{"a chat that does not exist", "chat", `{"chat":"bob"}`, events.CodeUnknownChat},
		{"a transcript of a chat that does not exist", "transcript", `{"chat":"bob"}`, events.CodeUnknownChat},
		{"a command of a chat that does not exist", "command", `{"chat":"bob","id":"x"}`, events.CodeUnknownChat},
		{"a time before the chat", "transcript", `{"chat":"ann","at":"2026-11-29T11:00:00Z"}`, events.CodeUnknownChat},
		{"a command nobody decided", "command", `{"chat":"ann","id":"unheard of"}`, events.CodeUnavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if answer, err := ask(t, p, tt.query, tt.body); codeOf(err) != tt.want {
				t.Errorf("answer %s, error %v, want code %s", answer, err, tt.want)
			}
		})
	}
}

func TestAnotherTenantsChatDoesNotExist(t *testing.T) {
	t.Parallel()

	p := open(t, oneTurn().written(), nil)
	if _, err := p.Queries()["chat"](t.Context(), "other", []byte(`{"chat":"ann"}`)); codeOf(err) != events.CodeUnknownChat {
		t.Errorf("error %v, want code %s", err, events.CodeUnknownChat)
	}
	if _, err := p.Queries()["chat"](t.Context(), "no.tenant", []byte(`{"chat":"ann"}`)); codeOf(err) != events.CodeBadCommand {
		t.Errorf("error %v, want code %s", err, events.CodeBadCommand)
	}
}

func TestATranscriptAsItWas(t *testing.T) {
	t.Parallel()

	p := open(t, oneTurn().written(), nil)
	for _, tt := range []struct {
		name, at string
		want     uint64
		messages int
	}{
		{"at a rev", `2`, 2, 1},
		{"at the newest rev", `3`, 3, 2},
		{"at a time", `"2026-11-29T12:00:02.500Z"`, 2, 1},
		{"at a commit's own time", `"2026-11-29T12:00:02Z"`, 2, 1},
		{"at a time to come", `"2099-01-01T00:00:00Z"`, 3, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for range 2 { // from the log, and from the cache
				answer, err := ask(t, p, "transcript", `{"chat":"ann","at":`+tt.at+`}`)
				if err != nil {
					t.Fatal(err)
				}
				var got projections.Transcript
				if err := json.Unmarshal(answer, &got); err != nil {
					t.Fatal(err)
				}
				if got.Rev != tt.want || len(got.Messages) != tt.messages {
					t.Errorf("rev %d with %d messages, want rev %d with %d", got.Rev, len(got.Messages), tt.want, tt.messages)
				}
			}
		})
	}
}

func TestATranscriptGrowsWithItsLog(t *testing.T) {
	t.Parallel()

	whole := oneTurn()
	b := whole[:2].written()
	p := open(t, b, nil)
	request := projections.TranscriptRequest{Chat: ann.Chat}
	before, err := p.Transcript(t.Context(), ann.Tenant, request)
	if err != nil {
		t.Fatal(err)
	}
	b.write(ann, command("command-3"), whole[2]...)
	after, err := p.Transcript(t.Context(), ann.Tenant, request)
	if err != nil {
		t.Fatal(err)
	}
	if before.Rev != 2 || after.Rev != 3 || len(after.Messages) != 2 {
		t.Errorf("rev %d, then rev %d with %d messages; want 2, then 3 with 2", before.Rev, after.Rev, len(after.Messages))
	}
	if b.count() != len(whole) {
		t.Errorf("%d commits were read, want each once: %d", b.count(), len(whole))
	}
}

func TestAQueryWaitsForTheRevItAsksFor(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		b := oneTurn()[:2].written()
		p := open(t, b, nil)
		time.AfterFunc(time.Second, func() { b.write(ann, command("command-3"), oneTurn()[2]...) })
		head, err := p.Chat(t.Context(), ann.Tenant, projections.ChatRequest{Chat: ann.Chat, MinRev: 3})
		if err != nil || head.Rev != 3 {
			t.Errorf("rev %d, error %v, want rev 3", head.Rev, err)
		}
	})
}

func TestAQueryDoesNotWaitForEver(t *testing.T) {
	t.Parallel()

	for _, body := range []string{`{"chat":"ann","min_rev":4}`, `{"chat":"ann","at":4}`} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				_, err := ask(t, open(t, oneTurn().written(), nil), "transcript", body)
				if waited := time.Since(begun); codeOf(err) != events.CodeUnavailable || waited != 2*time.Second {
					t.Errorf("error %v after %s, want code %s after 2s", err, waited, events.CodeUnavailable)
				}
			})
		})
	}
}

func TestAQueryEndsWithItsContext(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := open(t, oneTurn().written(), nil).Chat(ctx, ann.Tenant, projections.ChatRequest{Chat: ann.Chat, MinRev: 4})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestTheOutcomeOfACommandOfAnyAge(t *testing.T) {
	t.Parallel()

	b := story{
		{created()},
		{said("i1", "one"), started(1, "i1"), asked(1, 1, 1)},
		{events.CommandRejected{Verb: "retry", Code: events.CodeNotIdle, Message: "turn 1 is running", Status: "running"}},
		{events.TurnInterruptRequested{Turn: 1}},
		{events.CommandNoted{Verb: "interrupt", Turn: 1}},
		{said("i2", "two")},
	}.written()
	for range 300 { // far more than a chat itself remembers
		b.write(ann, command(fmt.Sprintf("later-%d", b.count())), events.ChatArchived{})
	}
	b.write(ann, events.Cause{Kind: events.CausedByTimer, ID: "command-1"}, events.ChatUnarchived{})
	b.write(ann, command("command-2"), events.ChatArchived{}) // sent again long after
	p := open(t, b, nil)
	for id, want := range map[string]protocol.Reply{
		"command-1": {ID: "command-1", OK: true, Rev: 1},
		"command-2": {ID: "command-2", OK: true, Rev: 2, Turn: 1, Input: "i1"},
		"command-3": {ID: "command-3", Rev: 3, Code: events.CodeNotIdle, Message: "turn 1 is running", Status: "running"},
		"command-4": {ID: "command-4", OK: true, Rev: 4, Turn: 1},
		"command-5": {ID: "command-5", OK: true, Rev: 5, Turn: 1},
		"command-6": {ID: "command-6", OK: true, Rev: 6, Input: "i2"},
	} {
		got, err := p.Command(t.Context(), ann.Tenant, projections.CommandRequest{Chat: ann.Chat, ID: id})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("outcome of %s (-want +got):\n%s", id, diff)
		}
	}
}

func TestADamagedLogIsNotShownAsATranscript(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name   string
		damage func(*book)
		want   events.Code
	}{
		{"a byte was changed", func(b *book) { b.stored[ann][1].Body = append(b.stored[ann][1].Body, ' ') }, events.CodeChatStopped},
		{"a commit is missing", func(b *book) { b.stored[ann] = slices.Delete(b.stored[ann], 1, 2) }, events.CodeChatStopped},
		{"a commit is none", func(b *book) { b.put(ann, []byte("nonsense")) }, events.CodeChatStopped},
		{"a commit is another chat's", func(b *book) {
			b.write(events.Key{Tenant: "acme", Chat: "bob"}, command("x"), created())
			b.put(ann, b.stored[events.Key{Tenant: "acme", Chat: "bob"}][0].Body)
		}, events.CodeChatStopped},
		{"a newer release wrote a commit", func(b *book) {
			b.put(ann, []byte(`{"v":1,"id":"x","tenant":"acme","chat":"ann","rev":4,"prev":"`+b.prev[ann]+`","at":"2026-11-29T12:00:09Z",`+
				`"cause":{"kind":"command","id":"x"},"events":[{"type":"chat.sung.v1","data":{}}]}`))
		}, events.CodeUnavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := oneTurn().written()
			tt.damage(b)
			p := open(t, b, nil)
			for range 2 {
				if _, err := ask(t, p, "transcript", `{"chat":"ann"}`); codeOf(err) != tt.want {
					t.Errorf("error %v, want code %s", err, tt.want)
				}
			}
			if _, err := ask(t, p, "transcript", `{"chat":"ann","at":1}`); err != nil {
				t.Errorf("what came before the damage: %v", err)
			}
		})
	}
}

func TestALogThatCannotBeReadIsNoEmptyChat(t *testing.T) {
	t.Parallel()

	away := errors.New("nobody answers")
	b := oneTurn().written()
	p := open(t, b, nil)
	b.broken = away
	if _, err := ask(t, p, "chat", `{"chat":"ann"}`); !errors.Is(err, away) || codeOf(err) != "" {
		t.Errorf("error %v, want %v and no code", err, away)
	}
	b.broken, b.short = nil, true
	if _, err := ask(t, p, "chat", `{"chat":"ann"}`); err == nil || codeOf(err) != "" {
		t.Errorf("error %v of a read that ended early, want one without a code", err)
	}
	b.short = false
	if _, err := ask(t, p, "chat", `{"chat":"ann"}`); err != nil {
		t.Errorf("after the fault: %v", err)
	}
}

func TestALogThatWasReplacedIsReadAnew(t *testing.T) {
	t.Parallel()

	b := oneTurn().written()
	p := open(t, b, nil)
	if _, err := ask(t, p, "chat", `{"chat":"ann"}`); err != nil {
		t.Fatal(err)
	}
	other := story{{events.ChatCreated{Title: "restored"}}}.written()
	b.stored, b.prev = other.stored, other.prev
	head, err := p.Chat(t.Context(), ann.Tenant, projections.ChatRequest{Chat: ann.Chat})
	if err != nil || head.Title != "restored" || head.Rev != 1 {
		t.Errorf("title %q, rev %d, error %v; want the restored chat", head.Title, head.Rev, err)
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()

	b := &book{}
	const chats = 40
	for i := range chats {
		b.write(events.Key{Tenant: "acme", Chat: fmt.Sprintf("chat-%d", i)}, command("x"), events.ChatCreated{Title: strings.Repeat("x", 4_000)})
	}
	p, err := projections.New(projections.Config{Log: b, CacheBytes: 60_000})
	if err != nil {
		t.Fatal(err)
	}
	look := func(i int) {
		if _, err := ask(t, p, "chat", fmt.Sprintf(`{"chat":"chat-%d"}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range chats {
		look(i)
		look(i)
	}
	if b.count() != chats {
		t.Errorf("%d commits were read, want each once: %d", b.count(), chats)
	}
	look(0) // dropped long ago
	look(chats - 1)
	if b.count() != chats+1 {
		t.Errorf("%d commits were read, want %d: the first chat's again, the last one's not", b.count(), chats+1)
	}
}

func TestManyMayAskAtOnce(t *testing.T) {
	t.Parallel()

	b := oneTurn().written()
	p := open(t, b, nil)
	var wait sync.WaitGroup
	for i := range 32 {
		wait.Go(func() {
			if i%4 == 0 {
				b.write(ann, command(fmt.Sprintf("more-%d", i)), events.ChatArchived{})
			}
			for _, body := range []string{`{"chat":"ann"}`, `{"chat":"ann","at":2}`} {
				if _, err := ask(t, p, "transcript", body); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	head, err := p.Chat(t.Context(), ann.Tenant, projections.ChatRequest{Chat: ann.Chat})
	if err != nil || head.Rev != 11 {
		t.Errorf("rev %d, error %v, want rev 11", head.Rev, err)
	}
}

func TestAConfigIsChecked(t *testing.T) {
	t.Parallel()

	if _, err := projections.New(projections.Config{}); err == nil {
		t.Error("a config without a log is accepted")
	}
	if _, err := projections.New(projections.Config{Log: &book{}, CacheBytes: -1}); err == nil {
		t.Error("a cache of negative size is accepted")
	}
}
