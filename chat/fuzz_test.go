package chat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// seedChats are generated chats, as seeds and as states to begin with.
func seedChats() []*chatgen.Chat {
	var list []*chatgen.Chat
	for i := range uint64(6) {
		list = append(list, chatgen.Log(lawful, rand.New(rand.NewPCG(i, 7)), 6+int(i)*4))
	}
	return append(list, withoutOutputs())
}

// withoutOutputs is a chat in which an old output is left out.
func withoutOutputs() *chatgen.Chat {
	c := chatgen.New(lawful)
	c.Live.Windows = map[string]chat.Window{"small": {Tokens: 150_000}}
	c.Create(events.Settings{})
	c.Send("look")
	for step := range 3 {
		c.Answer(chatgen.Call(chatgen.ToolRead, "{}"))
		id := events.CallID{Turn: 1, Step: step + 1, Ordinal: 1}
		c.Claim(id, 1)
		c.Pictures(id, 30)
	}
	c.AnswerWith(model.Answer{Parts: []events.Part{events.Text("seen")}, Stop: events.StopEnd, Usage: events.Usage{Input: 120_000}})
	c.Send("and now?")
	return c
}

// FuzzCommand brings any command to chats in any situation. It is refused with a
// code, or decided; what is decided can be written, read and folded, and is
// decided once.
func FuzzCommand(f *testing.F) {
	files, err := filepath.Glob("../protocol/testdata/wire/command.*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for i, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var verb string
		if _, err := fmt.Sscanf(filepath.Base(file), "command.%s", &verb); err != nil {
			f.Fatal(err)
		}
		verb, _, _ = cutDot(verb)
		f.Add(uint8(i), verb, "user:ann", b)
	}
	chats := seedChats()
	r := newTrial(f)
	f.Fuzz(func(t *testing.T, which uint8, verb, by string, data []byte) {
		body, err := protocol.DecodeCommand(verb, data)
		if err != nil {
			if _, ok := errors.AsType[*protocol.RefusedError](err); !ok {
				t.Errorf("refused without a code: %v", err)
			}
			return
		}
		again, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := protocol.DecodeCommand(verb, again); err != nil || !cmp.Equal(body, back) {
			t.Errorf("written and read again: %v\n%s", err, cmp.Diff(body, back))
		}
		states := []chat.State{{}, chats[int(which)%len(chats)].State}
		for _, s := range states {
			r.of(t).decides(s, chat.Command{ID: "fuzzed", By: events.RepairText(by), Sequence: 1 << 40, Body: body})
		}
	})
}

func cutDot(s string) (before, after string, ok bool) {
	i := bytes.IndexByte([]byte(s), '.')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// trial is what a state is tried with, made once: to make it costs more than to
// use it.
type trial struct {
	testing.TB
	live    chat.Live
	schemas map[events.Digest]*chat.Schema
}

func newTrial(f *testing.F) trial { return trial{TB: f, live: live(), schemas: schemas(f)} }

// of is the trial within one test.
func (r trial) of(t *testing.T) trial {
	r.TB = t
	return r
}

// decides lets the state decide a message, twice, and commits what follows: it can
// be written, read and folded, and makes nothing more true.
func (r trial) decides(s chat.State, m chat.Message) chat.State {
	r.Helper()
	at := max(noon, s.At())
	d := chat.Handle(s, m, at, r.live)
	if again := chat.Handle(s, m, at, r.live); !cmp.Equal(d, again) {
		r.Fatalf("decided twice:\n%s", cmp.Diff(d, again))
	}
	if len(d.Events) == 0 {
		return s
	}
	key := s.Key()
	if !s.Exists() {
		key = lawful
	}
	decided := events.Commit{
		ID: "c", Key: key, Rev: s.Rev() + 1, Prev: s.Prev(), At: at, Cause: chat.CauseOf(m), Events: d.Events,
	}
	b, err := events.Encode(decided)
	if err != nil {
		r.Fatalf("%T: decided, and cannot be written: %v", m, err)
	}
	c, err := events.Decode(b)
	if err != nil {
		r.Fatalf("%T: decided and written, and cannot be read: %v\n%s", m, err, b)
	}
	if kept, err := events.Kept(decided, b); err != nil || !cmp.Equal(kept, c, cmpopts.EquateEmpty()) {
		r.Fatalf("%T: kept in memory is not what was written: %v\n%s", m, err, cmp.Diff(kept, c))
	}
	next := s.Apply(c, events.Hash(b))
	if wrong := next.Wrong(); wrong != "" {
		r.Fatalf("%T: decided, and makes no sense: %s", m, wrong)
	}
	if more := chat.Handle(next, m, at, r.live); len(more.Events) > 0 {
		r.Fatalf("%T: decided, and decided again: %v", m, more.Events)
	}
	return next
}

// FuzzFold folds commits with any events of a chat, in any order. What fits
// nowhere is noticed; with what does, everything works.
func FuzzFold(f *testing.F) {
	begun := []byte{0, 0, 7, 0, 9, 1, 14, 0x41} // the first attempt of step 1.1
	f.Add(begun)
	f.Add(append(slices.Clip(begun), 15, 0x41, 11, 1))                                         // answered
	f.Add(append(slices.Clip(begun), 16, 0x61, 14, 0x81))                                      // failed, and asked again
	f.Add(append(slices.Clip(begun), 10, 1, 17, 0x41, 13, 1))                                  // interrupted
	f.Add(append(slices.Clip(begun), 15, 0x71, 18, 0x11, 18, 0x61, 19, 0x61))                  // three calls
	f.Add(append(slices.Clip(begun), 15, 0x71, 20, 0x11, 20, 0x21, 20, 0x31, 14, 0x45))        // and their results
	f.Add(append(slices.Clip(begun), 15, 0x51, 18, 0x11, 10, 1, 20, 0x11, 13, 1, 7, 1, 9, 10)) // interrupted meanwhile
	f.Add(append(slices.Clip(begun), 12, 1, 7, 5, 9, 0x2a, 14, 0x42, 16, 0x52, 12, 2))         // failed twice
	r := newTrial(f)
	f.Fuzz(func(t *testing.T, program []byte) {
		const most = 200 // longer programs find nothing that shorter ones do not
		var s chat.State
		for rev := uint64(1); len(program) >= 2 && rev < most; rev++ {
			e := eventOf(program[0], int(program[1]))
			program = program[2:]
			c := events.Commit{ID: fmt.Sprint(rev), Key: lawful, Rev: rev, At: noon, Events: []events.Event{e}}
			c.Cause = events.Cause{Kind: events.CausedByCommand, ID: fmt.Sprint("cmd-", rev%8), Verb: "send", Sequence: rev}
			if s = s.Apply(c, fmt.Sprint("hash-", rev)); s.Wrong() != "" {
				return
			}
		}
		r.of(t).works(s)
	})
}

// eventOf makes an event of a kind, in which all numbers are small: that is where
// one chat's events meet.
func eventOf(kind byte, n int) events.Event {
	turn, step, ordinal, attempt := n&3, n>>2&3, n>>4&3, n>>6&3
	names := []string{"look", "pay", "save", "none"}
	stops := []events.Stop{events.StopEnd, events.StopCalls, events.StopLength, events.StopPaused}
	stepID := events.StepID{Turn: turn, Step: step + 1}
	callID := events.CallID{Turn: turn, Step: step + 1, Ordinal: ordinal}
	input := fmt.Sprint("input-", n&15)
	switch kind % 22 {
	case 1:
		return events.ChatConfigured{Settings: events.Settings{Model: "m"}}
	case 2:
		return events.ChatTitled{Title: "t"}
	case 3:
		return events.ChatArchived{}
	case 4:
		return events.ChatUnarchived{}
	case 5:
		return events.CommandRejected{Verb: "send", Code: events.CodeBusy}
	case 6:
		return events.CommandNoted{Verb: "send", Turn: turn}
	case 7:
		return events.InputAccepted{Input: input, Parts: []events.Part{events.Text("hi")}}
	case 8:
		return events.InputWithdrawn{Input: input}
	case 9:
		e := events.TurnStarted{Turn: turn, Parent: turn - 1}
		if n&4 == 0 {
			e.Inputs = []string{fmt.Sprint("input-", n>>3&15)}
		}
		if n&8 == 0 {
			e.Settings.Body = &events.Effective{Model: "m", Pool: "default", Tools: live().Tools}
		}
		return e
	case 10:
		return events.TurnInterruptRequested{Turn: turn, Due: noon}
	case 11:
		return events.TurnCompleted{Turn: turn, Finish: events.FinishComplete}
	case 12:
		return events.TurnFailed{Turn: turn, Class: events.ClassAuth}
	case 13:
		return events.TurnInterrupted{Turn: turn}
	case 14:
		return events.StepRequested{Step: stepID, Attempt: attempt, Model: "m", Pool: "default"}
	case 15:
		e := events.StepCompleted{Step: stepID, Attempt: attempt, Stop: stops[ordinal], Parts: []events.Part{events.Text("x")}}
		for i := range ordinal {
			e.Parts = append(e.Parts, events.Part{
				Type: events.PartCall, Name: names[i], Ordinal: i + 1 + attempt/3, Arguments: []string{"null", "{}", "[]", ""}[attempt],
			})
		}
		return e
	case 16:
		e := events.StepFailed{Step: stepID, Attempt: attempt, Class: events.ClassCrashed}
		if ordinal > 0 {
			e.Class = events.ClassOverloaded
		}
		if ordinal > 1 {
			e.RetryAt = noon
		}
		return e
	case 17:
		return events.StepInterrupted{Step: stepID, Attempt: attempt, Parts: []events.Part{events.Text("x"), call("look", "{}")}}
	case 18:
		return events.ToolRequested{Call: callID, Tool: names[attempt], Idempotent: attempt == 2, ReadOnly: attempt == 0, Deadline: noon.Add(time.Hour)}
	case 19:
		return events.ToolStarted{Call: callID, Claim: "c", Runner: "r", Delivery: uint64(attempt), At: noon}
	case 20:
		return events.ToolCompleted{Call: callID, Status: events.ToolOK}
	case 21:
		return events.ChatInherited{Settings: events.Settings{Model: "m"}}
	}
	return events.ChatCreated{}
}

// works wants a state with which everything else can work.
func (r trial) works(s chat.State) {
	r.Helper()
	b, err := chat.Encode(s)
	if err != nil {
		r.Fatalf("cannot be stored: %v", err)
	}
	back, err := chat.Decode(b)
	if err != nil {
		r.Fatalf("stored, and cannot be read: %v", err)
	}
	if again, err := chat.Encode(back); err != nil || !bytes.Equal(b, again) {
		r.Fatalf("stored again: %v\n%s", err, cmp.Diff(string(b), string(again)))
	}
	_ = s.Hash()
	_ = chat.Prompt(s).Canonical()
	_ = chat.Owes(s)
	for _, m := range r.mayCome(s) {
		next := r.decides(s, m)
		_ = chat.Prompt(next).Canonical()
		for _, w := range chat.Owed(next) {
			if _, err := json.Marshal(w); err != nil {
				r.Fatalf("%T: owed, and cannot be sent: %v", m, err)
			}
		}
	}
}

// mayCome are messages that a chat in that state may have to decide about.
func (r trial) mayCome(s chat.State) []chat.Message {
	r.Helper()
	var list []chat.Message
	for i, b := range []protocol.Body{
		protocol.Send{V: 1, Parts: []events.Part{events.Text("hi")}},
		protocol.Create{V: 1},
		protocol.Interrupt{V: 1},
		protocol.Configure{V: 1, Settings: events.Settings{System: "s"}},
		protocol.Rename{V: 1, Title: "t"},
		protocol.Archive{V: 1},
		protocol.Unarchive{V: 1},
		protocol.Withdraw{V: 1, Input: "input-1"},
		protocol.Retry{V: 1},
		protocol.Continue{V: 1},
	} {
		list = append(list, chat.Command{ID: fmt.Sprint("next-", i), Sequence: 1 << 62, Body: b})
	}
	for _, w := range chat.Owed(s) {
		switch w := w.(type) {
		case protocol.ModelWork:
			ended := chat.AttemptEnded{Step: w.Step, Attempt: w.Attempt, Schemas: r.schemas}
			said, called, failed := ended, ended, ended
			said.Answer = &model.Answer{Parts: []events.Part{events.Text("x")}, Stop: events.StopEnd}
			called.Answer = &model.Answer{Parts: []events.Part{call("look", "{}"), call("pay", "null")}, Stop: events.StopCalls}
			failed.Err = &model.Error{Class: events.ClassOverloaded, RetryAfter: time.Second}
			list = append(list, said, called, failed, chat.AttemptLost{Step: w.Step, Attempt: w.Attempt})
		case protocol.ToolWork:
			list = append(list,
				claim(w.Call, "claim", 1), claim(w.Call, "claim-2", 2),
				chat.Result{Result: protocol.Result{V: 1, Call: w.Call, Runner: "r", Status: events.ToolOK, Parts: []events.Part{events.Text("x")}}})
		case protocol.Timer:
			name, err := protocol.ParseTimerName(w.Name)
			if err != nil {
				r.Fatalf("owed, and nobody can read it: %v", err)
			}
			list = append(list, due(name))
		}
	}
	return list
}

// FuzzCommits folds the commits that a text has, one a line, as long as they can
// be read: what they come to makes no sense, or works.
func FuzzCommits(f *testing.F) {
	for _, c := range seedChats() {
		f.Add(bytes.Join(c.Bytes, []byte("\n")))
	}
	r := newTrial(f)
	f.Fuzz(func(t *testing.T, log []byte) {
		var s chat.State
		for line := range bytes.Lines(log) {
			c, err := events.Decode(bytes.TrimSpace(line))
			if err != nil {
				break
			}
			next := s.Apply(c, events.Hash(line))
			if next.Wrong() != "" {
				break
			}
			s = next
		}
		r.of(t).works(s)
	})
}

// FuzzState reads any bytes as a stored state: that fails, or everything works.
func FuzzState(f *testing.F) {
	for _, c := range seedChats() {
		b, err := chat.Encode(c.State)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	r := newTrial(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := chat.Decode(b); err == nil {
			r.of(t).works(s)
		}
	})
}

// FuzzSchema has a tool with any schema, and a model that calls it with any
// arguments. No schema is followed outside or for ever, and a call runs only with
// an object.
func FuzzSchema(f *testing.F) {
	for _, m := range manifests() {
		f.Add([]byte(m.Schema), `{"path":"x"}`)
	}
	f.Add([]byte(`{"$ref":"#"}`), `{}`)
	f.Add([]byte(`{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"type":"object"}]}},"$ref":"#/$defs/a"}`), `{"a":{"a":1}}`)
	f.Add([]byte(`{"$ref":"file:///etc/passwd"}`), `{}`)
	f.Add([]byte(`{"type":"object","patternProperties":{"^(a+)+$":{"multipleOf":0.0001}}}`), `{"aaaaaaaaaaaaaaaaaaaaaaaaaaaa!":1e400}`)
	f.Add([]byte(`{"properties":{"a":{"minimum":1}}}`), `{"a":1e1000001}`)
	r := newTrial(f)
	begun := func(t *testing.T) *story {
		s := begin(t)
		s.send("hi")
		return s
	}
	f.Fuzz(func(t *testing.T, schema []byte, arguments string) {
		compiled, err := chat.CompileSchema(schema)
		if err != nil {
			return
		}
		s := begun(t)
		ended := s.ended(&model.Answer{Parts: []events.Part{call("look", arguments)}, Stop: events.StopCalls}, nil)
		for digest := range ended.Schemas {
			ended.Schemas[digest] = compiled
		}
		r.of(t).decides(s.state, ended)
		for _, e := range s.tell(ended) {
			if _, runs := e.(events.ToolRequested); runs && !events.IsObject(arguments) && !isNothing(arguments) {
				t.Errorf("a call with arguments %q is handed out", arguments)
			}
		}
	})
}

// isNothing reports whether arguments are how models write that there are none.
func isNothing(arguments string) bool {
	s := string(bytes.TrimSpace([]byte(arguments)))
	return s == "" || s == "null"
}
