package orchestrator

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/protocol"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/s2"
)

var fuzzed = events.Key{Tenant: "acme", Chat: "fuzzed"}

// FuzzSnapshot reads any bytes as a stored snapshot, also such whose checksum is
// made to fit: they are refused, or are a state that is stored again as the same.
func FuzzSnapshot(f *testing.F) {
	c := calling(f)
	for range 2 {
		stored, err := new(packer).pack(entry{state: c.State, sequence: 7})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(false, uint64(7), c.State.Rev(), c.State.Prev(), stored)
		state, err := chat.Encode(c.State)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(true, uint64(7), c.State.Rev(), c.State.Prev(), state)
		c.Rest()
	}
	f.Fuzz(func(t *testing.T, fits bool, sequence, rev uint64, hash string, content []byte) {
		if fits {
			s := snapshot{Seq: sequence, Rev: rev, Hash: hash, Rules: chat.Rules, PromptRules: chat.PromptRules, State: content}
			s.Sum = s.checksum()
			b, err := json.Marshal(s)
			if err != nil {
				return // the state is no JSON, or the hash no text
			}
			content = s2.Encode(nil, b)
		}
		e, err := unpacked(content)
		if err != nil {
			return
		}
		again, err := new(packer).pack(e)
		if err != nil {
			t.Fatal(err)
		}
		back, err := unpacked(again)
		if err != nil {
			t.Fatalf("stored again, and cannot be read: %v", err)
		}
		if e.sequence != back.sequence || e.state.Hash() != back.state.Hash() || e.state.Prev() != back.state.Prev() {
			t.Error("stored again it is another state")
		}
		_ = chat.Prompt(e.state).Canonical()
		_ = chat.Owed(e.state)
	})
}

// calling is a chat in which a call of each kind waits for its runner.
func calling(f *testing.F) *chatgen.Chat {
	f.Helper()
	c := chatgen.New(fuzzed)
	c.Create(events.Settings{})
	c.Send("hello")
	var calls []events.Part
	for _, tool := range c.Live.Tools {
		if !tool.Exclusive && tool.Policy == events.PolicyAllow {
			calls = append(calls, chatgen.Call(tool.Name, `{"text":"x"}`))
		}
	}
	c.Answer(calls...)
	if len(chat.Owed(c.State)) == 0 {
		f.Fatal("no call is open")
	}
	return c
}

// FuzzStoredCommand reads any message as a command. It has an id, and is refused
// with a code or has a body.
func FuzzStoredCommand(f *testing.F) {
	f.Add("everturn.cmd.acme.a.send", "", "user:ann", []byte(`{"v":1,"parts":[{"type":"text","text":"hi"}]}`))
	f.Add("everturn.cmd.acme.a.rename", "01K0000000000000000000000A", "", []byte(`{"v":1,"title":"x"}`))
	f.Add("everturn.cmd.acme.*.send", "01k0000000000000000000000a", "\xff", []byte(`{"v":2}`))
	f.Fuzz(func(t *testing.T, subject, id, by string, body []byte) {
		m := protocol.Stored{
			Subject: subject, Sequence: 9, Time: time.Unix(1_796_000_000, 0), Body: body,
			Header: map[string][]string{protocol.HeaderID: {id}, protocol.HeaderBy: {by}},
		}
		c := identified(m)
		c.read()
		if _, err := protocol.CommandID(c.id, m.Time, m.Sequence); err != nil {
			t.Errorf("its id is none: %v", err)
		}
		if (c.refused == nil) == (c.message.Body == nil) {
			t.Errorf("refused: %v; body %v", c.refused, c.message.Body)
		}
		if c.refused == nil && (c.message.ID != c.id || len(c.message.By) > maxByBytes || events.RepairText(c.message.By) != c.message.By) {
			t.Errorf("taken as %+v", c.message)
		}
		if c.refused != nil && c.refused.Code == "" {
			t.Error("refused without a code")
		}
	})
}

// FuzzRequest brings anything that a runner may say about a call, and decides
// upon it. What becomes true can be written, read and folded, and becomes true once.
func FuzzRequest(f *testing.F) {
	for _, name := range []string{"claim.full", "result.full", "result.minimal"} {
		b, err := os.ReadFile("../protocol/testdata/wire/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(name == "claim.full", "", b)
	}
	f.Add(true, "", []byte(`{"v":1,"call":"1.1.1","rev":3,"claim":"c","delivery":1,"runner":"r"}`))
	f.Add(false, "test", []byte(`{"v":1,"call":"1.1.1","rev":3,"runner":"r","status":"ok","parts":[{"type":"text","text":"x"}]}`))
	f.Add(false, "", []byte(`{"v":1,"call":"1.1.1","rev":3,"runner":"r","status":"ok","artifacts":[{"title":" a\n","type":"text/csv",`+
		`"digest":"sha256:ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73","bytes":7},{"title":"","digest":"","bytes":0}]}`))
	c, licensed := calling(f), calling(f)
	licensed.Claim(events.CallID{Turn: 1, Step: 1, Ordinal: 1}, 1)
	f.Fuzz(func(t *testing.T, isClaim bool, group string, body []byte) {
		var m chat.Message
		if isClaim {
			claim, err := claimOf(group, body)
			if err != nil {
				return
			}
			m = claim
		} else {
			result, err := resultOf(group, body)
			if err != nil {
				return
			}
			m = result
		}
		c := c
		if !isClaim {
			c = licensed
		}
		d := chat.Handle(c.State, m, c.Now(), c.Live)
		if again := chat.Handle(c.State, m, c.Now(), c.Live); !cmp.Equal(d, again) {
			t.Fatalf("decided twice:\n%s", cmp.Diff(d, again))
		}
		if isClaim == (d.Claim == nil) || isClaim != (d.Result == nil) {
			t.Fatalf("answered as %+v", d)
		}
		if len(d.Events) == 0 {
			return
		}
		b, err := events.Encode(events.Commit{
			ID: "c", Key: c.Key(), Rev: c.State.Rev() + 1, Prev: c.State.Prev(), At: c.Now(), Cause: chat.CauseOf(m), Events: d.Events,
		})
		if err != nil {
			t.Fatalf("decided, and cannot be written: %v", err)
		}
		commit, err := events.Decode(b)
		if err != nil {
			t.Fatalf("written, and cannot be read: %v\n%s", err, b)
		}
		next := c.State.Apply(commit, events.Hash(b))
		if next.Wrong() != "" {
			t.Fatalf("decided, and makes no sense: %s", next.Wrong())
		}
		if more := chat.Handle(next, m, c.Now(), c.Live); len(more.Events) > 0 {
			t.Fatalf("decided again: %v", more.Events)
		}
	})
}
