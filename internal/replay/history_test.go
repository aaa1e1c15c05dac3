package replay_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/replay"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// said is a chat in which somebody waits for the model.
func said(text string) *chatgen.Chat {
	c := chatgen.New(ann)
	c.Create(events.Settings{})
	c.Send(text)
	return c
}

// What a log does not have is no difference; what can be had is used.
func TestHistoriesReplay(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("large ", events.MaxInlineBytes/4)
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	for _, tt := range []struct {
		name string
		log  func() *chatgen.Chat
	}{
		{"content that lies apart", func() *chatgen.Chat {
			c := said(large)
			c.Answer(events.Text(large))
			return c
		}},
		{"the content of an interrupted step lies apart", func() *chatgen.Chat {
			c := said("hello")
			c.Interrupt()
			c.Answer(events.Text(large))
			return c
		}},
		{"the end timer finds what the feed had", func() *chatgen.Chat {
			c := said("hello")
			c.Interrupt()
			c.Handle(chat.TimerDue{Name: protocol.TimerName{Kind: protocol.TimerEnd, Turn: 1}, Partial: []events.Part{events.Text(large)}})
			return c
		}},
		{"large arguments lie apart", func() *chatgen.Chat {
			c := said("hello")
			c.Answer(chatgen.Call(chatgen.ToolPut, `{"text":"`+large+`"}`))
			return c
		}},
		{"arguments over their limit", func() *chatgen.Chat {
			c := said("hello")
			c.Answer(chatgen.Call(chatgen.ToolPut, strings.Repeat("[", events.MaxArgumentsBytes+1)))
			return c
		}},
		{"more calls than a step may have", func() *chatgen.Chat {
			c := said("hello")
			c.Answer(slices.Repeat([]events.Part{chatgen.Call(chatgen.ToolRead, "{}")}, events.MaxCallsPerStep+1)...)
			return c
		}},
		{"a schema that could not be read", func() *chatgen.Chat {
			c := said("hello")
			step, attempt, _ := c.State.OpenAttempt()
			c.Handle(chat.AttemptEnded{Step: step, Attempt: attempt, Answer: &model.Answer{
				Stop: events.StopCalls, Parts: []events.Part{chatgen.Call(chatgen.ToolRead, "{}")},
			}})
			return c
		}},
		{"a provider that wants to be left alone", func() *chatgen.Chat {
			c := said("hello")
			for _, after := range []time.Duration{0, time.Millisecond, 700 * time.Millisecond, time.Minute, events.MaxRetryFor} {
				step, attempt, _ := c.State.OpenAttempt()
				c.Handle(chat.AttemptEnded{Step: step, Attempt: attempt, Err: &model.Error{
					Class: events.ClassTransport, Message: "later", RetryAfter: after,
				}})
				c.Fire()
			}
			return c
		}},
		{"a call that was started too often", func() *chatgen.Chat {
			c := said("hello")
			c.Answer(chatgen.Call(chatgen.ToolPut, "{}"))
			for n := range uint64(events.MaxStartsIdempotent + 1) {
				c.Claim(call, n+2)
				c.Wait(time.Second)
			}
			return c
		}},
		{"a call whose runner is gone", func() *chatgen.Chat {
			c := said("hello")
			c.Answer(chatgen.Call(chatgen.ToolAppend, "{}"))
			c.Claim(call, 1)
			c.Wait(events.Dead)
			c.ClaimSilent(call, 2)
			return c
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			log := tt.log()
			for name, o := range map[string]replay.Options{"alone": {}, "with everything": everything(log)} {
				h := replayed(o, log.Bytes)
				if d := h.Difference(); d != nil {
					t.Errorf("%s: %s", name, d)
				}
				if n := h.Counts(); n.Believed > 0 || n.Commits != len(log.Commits) {
					t.Errorf("%s: %+v of %d commits", name, n, len(log.Commits))
				}
			}
		})
	}
}

// With the schema at hand, what it has against arguments is judged too.
func TestASchemaThatIsKnownIsAsked(t *testing.T) {
	t.Parallel()
	log := said("hello")
	log.Answer(chatgen.Call(chatgen.ToolPut, chatgen.ArgumentsWrong))
	at := place{3, 2}
	result, ok := log.Commits[2].Events[1].(events.ToolCompleted)
	if !ok || result.Status != events.ToolInvalid {
		t.Fatalf("the call ended %+v", log.Commits[2].Events[1])
	}
	result.Parts = []events.Part{events.Text("We do not like it.")}
	bytes := doctored(t, log, at, result)
	if d := replayed(everything(log), bytes).Difference(); d == nil || (place{d.Rev, d.Event}) != at || d.Field != "parts[0].text" {
		t.Errorf("with the schema: %v", d)
	}
}

// A release that looked at the clock twice dated a commit a little after its decision.
func TestACommitMayBeALittleYoungerThanItsDecision(t *testing.T) {
	t.Parallel()
	log := said("hello")
	log.Answer(chatgen.Call(chatgen.ToolAppend, "{}"))
	log.Claim(events.CallID{Turn: 1, Step: 1, Ordinal: 1}, 1)
	log.Interrupt()
	log.Fire()
	late := func(by time.Duration) *replay.Difference {
		commits := slices.Clone(log.Commits)
		for i := range commits {
			commits[i].At = commits[i].At.Add(by)
		}
		return replayed(replay.Options{}, chained(t, commits)).Difference()
	}
	if d := late(30 * time.Millisecond); d != nil {
		t.Error(d)
	}
	if d := late(time.Minute); d == nil || d.Rev != 2 || d.Field != "at" {
		t.Errorf("a minute late: %v", d)
	}
}

// What another release decided by other rules is not ours to judge.
func TestTurnsOfOtherRulesAreBelieved(t *testing.T) {
	t.Parallel()
	log := said("hello")
	log.Answer(events.Text("hello"))
	log.Send("and now?")
	start, ok := log.Commits[1].Events[1].(events.TurnStarted)
	if !ok {
		t.Fatal("the second commit starts no turn")
	}
	start.Rules++
	h := replayed(replay.Options{}, doctored(t, log, place{2, 2}, start))
	if d := h.Difference(); d != nil || h.Counts() != (replay.Counts{Commits: 4, Believed: 2}) {
		t.Errorf("%v, %+v", d, h.Counts())
	}
}

// Bytes that are no commit, and commits that do not follow, are differences.
func TestALogThatIsNone(t *testing.T) {
	t.Parallel()
	log := said("hello")
	log.Answer(events.Text("hello"))
	for _, tt := range []struct {
		name  string
		bytes [][]byte
		rev   uint64
		field string
	}{
		{"damaged", [][]byte{log.Bytes[0], []byte("{")}, 2, ""},
		{"a gap", [][]byte{log.Bytes[0], log.Bytes[2]}, 2, "rev"},
		{"begins late", log.Bytes[1:], 1, "rev"},
		{"swapped", [][]byte{log.Bytes[0], chained(t, log.Commits[1:])[0]}, 2, "prev"},
		{"of another chat", [][]byte{log.Bytes[0], []byte(strings.Replace(string(log.Bytes[1]), "ann", "bob", 1))}, 2, "chat"},
		{"an answer nobody asked for", chained(t, []events.Commit{log.Commits[0], renumbered(log.Commits[2], 2)}), 2, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := replayed(replay.Options{}, tt.bytes).Difference()
			if d == nil || d.Rev != tt.rev && d.Field != "rev" || d.Field != tt.field {
				t.Errorf("%v, want rev %d field %q", d, tt.rev, tt.field)
			}
		})
	}
}

func renumbered(c events.Commit, rev uint64) events.Commit {
	c.Rev = rev
	return c
}

// A newer release's commits are left to it.
func TestANewerLogIsNotJudged(t *testing.T) {
	t.Parallel()
	log := said("hello")
	newer := strings.ReplaceAll(string(log.Bytes[1]), "input.accepted.v1", "input.accepted.v9")
	h := replayed(replay.Options{}, [][]byte{log.Bytes[0], []byte(newer)})
	if _, ok := errors.AsType[*events.VersionError](h.Newer()); !ok || h.Difference() != nil {
		t.Errorf("newer %v, difference %v", h.Newer(), h.Difference())
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	changes, err := replay.Changes([]byte(`{"a":1,"b":[1,{"c":"x"}],"d":null}`), []byte(`{"a":1,"b":[1,{"c":"<"},3],"d":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, c.Path+" "+string(c.Old)+" "+string(c.New))
	}
	if want := []string{`b[1].c "x" "<"`, `b[2]  3`, `d null {}`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
