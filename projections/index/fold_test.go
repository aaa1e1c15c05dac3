package index

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol/listing"
	"github.com/everturn/everturn/protocol/transcript"
)

// Rows are what folding everything gives, however often whoever keeps them begins anew.
func TestRowsAreTheFoldOfEverything(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			whole := histories(t, seed, 25, 60)
			atOnce := t.TempDir()
			follow(t, whole, atOnce).stop()

			growing, inPieces := &logs{blobs: whole.blobs}, t.TempDir()
			for piece := range 5 {
				for n, list := range whole.stored {
					growing.mu.Lock()
					growing.stored[n] = list[:len(list)*(piece+1)/5]
					growing.mu.Unlock()
				}
				follow(t, growing, inPieces).stop()
			}
			want, got := dump(t, atOnce), dump(t, inPieces)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("rows (-at once +in pieces):\n%s", diff)
			}
			for table, rows := range want {
				if empty := table == "quarantine"; (len(rows) == 0) != empty {
					t.Errorf("%s has %d rows: %v", table, len(rows), rows)
				}
			}
		})
	}
}

// A line of the list says of a chat what its transcript says.
func TestALineSaysWhatTheTranscriptSays(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			l := histories(t, 100+seed, 25, 60)
			x := follow(t, l, t.TempDir())
			transcripts, err := projections.New(projections.Config{Log: reading{l}, Blobs: l})
			if err != nil {
				t.Fatal(err)
			}
			seen := 0
			for _, tenant := range []string{"acme", "zoo"} {
				for _, got := range every(t, x.Index, tenant, listing.ChatsRequest{Children: true, Archived: listing.ArchivedToo, Limit: 7}, nil) {
					seen++
					head := headOf(t, transcripts, tenant, got.Chat)
					want := listing.Chat{
						Chat: head.Chat, Rev: head.Rev, At: head.At, Created: head.Created, Title: head.Title, Status: listing.Status(head.Status),
						Archived: head.Archived, Parent: head.Parent, MessageCount: head.MessageCount,
						Owner: got.Owner, Agent: got.Agent, Model: got.Model, Origin: got.Origin, TurnCount: head.Turn, OpenCount: got.OpenCount,
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s (-transcript +line):\n%s", got.Chat, diff)
					}
					open := ask[listing.Open](t, x.Index, tenant, listing.QueryOpen, listing.OpenRequest{Chat: got.Chat})
					if len(open.Open) != got.OpenCount {
						t.Errorf("%s: %d things are open and the line says %d", got.Chat, len(open.Open), got.OpenCount)
					}
					checkOpen(t, head, open.Open)
				}
			}
			if seen == 0 {
				t.Error("no chat is listed")
			}
		})
	}
}

// checkOpen compares what waits with what the transcript says of the calls.
func checkOpen(t *testing.T, page projections.Transcript, open []listing.Waiting) {
	t.Helper()
	want, got := map[string]bool{}, map[string]bool{}
	for _, m := range page.Messages {
		for _, p := range m.Parts {
			if p.Call == nil {
				continue
			}
			switch p.Call.Status { //nolint:exhaustive // the others wait for nobody
			case transcript.CallApproval:
				want["approval "+p.Call.ID.String()] = true
			case transcript.CallAsking:
				want["question "+p.Call.ID.String()] = true
			case transcript.CallClient:
				want["client "+p.Call.ID.String()] = true
			}
		}
	}
	if page.Reached != nil {
		want["budget"] = true
	}
	if page.Status == transcript.StatusFailed {
		want["failure"] = true
	}
	for _, o := range open {
		what := string(o.Kind)
		if o.Call != nil {
			what += " " + o.Call.String()
		}
		got[what] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what waits in %s (-transcript +list):\n%s", page.Chat, diff)
	}
}

// headOf is a chat as people read it.
func headOf(t *testing.T, p *projections.Projections, tenant, chat string) projections.Transcript {
	t.Helper()
	body, err := json.Marshal(transcript.Request{Chat: chat, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := p.Queries()[transcript.QueryPage](t.Context(), tenant, body)
	if err != nil {
		t.Fatalf("%s: %v", chat, err)
	}
	var page projections.Transcript
	if err := json.Unmarshal(answer, &page); err != nil {
		t.Fatal(err)
	}
	return page
}

// What every attempt used is counted once, and what nobody knows the price of is never
// counted as nothing.
func TestUsageIsThatOfEveryAttempt(t *testing.T) {
	t.Parallel()
	l := histories(t, 9, 25, 80)
	x := follow(t, l, t.TempDir())
	for _, tenant := range []string{"acme", "zoo"} {
		var want listing.Spent
		erased := map[events.Key]bool{}
		for _, list := range l.stored {
			for _, m := range list {
				if c, err := events.Decode(m.Body); err == nil && events.Erased(m.Body) {
					erased[c.Key] = true
				}
			}
		}
		for _, list := range l.stored {
			for _, m := range list {
				c, err := events.Decode(m.Body)
				if err != nil || c.Key.Tenant != tenant || erased[c.Key] {
					continue
				}
				for _, e := range c.Events {
					want = plus(want, usedBy(e))
				}
			}
		}
		if want.Unpriced == 0 || want.CostMicros == 0 {
			t.Fatalf("the chats say nothing about the price: %+v", want)
		}
		for _, by := range []listing.UsageBy{listing.ByDay, listing.ByModel, listing.ByAgent, listing.ByChat} {
			var sum listing.Spent
			q := listing.UsageRequest{By: by, Limit: 2}
			for {
				a := ask[listing.Usage](t, x.Index, tenant, listing.QueryUsage, q)
				if diff := cmp.Diff(want, a.Total); diff != "" {
					t.Errorf("total by %s (-log +answer):\n%s", by, diff)
				}
				for _, row := range a.Rows {
					row.Key = ""
					sum = plus(sum, row)
				}
				if q.After = a.Next; a.Next == "" {
					break
				}
			}
			if diff := cmp.Diff(want, sum); diff != "" {
				t.Errorf("rows by %s (-log +sum):\n%s", by, diff)
			}
		}
	}
}

// usedBy is what one event says that an attempt used.
func usedBy(e events.Event) listing.Spent {
	one := func(u events.Usage, cost *int64) listing.Spent {
		s := listing.Spent{Attempts: 1, Usage: u.Bounded()}
		if cost != nil {
			s.CostMicros = *cost
		} else if u.Total() > 0 {
			s.Unpriced = 1
		}
		return s
	}
	switch e := e.(type) {
	case events.StepCompleted:
		return one(e.Usage, e.CostMicros)
	case events.StepFailed:
		return one(e.Usage, e.CostMicros)
	case events.StepInterrupted:
		return one(e.Usage, e.CostMicros)
	}
	return listing.Spent{}
}

// A commit that another process sees twice, or that was folded before, changes nothing.
func TestAMessageCountsOnce(t *testing.T) {
	t.Parallel()
	l := histories(t, 3, 5, 40)
	dir := t.TempDir()
	follow(t, l, dir).stop()
	want := dump(t, dir)
	s, err := openStore(t.Context(), folder(dir).file(1), shards)
	if err != nil {
		t.Fatal(err)
	}
	for shard, list := range l.stored {
		var items []item
		for _, m := range list {
			i, err := read(t.Context(), shard, m, l)
			if err != nil {
				t.Fatal(err)
			}
			items = append(items, i)
		}
		if err := s.apply(t.Context(), items); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, dump(t, dir)); diff != "" {
		t.Errorf("rows (-once +twice):\n%s", diff)
	}
}
