package verify_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
)

func rulesOf(found []verify.Violation) []verify.Rule {
	var rules []verify.Rule
	for _, v := range found {
		rules = append(rules, v.Rule)
	}
	return rules
}

// Here the bytes of the log itself are damaged: nobody makes the chain good.
func TestABrokenChainIsReported(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name   string
		damage func([]verify.Entry) []verify.Entry
	}{
		{"dropped: a commit", func(l []verify.Entry) []verify.Entry { return slices.Delete(l, 4, 5) }},
		{"repeated: a commit", func(l []verify.Entry) []verify.Entry { return slices.Insert(l, 5, l[4]) }},
		{"swapped: two commits", func(l []verify.Entry) []verify.Entry {
			l[4], l[5] = l[5], l[4]
			return l
		}},
		{"changed: one byte", func(l []verify.Entry) []verify.Entry {
			l[4].Commit = bytes.Replace(l[4].Commit, []byte(`"v":1`), []byte(`"v": 1`), 1)
			return l
		}},
		{"changed: no commit any more", func(l []verify.Entry) []verify.Entry {
			l[4].Commit = []byte("null")
			return l
		}},
		{"moved: to before the one before in the stream", func(l []verify.Entry) []verify.Entry {
			l[4].Sequence = l[3].Sequence
			return l
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found := check(tt.damage(logOf(story(t)).chain(t)), verify.Options{})
			if !slices.Contains(rulesOf(found), verify.RuleChain) {
				t.Errorf("not reported; found: %v", found)
			}
		})
	}
}

func TestAViolationNamesWhereAndWhatItClashesWith(t *testing.T) {
	t.Parallel()

	l := logOf(story(t))
	list := l.repeat(nth[events.ToolCompleted](l, 2)).chain(t)
	found := check(list, verify.Options{})
	const want = "I8 acme.ann rev 5 sequence 104: call 1.1.1 has a second result (see rev 5 sequence 104)"
	if len(found) == 0 || found[0].String() != want {
		t.Errorf("found %v, want first %s", found, want)
	}
}

func TestChatsMayBeInterleaved(t *testing.T) {
	t.Parallel()

	bob := chatgen.New(events.Key{Tenant: "acme", Chat: "bob"})
	bob.Create(events.Settings{})
	bob.Send("hello")
	bob.Answer(events.Text("hello"))
	checker := verify.New(verify.Options{Idle: true, Shards: shards})
	a, b := entries(story(t), 1), entries(bob, 1)
	for i := range max(len(a), len(b)) {
		if i < len(a) {
			checker.Add(a[i])
		}
		if i < len(b) {
			checker.Add(b[i])
		}
	}
	if found := checker.Finish(nil); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	if got := checker.Chats(); !slices.Equal(got, []events.Key{ann, bob.Key()}) {
		t.Errorf("chats %v", got)
	}
}

func TestACommitIDIsUniqueOverAllChats(t *testing.T) {
	t.Parallel()

	bob := chatgen.New(events.Key{Tenant: "acme", Chat: "bob"})
	bob.Create(events.Settings{})
	checker := verify.New(verify.Options{Shards: shards})
	for _, e := range entries(story(t), 1) {
		checker.Add(e)
	}
	copied := entries(bob, 1)[0]
	id := bob.Commits[0].ID
	copied.Commit = bytes.Replace(copied.Commit, []byte(id), []byte(story(t).Commits[2].ID), 1)
	found := checker.Add(copied)
	if !slices.Equal(rulesOf(found), []verify.Rule{verify.RuleCommands}) || !strings.Contains(found[0].Detail, ann.String()) {
		t.Errorf("found %v, want one violation of %s that names %s", found, verify.RuleCommands, ann)
	}
}

func TestWhatIsStillGoingOnIsLegalUnlessEverythingIsAtRest(t *testing.T) {
	t.Parallel()

	c := chatgen.New(ann)
	c.Create(events.Settings{})
	c.Send("one")
	c.Answer(chatgen.Call(chatgen.ToolAppend, ""))
	c.Interrupt()
	list := logOf(c).chain(t)
	if found := check(list, verify.Options{}); len(found) > 0 {
		t.Errorf("while it goes on: %v", found)
	}
	want := []verify.Rule{verify.RuleTurns, verify.RuleResults, verify.RuleInterrupts}
	if found := check(list, verify.Options{Idle: true}); !slices.Equal(rulesOf(found), want) {
		t.Errorf("at rest: %v, want rules %v", found, want)
	}
}

func TestAWaitingInputOfAnIdleChatIsReported(t *testing.T) {
	t.Parallel()

	c := chatgen.New(ann)
	c.Create(events.Settings{})
	c.Send("one")
	c.Send("two")
	c.Answer(events.Text("hello"))
	l := logOf(c)
	i := nth[events.TurnCompleted](l, 1)
	l[i.commit].Events = l[i.commit].Events[:i.event+1] // the next turn never starts
	if found := check(l.chain(t), verify.Options{Idle: true}); !slices.Equal(rulesOf(found), []verify.Rule{verify.RuleInputs}) {
		t.Errorf("found %v", found)
	}
}

func TestAFailedChatMayKeepInputsWaiting(t *testing.T) {
	t.Parallel()

	c := chatgen.New(ann)
	c.Create(events.Settings{})
	c.Send("one")
	c.Send("two")
	c.Fail(events.ClassAuth)
	if found := check(logOf(c).chain(t), verify.Options{Idle: true}); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

func TestADecidedCommandMustNotBeStoredAnyMore(t *testing.T) {
	t.Parallel()

	c := story(t)
	last := c.Commits[len(c.Commits)-1]
	create := c.Commits[0].Cause
	for _, tt := range []struct {
		name   string
		stored verify.StoredCommand
		want   []verify.Rule
	}{
		{"one that was decided", verify.StoredCommand{Key: ann, ID: create.ID, Sequence: create.Sequence}, []verify.Rule{verify.RuleCommands}},
		{"one that was passed over", verify.StoredCommand{Key: ann, ID: "unheard of", Sequence: 2}, []verify.Rule{verify.RuleCommands}},
		{"one that is new", verify.StoredCommand{Key: ann, ID: "unheard of", Sequence: last.Rev + 1000}, nil},
		{"one of a chat that does not exist", verify.StoredCommand{Key: events.Key{Tenant: "acme", Chat: "none"}, ID: "x", Sequence: 1}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found := check(entries(c, 1), verify.Options{Idle: true}, tt.stored)
			if !slices.Equal(rulesOf(found), tt.want) {
				t.Errorf("found %v, want rules %v", found, tt.want)
			}
		})
	}
}

func TestTheLedgerOfEffects(t *testing.T) {
	t.Parallel()

	c := story(t)
	l := logOf(c)
	call := func(turn, ordinal int) events.CallID { return events.CallID{Turn: turn, Step: 1, Ordinal: ordinal} }
	key := func(id events.CallID) string {
		for n := 1; ; n++ {
			if e := l.at(nth[events.ToolRequested](l, n)).(events.ToolRequested); e.Call == id {
				return e.Key
			}
		}
	}
	effect := func(id events.CallID, key string) verify.Effect {
		return verify.Effect{Key: ann, Call: id, IdempotencyKey: key}
	}
	done := effect(call(1, 3), key(call(1, 3)))
	for _, tt := range []struct {
		name    string
		effects []verify.Effect
		want    []verify.Rule
	}{
		{"an effect of a call that ran", []verify.Effect{done}, nil},
		{"an effect of a call whose outcome is unknown", []verify.Effect{effect(call(2, 1), key(call(2, 1)))}, nil},
		{"two effects of one call", []verify.Effect{done, done}, []verify.Rule{verify.RuleOnce}},
		{"an effect under another call's key", []verify.Effect{effect(call(1, 3), key(call(2, 1)))}, []verify.Rule{verify.RuleOnce}},
		{"an effect of a call that was never handed out", []verify.Effect{effect(call(1, 4), "k")}, []verify.Rule{verify.RuleOnce}},
		{"an effect of a call that nobody asked for", []verify.Effect{effect(call(9, 9), "k")}, []verify.Rule{verify.RuleOnce}},
		{"an effect of a chat without a log", []verify.Effect{{Key: events.Key{Tenant: "acme", Chat: "none"}, Call: call(1, 1)}}, []verify.Rule{verify.RuleOnce}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found := check(entries(c, 1), verify.Options{Idle: true, Effects: tt.effects})
			if !slices.Equal(rulesOf(found), tt.want) {
				t.Errorf("found %v, want rules %v", found, tt.want)
			}
		})
	}
}

func TestContentMustHaveTheDigestItIsNamedBy(t *testing.T) {
	t.Parallel()

	c := chatgen.New(ann)
	c.Create(events.Settings{})
	c.Send(strings.Repeat("x", events.MaxInlineBytes+1))
	c.Answer(events.Text("that was long"))
	if len(c.Blobs) == 0 {
		t.Fatal("nothing was stored apart")
	}
	for _, tt := range []struct {
		name string
		blob func(events.Key, events.Digest) ([]byte, error)
		want []verify.Rule
	}{
		{"as stored", func(_ events.Key, d events.Digest) ([]byte, error) { return c.Blobs[d], nil }, nil},
		{"damaged", func(events.Key, events.Digest) ([]byte, error) { return []byte("y"), nil }, []verify.Rule{verify.RuleTenants}},
		{"gone", func(events.Key, events.Digest) ([]byte, error) { return nil, errors.New("gone") }, []verify.Rule{verify.RuleTenants}},
		{"not to be had just now", func(events.Key, events.Digest) ([]byte, error) {
			return nil, fmt.Errorf("%w: no answer", verify.ErrNotSeen)
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if found := check(entries(c, 1), verify.Options{Blob: tt.blob}); !slices.Equal(rulesOf(found), tt.want) {
				t.Errorf("found %v, want rules %v", found, tt.want)
			}
		})
	}
}

func TestWhatANewerReleaseWroteIsNotJudged(t *testing.T) {
	t.Parallel()

	list := logOf(story(t)).chain(t)
	list[3].Commit = bytes.Replace(list[3].Commit, []byte(`.v1"`), []byte(`.v9"`), 1)
	checker := verify.New(verify.Options{Idle: true})
	for _, e := range list {
		checker.Add(e)
	}
	if found := checker.Finish(nil); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	unread := checker.Unread()
	if len(unread) != 1 || unread[0].Chat != ann || unread[0].Sequence != list[3].Sequence {
		t.Errorf("unread %v, want one commit of sequence %d", unread, list[3].Sequence)
	}
}

func TestASubjectMustBeAChatsOwn(t *testing.T) {
	t.Parallel()

	for _, subject := range []string{"everturn.log.9.acme.ann", "everturn.log.x.acme.ann", "everturn.cmd.acme.ann.send", "everturn.log.0.acme.bob", ""} {
		t.Run(fmt.Sprintf("%q", subject), func(t *testing.T) {
			t.Parallel()
			e := entries(story(t), 1)[0]
			e.Subject = subject
			if found := check([]verify.Entry{e}, verify.Options{}); !slices.Contains(rulesOf(found), verify.RuleTenants) {
				t.Errorf("found %v", found)
			}
		})
	}
}

func TestOneBrokenRuleDoesNotFloodTheReport(t *testing.T) {
	t.Parallel()

	l := logOf(story(t))
	for range 300 {
		l = l.repeat(nth[events.TurnFailed](l, 1))
	}
	l = change(l, 2, func(e *events.StepRequested) { e.Prompt = events.DigestOf(nil) })
	rules := rulesOf(check(l.chain(t), verify.Options{}))
	const most = 25
	of := func(r verify.Rule) int {
		return len(slices.DeleteFunc(slices.Clone(rules), func(other verify.Rule) bool { return other != r }))
	}
	if of(verify.RuleTurns) != most {
		t.Errorf("%d violations of %s, want %d", of(verify.RuleTurns), verify.RuleTurns, most)
	}
	if of(verify.RulePrompts) != 1 {
		t.Errorf("%d violations of %s, want the one that is there", of(verify.RulePrompts), verify.RulePrompts)
	}
}
