package projections_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
)

// maxPayloadBytes is what a server takes unless told otherwise.
const maxPayloadBytes = 1 << 20

type blobs map[events.Digest][]byte

func (b blobs) Get(_ context.Context, _ events.Key, d events.Digest) ([]byte, error) {
	content, ok := b[d]
	if !ok {
		return nil, fmt.Errorf("content %s: %w", d, protocol.ErrNotFound)
	}
	return content, nil
}

func (b blobs) put(p events.Part) events.Part {
	apart, content := p.Detach()
	b[apart.Blob] = content
	return apart
}

// turns is a chat of that many questions and answers, with a failed turn
// without messages after each second one.
func turns(n int) story {
	s := story{{created()}}
	number := 0
	for i := range n {
		number++
		input := fmt.Sprintf("i%d", i)
		s = append(s,
			[]events.Event{said(input, "question "+input), started(number, input), asked(number, 1, 1)},
			[]events.Event{answered(number, 1, events.Text("answer "+input)), completed(number)})
		if i%2 == 1 {
			number++
			s = append(s, []events.Event{
				events.TurnStarted{Turn: number, Parent: number - 1, Cause: events.CauseRetry},
				events.TurnFailed{Turn: number, Class: events.ClassQuota},
			})
		}
	}
	return s
}

// pages reads a chat page by page.
func pages(t *testing.T, p *projections.Projections, limit int) []projections.Transcript {
	t.Helper()
	var list []projections.Transcript
	for after := 0; ; {
		answer, err := ask(t, p, "transcript", fmt.Sprintf(`{"chat":"ann","after":%d,"limit":%d}`, after, limit))
		if err != nil {
			t.Fatal(err)
		}
		if len(answer) > maxPayloadBytes {
			t.Fatalf("a page of %d bytes, at most %d may be", len(answer), maxPayloadBytes)
		}
		list = append(list, decoded(t, answer))
		next := list[len(list)-1].Next
		if next == 0 {
			return list
		}
		if next <= after {
			t.Fatalf("page after %d says to go on after %d", after, next)
		}
		after = next
	}
}

func TestPagesMakeUpTheWhole(t *testing.T) {
	t.Parallel()

	b := turns(10).written()
	whole := transcript(t, b)
	if len(whole.Messages) != 20 || len(whole.Turns) != 15 || whole.Next != 0 {
		t.Fatalf("%d messages in %d turns, next %d; want 20 in 15, and no more", len(whole.Messages), len(whole.Turns), whole.Next)
	}
	for limit := 1; limit <= 21; limit++ {
		t.Run(fmt.Sprintf("of %d messages", limit), func(t *testing.T) {
			t.Parallel()
			var messages []projections.Message
			var list []projections.Turn
			for _, page := range pages(t, open(t, b, nil), limit) {
				messages = append(messages, page.Messages...)
				for _, turn := range page.Turns {
					if n := len(list); n == 0 || list[n-1].Turn < turn.Turn {
						list = append(list, turn)
					}
				}
			}
			if diff := cmp.Diff(whole.Messages, messages); diff != "" {
				t.Errorf("messages (-whole +pages):\n%s", diff)
			}
			if diff := cmp.Diff(whole.Turns, list); diff != "" {
				t.Errorf("turns (-whole +pages):\n%s", diff)
			}
		})
	}
}

func TestAPageBehindTheLastMessageIsEmpty(t *testing.T) {
	t.Parallel()

	answer, err := ask(t, open(t, oneTurn().written(), nil), "transcript", `{"chat":"ann","after":99}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := decoded(t, answer); len(got.Messages) != 0 || got.Next != 0 || got.Rev != 3 {
		t.Errorf("%d messages, next %d, rev %d; want an empty page and rev 3", len(got.Messages), got.Next, got.Rev)
	}
	if !strings.Contains(string(answer), `"messages":[]`) {
		t.Errorf("answer %s, want an empty list of messages", answer)
	}
}

func TestAPageFitsIntoOneMessageOfTheBus(t *testing.T) {
	t.Parallel()

	store := blobs{}
	long := strings.Repeat(`"quoted" <text> `, 4_000) // 64,000 bytes, more as JSON
	s := story{{created()}}
	var calls, results []events.Event
	var parts []events.Part
	for i := 1; i <= events.MaxCallsPerStep; i++ {
		parts = append(parts, call(i, "read", `{"path":"`+strings.Repeat("x", 3_000)+`"}`))
		calls = append(calls, handedOut(1, 1, i))
		results = append(results, result(1, 1, i, events.ToolOK, long[:events.MaxResultBytes]))
	}
	s = append(s, []events.Event{said("i1", long), started(1, "i1"), asked(1, 1, 1)})
	s = append(s, append([]events.Event{answered(1, 1, parts...)}, calls...))
	s = append(s, results, []events.Event{asked(1, 2, 1)})
	s = append(s, []events.Event{answered(1, 2, store.put(events.Text(strings.Repeat(long, 20))), events.Text(long)), completed(1)})
	for i := range events.MaxWaitingInputs {
		s = append(s, []events.Event{said(fmt.Sprintf("w%d", i), long)})
	}
	var messages int
	for _, page := range pages(t, open(t, s.written(), store), 1_000) {
		messages += len(page.Messages)
		for _, m := range page.Messages {
			for _, p := range m.Parts {
				if p.Call != nil && !p.Call.Result[0].Truncated {
					t.Errorf("message %d, call %s: the result was cut and does not say so", m.N, p.Call.ID)
				}
			}
		}
	}
	if messages != 3 {
		t.Errorf("%d messages, want 3", messages)
	}
}

func TestContentThatLiesApartIsShown(t *testing.T) {
	t.Parallel()

	store := blobs{}
	text := strings.Repeat("long ", 20_000)
	huge := strings.Repeat("é", 200_000)
	lost := events.Part{Type: events.PartText, Blob: events.DigestOf([]byte("lost")), Bytes: 99_999}
	secret, _ := events.Part{Type: events.PartReasoning, Opaque: []byte("secret")}.Detach()
	s := story{
		{created()},
		{
			events.InputAccepted{Input: "i1", Parts: []events.Part{store.put(events.Text(text)), lost}, Mode: events.ModeQueue},
			started(1, "i1"), asked(1, 1, 1),
		},
		{answered(1, 1, store.put(call(1, "read", `{"n":1}`)), secret), handedOut(1, 1, 1)},
		{events.ToolCompleted{Call: events.CallID{Turn: 1, Step: 1, Ordinal: 1}, Status: events.ToolOK, Parts: []events.Part{store.put(events.Text(huge))}}},
	}
	got := decodedPage(t, open(t, s.written(), store))
	user, assistant := got.Messages[0], got.Messages[1]
	if user.Parts[0].Text != text || user.Parts[0].Blob != "" || user.Parts[0].Truncated {
		t.Errorf("a part of %d bytes, blob %q, want the whole text", len(user.Parts[0].Text), user.Parts[0].Blob)
	}
	if p := user.Parts[1]; p.Blob != lost.Blob || p.Bytes != lost.Bytes || p.Text != "" {
		t.Errorf("content that is lost is shown as %+v, want its reference", p)
	}
	if p := assistant.Parts[0]; p.Arguments != `{"n":1}` {
		t.Errorf("arguments %q", p.Arguments)
	}
	if p := assistant.Parts[1]; p.Blob != "" || len(p.Opaque) > 0 {
		t.Errorf("what only the provider can read is shown as %+v", p)
	}
	r := assistant.Parts[0].Call.Result[0]
	if !r.Truncated || r.Bytes != int64(len(huge)) || r.Blob == "" || !strings.HasPrefix(huge, r.Text) || len(r.Text) < 100_000 {
		t.Errorf("huge content is shown by %d of %d bytes, truncated %t", len(r.Text), r.Bytes, r.Truncated)
	}
}

func TestAFoldIsNotChangedByShowingIt(t *testing.T) {
	t.Parallel()

	store := blobs{}
	s := oneTurn()
	s[1][0] = events.InputAccepted{Input: "i1", Parts: []events.Part{store.put(events.Text(strings.Repeat("long ", 20_000)))}, Mode: events.ModeQueue}
	p := open(t, s.written(), store)
	first := decodedPage(t, p)
	clear(store)
	second := decodedPage(t, p)
	if first.Messages[0].Parts[0].Text == "" || second.Messages[0].Parts[0].Text != "" {
		t.Error("what was put into a page stayed in the fold")
	}
}
