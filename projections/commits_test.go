package projections_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections"
)

// commitPage asks for one page.
func commitPage(t *testing.T, p *projections.Projections, body string) (projections.Commits, []byte) {
	t.Helper()
	answer, err := ask(t, p, "commits", body)
	if err != nil {
		t.Fatal(err)
	}
	var page projections.Commits
	if err := json.Unmarshal(answer, &page); err != nil {
		t.Fatal(err)
	}
	return page, answer
}

// chained reads all commits by pages, and checks that each is the one that was stored.
func chained(t *testing.T, b *book, p *projections.Projections, limit int) (pages int) {
	t.Helper()
	var read []json.RawMessage
	for after := uint64(0); ; pages++ {
		page, answer := commitPage(t, p, fmt.Sprintf(`{"chat":"ann","after":%d,"limit":%d}`, after, limit))
		if len(answer) > 768<<10 {
			t.Errorf("the page behind rev %d has %d bytes", after, len(answer))
		}
		if want := uint64(len(b.stored[ann])); page.Rev != want {
			t.Fatalf("rev %d, want %d", page.Rev, want)
		}
		read = append(read, page.Commits...)
		if page.Next == 0 {
			break
		}
		if page.Next <= after {
			t.Fatalf("behind rev %d the next page is %d", after, page.Next)
		}
		after = page.Next
	}
	if len(read) != len(b.stored[ann]) {
		t.Fatalf("%d commits, want %d", len(read), len(b.stored[ann]))
	}
	for i, m := range b.stored[ann] {
		if string(read[i]) != string(m.Body) {
			t.Fatalf("rev %d is not as it is stored:\n%s\n%s", i+1, read[i], m.Body)
		}
	}
	return pages + 1
}

func TestCommitsAreGivenAsTheyAreStored(t *testing.T) {
	t.Parallel()

	b := oneTurn().written()
	b.put(ann, []byte(`{"v":1, "tenant":"acme", "chat":"ann", "rev":4, "html":"<\u003c\u2028>", "later":[ ]}`)) // of a newer release
	p := open(t, b, nil)
	if got := chained(t, b, p, 0); got != 1 {
		t.Errorf("%d pages, want 1", got)
	}
	if got := chained(t, b, p, 3); got != 2 {
		t.Errorf("%d pages of 3, want 2", got)
	}
}

func TestAPageOfCommitsFitsIntoAMessage(t *testing.T) {
	t.Parallel()

	b := &book{}
	b.write(ann, command("c"), created())
	for i := range 5 {
		b.write(ann, command(fmt.Sprint(i)), events.ChatTitled{Title: strings.Repeat("x", events.MaxCommitBytes-500)})
	}
	for i := range 300 {
		b.write(ann, command(fmt.Sprint(i)), events.ChatTitled{Title: strings.Repeat("y", 10_000)})
	}
	if got := chained(t, b, open(t, b, nil), 1_000); got < 8 {
		t.Errorf("%d pages, want more", got)
	}
}

func TestCommitsFromAnyRevOn(t *testing.T) {
	t.Parallel()

	b := &book{}
	for i := range 2_000 {
		b.write(ann, command(fmt.Sprint(i)), created())
	}
	for i := range b.stored[ann] { // most of the chat came late
		b.stored[ann][i].Sequence += uint64(i * i / 10)
	}
	p := open(t, b, nil)
	for _, after := range []uint64{0, 1, 63, 64, 65, 1_000, 1_500, 1_998, 1_999, 2_000} {
		before := b.count()
		page, _ := commitPage(t, p, fmt.Sprintf(`{"chat":"ann","after":%d,"through":%d}`, after, after+5))
		want := min(5, 2_000-after)
		if uint64(len(page.Commits)) != want || page.Next != 0 {
			t.Errorf("behind rev %d: %d commits, next %d; want %d and no more", after, len(page.Commits), page.Next, want)
			continue
		}
		for i, raw := range page.Commits {
			if c, err := events.Decode(raw); err != nil || c.Rev != after+uint64(i)+1 {
				t.Errorf("behind rev %d: rev %d at place %d, error %v", after, c.Rev, i, err)
			}
		}
		if read := b.count() - before; read > 120 {
			t.Errorf("behind rev %d: %d commits were read to find it", after, read)
		}
	}
}

func TestCommitsThatCannotBeGiven(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name, body string
		damage     func(*book)
		want       events.Code
	}{
		{"no such chat", `{"chat":"bob"}`, nil, events.CodeUnknownChat},
		{"an unknown field", `{"chat":"ann","from":1}`, nil, events.CodeBadCommand},
		{"a negative rev", `{"chat":"ann","after":-1}`, nil, events.CodeBadCommand},
		{"behind the newest", `{"chat":"ann","after":4}`, nil, events.CodeBadCommand},
		{"an end before the beginning", `{"chat":"ann","after":2,"through":1}`, nil, events.CodeBadCommand},
		{"a negative limit", `{"chat":"ann","limit":-1}`, nil, events.CodeBadCommand},
		{"a limit over the most", `{"chat":"ann","limit":1001}`, nil, events.CodeBadCommand},
		{"an erased chat", `{"chat":"ann"}`, func(b *book) {
			b.write(ann, command("e"), events.ChatErased{Command: "e", By: "user:ann"})
		}, events.CodeErased},
		{"bytes that are no JSON", `{"chat":"ann"}`, func(b *book) { b.put(ann, []byte("nonsense")) }, events.CodeChatStopped},
		{"a commit with something behind it", `{"chat":"ann"}`, func(b *book) {
			b.stored[ann][1].Body = append(b.stored[ann][1].Body, ' ')
		}, events.CodeChatStopped},
		{"another chat's commit", `{"chat":"ann"}`, func(b *book) {
			b.stored[ann][1].Body = []byte(`{"tenant":"other","chat":"ann","rev":2}`)
		}, events.CodeChatStopped},
		{"a rev that goes back", `{"chat":"ann"}`, func(b *book) {
			b.stored[ann][1].Body = b.stored[ann][0].Body
		}, events.CodeChatStopped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := oneTurn().written()
			if tt.damage != nil {
				tt.damage(b)
			}
			if _, err := ask(t, open(t, b, nil), "commits", tt.body); codeOf(err) != tt.want {
				t.Errorf("error %v, want code %q", err, tt.want)
			}
		})
	}
}

func TestCommitsOfAnotherTenantDoNotExist(t *testing.T) {
	t.Parallel()

	p := open(t, oneTurn().written(), nil)
	if _, err := p.Queries()["commits"](t.Context(), "other", []byte(`{"chat":"ann"}`)); codeOf(err) != events.CodeUnknownChat {
		t.Errorf("error %v, want code %s", err, events.CodeUnknownChat)
	}
}

func TestACommitThatNoAnswerCanHoldIsNamed(t *testing.T) {
	t.Parallel()

	b := oneTurn().written()
	b.write(ann, command("t"), events.ChatTitled{Title: strings.Repeat("x", maxPayloadBytes)})
	p := open(t, b, nil)
	page, _ := commitPage(t, p, `{"chat":"ann"}`)
	if len(page.Commits) != 3 || page.Next != 3 {
		t.Fatalf("%d commits, next %d; want what comes before it", len(page.Commits), page.Next)
	}
	if _, err := ask(t, p, "commits", `{"chat":"ann","after":3}`); codeOf(err) != events.CodeTooLarge {
		t.Errorf("error %v, want code %s", err, events.CodeTooLarge)
	}
}

func TestAReadOfCommitsThatEndsEarlyIsNoEnd(t *testing.T) {
	t.Parallel()

	b := oneTurn().written()
	b.short = true
	if _, err := ask(t, open(t, b, nil), "commits", `{"chat":"ann"}`); err == nil || codeOf(err) != "" {
		t.Errorf("error %v, want one without a code", err)
	}
}
