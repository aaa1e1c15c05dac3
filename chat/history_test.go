package chat_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

var forked = events.Key{Tenant: "acme", Chat: "fork"}

// Whatever a chat is doing, another one can go on from it: nothing is open there,
// and it does all that a chat does.
//
// Rule: S13.
func TestAChatGoesOnFromAnyRevOfAnother(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := generate(t)
		if !c.State.Exists() {
			return // its creation was refused
		}
		fork := c.ForkAt(forked, rapid.Uint64Range(1, c.State.Rev()).Draw(t, "rev"))
		if rapid.Bool().Draw(t, "twice") {
			second := chatgen.DriverOf(fork, drawn{t})
			for range rapid.IntRange(0, 10).Draw(t, "between") {
				second.Take(second.Next())
			}
			fork = second.ImportAt(events.Key{Tenant: "globex", Chat: "moved"}, rapid.Uint64Range(1, second.State.Rev()).Draw(t, "rev of the fork"))
		}
		s := fork.State
		if turn, running := s.Running(); running || len(chat.Owed(s)) > 0 || s.Rev() != 1 || s.Key() != fork.Key() {
			t.Fatalf("turn %d running: %t, owed: %v, rev %d of %s", turn, running, chat.Owed(s), s.Rev(), s.Key())
		}
		if more := chat.Advance(s, fork.Now(), fork.Live); len(more) > 0 {
			t.Fatalf("more follows: %v", more)
		}
		if back := decoded(t, encoded(t, s)); back.Hash() != s.Hash() {
			t.Fatal("the state does not survive a snapshot")
		}
		d := chatgen.DriverOf(fork, drawn{t})
		for range rapid.IntRange(0, maxMessages/3).Draw(t, "messages after") {
			m := d.Next()
			d.Take(m)
			if problem := verify.Promptable(chat.Prompt(d.State)); problem != "" {
				t.Fatalf("after %T: %s", m, problem)
			}
		}
		folded, err := chat.ReadHistory(fork.History(fork.State.Rev()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(encoded(t, fork.State.Inherit())), string(encoded(t, folded.State))); diff != "" {
			t.Fatalf("state while deciding and read from the log (-deciding +read):\n%s", diff)
		}
	})
}

// Whatever a chat is doing, nothing of it goes on when it comes from a backup.
func TestARestoredChatBeginsWithNothingOpen(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := generate(t)
		c.Handle(chat.Restored{})
		if turn, running := c.State.Running(); running {
			t.Fatalf("turn %d is running", turn)
		}
		for _, w := range chat.Owed(c.State) {
			if timer, ok := w.(protocol.Timer); !ok || !strings.HasPrefix(timer.Name, "erase") && !strings.HasPrefix(timer.Name, "delete") {
				t.Fatalf("%+v is owed", w)
			}
		}
		if d := c.Handle(chat.Restored{}); len(d.Events) > 0 {
			t.Fatalf("there is more to close: %v", d.Events)
		}
		if back := decoded(t, encoded(t, c.State)); back.Hash() != c.State.Hash() {
			t.Fatal("the state does not survive a snapshot")
		}
	})
}

// Rule: S13.
func TestWhatIsOpenInTheOriginIsClosed(t *testing.T) {
	t.Parallel()
	interrupted := events.TurnInterrupted{Turn: 1, Reason: events.ReasonImported}
	unknown := func(ordinal int) events.ToolCompleted {
		return events.ToolCompleted{
			Call: events.CallID{Turn: 1, Step: 1, Ordinal: ordinal}, Status: events.ToolUnknown, IsError: true,
			Parts: []events.Part{events.Text("The call was open where this conversation was taken over from. Its outcome is unknown.")},
		}
	}
	for _, tt := range []struct {
		name string
		tell func(*chatgen.Chat)
		want []events.Event
	}{
		{"a turn that has ended needs nothing", func(c *chatgen.Chat) { c.Answer(events.Text("hello")) }, nil},
		{"an attempt", func(*chatgen.Chat) {}, []events.Event{
			events.StepInterrupted{Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1}, interrupted,
		}},
		{"a step that waits to be tried again", func(c *chatgen.Chat) { c.Fail(events.ClassOverloaded) }, []events.Event{interrupted}},
		{
			"calls, handed out or not",
			func(c *chatgen.Chat) {
				c.Answer(chatgen.Call(chatgen.ToolAppend, "{}"), chatgen.Call(chatgen.ToolAppend, "{}"))
			},
			[]events.Event{unknown(1), unknown(2), interrupted},
		},
		{
			"calls of a turn that is being interrupted",
			func(c *chatgen.Chat) {
				c.Answer(chatgen.Call(chatgen.ToolAppend, "{}"))
				c.Interrupt()
			},
			[]events.Event{unknown(1), interrupted},
		},
		{"what waits is taken back", func(c *chatgen.Chat) { c.Send("more") }, []events.Event{
			events.StepInterrupted{Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1}, interrupted, events.InputWithdrawn{},
		}},
		{
			"what waits in a chat that has failed is taken back",
			func(c *chatgen.Chat) { c.Send("more"); c.Fail(events.ClassAuth) },
			[]events.Event{events.InputWithdrawn{}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := chatgen.New(lawful)
			c.Create(events.Settings{Model: "large"})
			c.Send("hi")
			tt.tell(c)
			before := len(c.Commits)
			fork := c.ForkAt(forked, c.State.Rev())
			first, ok := fork.Commits[0].Events[0].(events.ChatInherited)
			if !ok || first.Settings.Model != "large" || first.Origin.Rev != c.State.Rev() || fork.Commits[0].Prev != c.State.Prev() {
				t.Errorf("first commit: %+v", fork.Commits[0])
			}
			got := slices.Clone(fork.Commits[0].Events[1:])
			for i, e := range got {
				switch e := e.(type) {
				case events.TurnInterrupted:
					e.Totals = events.Totals{}
					got[i] = e
				case events.InputWithdrawn:
					got[i] = events.InputWithdrawn{}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" && len(tt.want)+len(got) > 0 {
				t.Errorf("closed by (-want +got):\n%s", diff)
			}
			if len(c.Commits) != before {
				t.Error("the origin was touched")
			}
			fork.Send("and now?")
			fork.Answer(events.Text("now this"))
			if turn, running := fork.State.Running(); running || turn != 0 {
				t.Errorf("turn %d is running", turn)
			}
		})
	}
}

// A fork knows commands of its own only: the origin's may be of another bus.
func TestAForkHasCommandsOfItsOwn(t *testing.T) {
	t.Parallel()
	c := chatgen.New(lawful)
	for range 5 {
		c.Command(protocol.Archive{V: protocol.Version})
	}
	c.Create(events.Settings{})
	said := c.Send("hi")
	fork := c.ForkAt(forked, c.State.Rev())
	if fork.State.Created() != 1 || fork.State.Decided() != 1 {
		t.Errorf("created by %d, decided up to %d", fork.State.Created(), fork.State.Decided())
	}
	if _, known := fork.State.Outcome(said); known {
		t.Error("a command of the origin counts as decided here")
	}
	history, err := chat.ReadHistory(c.History(c.State.Rev()))
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []protocol.Body{
		protocol.Fork{V: protocol.Version, Chat: "laws"}, protocol.Import{V: protocol.Version, History: history.Digest},
	} {
		again := chat.Command{ID: fork.ID(), Sequence: 2, Body: body, History: history}
		d := chat.Handle(fork.State, again, fork.Now(), fork.Live)
		if no, ok := d.Events[0].(events.CommandRejected); !ok || no.Code != events.CodeExists {
			t.Errorf("%s of a chat that exists: %v", body.Verb(), d.Events)
		}
		again.History = nil
		if d := chat.Handle(chat.State{}, again, fork.Now(), fork.Live); d.Refused == nil || d.Refused.Code != events.CodeInvalidHistory {
			t.Errorf("%s without history: %+v", body.Verb(), d)
		}
	}
	titled := chat.Command{ID: "x", Sequence: 2, Body: protocol.Fork{V: protocol.Version, Title: " a  title "}, History: history}
	d := chat.Handle(history.State, titled, fork.Now(), fork.Live)
	if first := d.Events[0].(events.ChatInherited); first.Title != "a title" {
		t.Errorf("title %q", first.Title)
	}
}

func TestWhatIsNoHistoryIsRefused(t *testing.T) {
	t.Parallel()
	c := chatgen.New(lawful)
	c.Create(events.Settings{})
	c.Send("hi")
	c.Answer(chatgen.Call(chatgen.ToolCount, "{}"))
	c.Fire()
	c.Answer(events.Text("hello"))
	whole := string(c.History(c.State.Rev()))
	lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
	other := chatgen.New(forked)
	other.Create(events.Settings{})
	other.Send("other")
	fork := string(c.ForkAt(forked, 2).History(1))
	newer := strings.Replace(whole, `"turn.started.v1"`, `"turn.started.v9"`, 1)
	rules := strings.Replace(lines[0]+lines[1], fmt.Sprintf(`"rules":%d`, chat.Rules), `"rules":99`, 1)

	for _, tt := range []struct {
		name  string
		bytes string
		newer bool
	}{
		{"nothing", "", false},
		{"no JSON", "hello\n", false},
		{"an empty line", "\n" + whole, false},
		{"no end of the last line", strings.TrimSuffix(whole, "\n"), false},
		{"half a line", whole[:len(whole)/2], false},
		{"the beginning is missing", strings.Join(lines[1:], ""), false},
		{"one is missing", lines[0] + strings.Join(lines[2:], ""), false},
		{"one comes twice", lines[0] + lines[0] + strings.Join(lines[1:], ""), false},
		{"two are swapped", lines[0] + lines[2] + lines[1], false},
		{"a byte is another", strings.Replace(whole, "hi", "ho", 1), false},
		{"another chat's commit", lines[0] + strings.SplitAfter(string(other.History(2)), "\n")[1], false},
		{"two chats", whole + string(other.History(2)), false},
		{"a fork without what it goes on from", fork[strings.LastIndex(strings.TrimSuffix(fork, "\n"), "\n")+1:], false},
		{"a fork with less than it goes on from", lines[0] + fork[strings.LastIndex(strings.TrimSuffix(fork, "\n"), "\n")+1:], false},
		{"a chat without a name", strings.ReplaceAll(lines[0], `"chat":"laws"`, `"chat":"*"`), false},
		{"an event of a newer release", newer, true},
		{"rules of a newer release", rules, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := chat.ReadHistory([]byte(tt.bytes))
			if _, newer := errors.AsType[*events.VersionError](err); err == nil || newer != tt.newer || errors.Is(err, events.ErrHistory) == tt.newer {
				t.Errorf("error %v", err)
			}
		})
	}
	if _, err := chat.ReadHistory([]byte(whole)); err != nil {
		t.Errorf("the whole: %v", err)
	}
	if _, err := chat.ReadHistory([]byte(fork)); err != nil {
		t.Errorf("a fork with all it goes on from: %v", err)
	}
	if _, err := chat.ReadHistory(bytes.Repeat([]byte{'x'}, events.MaxHistoryBytes+1)); !errors.Is(err, events.ErrHistory) {
		t.Errorf("too much: %v", err)
	}
}

// A chain of commits may be whole and say what no chat ever did.
func TestAHistoryThatCannotBeFoldedIsNone(t *testing.T) {
	t.Parallel()
	cause := events.Cause{Kind: events.CausedByCommand, ID: "c", Verb: "create", Sequence: 1}
	first := events.Commit{ID: "1", Key: lawful, Rev: 1, Cause: cause, Events: []events.Event{events.ChatCreated{}}}
	b, err := events.Encode(first)
	if err != nil {
		t.Fatal(err)
	}
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	for _, e := range []events.Event{
		events.ToolCompleted{Call: call, Status: events.ToolOK},
		events.TurnCompleted{Turn: 1},
		events.TurnStarted{Turn: 1, Inputs: []string{"none"}, Rules: 1, PromptRules: 1},
	} {
		second := events.Commit{ID: "2", Key: lawful, Rev: 2, Prev: events.Hash(b), Cause: cause, Events: []events.Event{e}}
		after, err := events.Encode(second)
		if err != nil {
			t.Fatal(err)
		}
		raw := slices.Concat(b, []byte("\n"), after, []byte("\n"))
		if _, err := chat.ReadHistory(raw); !errors.Is(err, events.ErrHistory) {
			t.Errorf("%s: error %v", e.EventType(), err)
		}
	}
}
