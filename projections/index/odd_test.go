package index

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/listing"
)

// odd are values that a store may choke on.
var odd = map[string]string{
	"nul":           "a\x00b",
	"invalid UTF-8": "a\xff\xfeb",
	"a control":     "a\x1b[31mb\x02c\x03",
	"huge":          strings.Repeat("long ", 60_000),
	"quotes":        `a"b'c; DROP TABLE chats; --`,
	"right to left": "a\u202eb",
	"no character":  "\ufffe\uffff",
	"emoji":         "👩‍👩‍👧",
}

// B39: a value that the log has and a file cannot hold is repaired with a visible mark
// or set aside alone, wherever it stands; later events, and other chats, go on.
func TestB39_NoValueHoldsUpWhatComesBehindIt(t *testing.T) {
	t.Parallel()
	l := &logs{}
	n := 0
	for _, value := range odd {
		n++
		k := named(n)
		arguments, err := json.Marshal(map[string]string{value: value})
		if err != nil {
			t.Fatal(err)
		}
		call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
		l.write(t, k, noon, value, events.ChatCreated{Title: value, By: value, Settings: events.Settings{Agent: value}})
		l.write(t, k, noon+1, value,
			events.InputAccepted{Input: "i", By: value, Parts: []events.Part{
				events.Text(value), {Type: events.PartFile, Name: value}, {Type: events.PartData, JSON: string(arguments)},
			}},
			events.TurnStarted{Turn: 1, Inputs: []string{"i"}, Settings: events.RecordedSettings{Digest: "d", Body: &events.Effective{Agent: value}}},
			events.StepRequested{Step: call.StepID(), Attempt: 1, Model: value, Purpose: events.PurposeAnswer})
		l.write(t, k, noon+2, value,
			events.StepCompleted{Step: call.StepID(), Attempt: 1, Parts: []events.Part{
				events.Text(value), {Type: events.PartCall, Ordinal: 1, Name: value, Arguments: string(arguments)},
			}, Usage: events.Usage{Input: 1}},
			events.ApprovalRequested{Call: call, Tool: value})
		l.write(t, k, noon+3, value, events.ToolCompleted{Call: call, Parts: []events.Part{events.Text(value)}, Status: events.ToolOK},
			events.QuestionAsked{Call: call, Questions: []events.Question{{Text: value}}},
			events.TurnFailed{Turn: 1, Class: events.ErrorClass(value), Message: value})
		l.write(t, k, noon+4, value, saying("j", "afterwards"))
	}
	// What no release of ours would write: a lone surrogate, no commit at all, another chat's.
	var body []byte
	for _, list := range l.stored {
		for _, m := range list {
			if c, err := events.Decode(m.Body); err == nil && c.Rev == 5 {
				body = m.Body
			}
		}
	}
	lone := named(50)
	alone := bytes.ReplaceAll(body, []byte("afterwards"), []byte(`lone \ud800 surrogate`))
	c, err := events.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	alone = bytes.Replace(alone, []byte(`"chat":"`+c.Key.Chat), []byte(`"chat":"`+lone.Chat), 1)
	l.put(lone, alone)
	l.write(t, lone, noon, "user:ann", created("still here"), saying("j", "afterwards"))
	broken := named(51)
	for _, b := range [][]byte{[]byte("{"), []byte("\x00\xff"), []byte(`{"v":99}`), body, {}} {
		l.put(broken, b)
	}
	l.write(t, broken, noon, "user:ann", created("still here"), saying("j", "afterwards"))

	dir := t.TempDir()
	x := follow(t, l, dir)
	list := every(t, x.Index, "acme", listing.ChatsRequest{}, nil)
	if len(list) != len(odd)+2 {
		t.Errorf("%d chats are listed, want %d", len(list), len(odd)+2)
	}
	for _, c := range list {
		if c.Chat != lone.Chat && c.Chat != broken.Chat && (c.Rev != 5 || c.OpenCount != 1) {
			t.Errorf("%s stands at rev %d with %d open", c.Chat, c.Rev, c.OpenCount)
		}
		for _, s := range []string{c.Title, c.Owner, c.Agent, c.Model} {
			if !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\x1b\x02") || len(s) > maxNameBytes {
				t.Errorf("%s: kept as %q", c.Chat, s)
			}
		}
	}
	found := ask[listing.Hits](t, x.Index, "acme", listing.QuerySearch, listing.SearchRequest{Text: "afterwards"})
	if len(found.Hits) != len(odd)+2 {
		t.Errorf("%d chats went on, want %d", len(found.Hits), len(odd)+2)
	}
	marked := ask[listing.Hits](t, x.Index, "acme", listing.QuerySearch, listing.SearchRequest{Text: "31m*"})
	if len(marked.Hits) == 0 || !strings.Contains(textIn(marked.Hits[0]), events.Replacement) {
		t.Errorf("what was repaired has no mark: %+v", marked.Hits)
	}
	aside := dump(t, dir)["quarantine"]
	for _, why := range []string{"not a commit", "a commit of chat", "newer", "surrogate"} {
		if !strings.Contains(strings.Join(aside, "\n"), why) {
			t.Errorf("nothing was set aside because of %q: %v", why, aside)
		}
	}
	for _, row := range aside {
		if !strings.Contains(row, broken.Chat) && !strings.Contains(row, lone.Chat) {
			t.Errorf("set aside: %s", row)
		}
	}
}

func textIn(h listing.Hit) string {
	var b strings.Builder
	for _, p := range h.Snippet {
		b.WriteString(p.Text)
	}
	return b.String()
}

// What SQLite itself refuses is set aside alone.
func TestACommitThatTheFileRefusesIsSetAside(t *testing.T) {
	t.Parallel()
	l := &logs{}
	l.write(t, named(1), noon, "user:ann", created("before"))
	l.write(t, named(2), noon, "user:ann", created("bad"))
	l.write(t, named(3), noon, "user:ann", created("after"))
	path := folder(t.TempDir()).file(1)
	s, err := openStore(t.Context(), path, shards)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.close() }() // the test has said what it has to say
	if _, err := s.write.ExecContext(t.Context(), `CREATE TRIGGER bad BEFORE INSERT ON chats WHEN new.title = 'bad' BEGIN SELECT raise(ABORT, 'no'); END`); err != nil {
		t.Fatal(err)
	}
	var items []item
	for shard, list := range l.stored {
		for _, m := range list {
			i, err := read(t.Context(), shard, m, l)
			if err != nil {
				t.Fatal(err)
			}
			items = append(items, i)
		}
	}
	if err := s.apply(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	if n := len(dumped(t, s.write, "SELECT chat FROM chats")); n != 2 {
		t.Errorf("%d chats are kept, want 2", n)
	}
	if aside := dumped(t, s.write, "SELECT chat, why FROM quarantine"); len(aside) != 1 || !strings.Contains(aside[0], named(2).Chat) {
		t.Errorf("set aside: %v", aside)
	}
}
