package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/replay"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

var ann = events.Key{Tenant: "acme", Chat: "ann"}

const shards = 4

// shelf is what lies in an installation: one chat.
type shelf struct {
	key    events.Key
	bytes  [][]byte
	blobs  map[events.Digest][]byte
	broken error         // what each read ends with
	slow   time.Duration // for each commit
}

func shelfOf(c *chatgen.Chat) *shelf { return &shelf{key: c.Key(), bytes: c.Bytes, blobs: c.Blobs} }

func (s *shelf) stored(i int) protocol.Stored {
	subject := protocol.LogSubject(protocol.Shard(s.key, shards), s.key)
	return protocol.Stored{Subject: subject, Sequence: uint64(3 * (i + 1)), Body: s.bytes[i]}
}

func (s *shelf) Last(_ context.Context, k events.Key) (protocol.Stored, error) {
	if k != s.key || len(s.bytes) == 0 {
		return protocol.Stored{}, protocol.ErrNotFound
	}
	return s.stored(len(s.bytes) - 1), nil
}

func (s *shelf) Read(ctx context.Context, _ events.Key, after, through uint64) iter.Seq2[protocol.Stored, error] {
	return func(yield func(protocol.Stored, error) bool) {
		for i := range s.bytes {
			m := s.stored(i)
			if m.Sequence <= after || m.Sequence > through {
				continue
			}
			<-time.After(s.slow)
			if err := errors.Join(s.broken, ctx.Err()); err != nil {
				yield(m, err)
				return
			}
			if !yield(m, nil) {
				return
			}
		}
	}
}

func (s *shelf) Get(_ context.Context, _ events.Key, d events.Digest) ([]byte, error) {
	content, ok := s.blobs[d]
	if !ok {
		return nil, fmt.Errorf("content %s: %w", d, protocol.ErrNotFound)
	}
	return content, nil
}

func (s *shelf) manifest(context.Context, events.Digest) (protocol.Manifest, error) {
	return protocol.Manifest{Description: "does it", Schema: chatgen.Schema()}, nil
}

func (s *shelf) open(t *testing.T) *Audit {
	t.Helper()
	a, err := New(Config{Log: s, Blobs: s, Manifest: s.manifest, Shards: shards})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// ask puts a query as it comes from the bus.
func ask[A any](t *testing.T, a *Audit, name, body string) (A, error) {
	t.Helper()
	var answer A
	raw, err := a.Queries()[name](t.Context(), ann.Tenant, []byte(body))
	if err != nil {
		return answer, err
	}
	if len(raw) > 768<<10 {
		t.Errorf("%s %s: an answer of %d bytes", name, body, len(raw))
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		t.Fatal(err)
	}
	return answer, nil
}

func codeOf(err error) events.Code {
	if refused, ok := errors.AsType[*protocol.RefusedError](err); ok {
		return refused.Code
	}
	return ""
}

// generated is whatever can happen in a chat, now and then in a fork of another.
func generated(seed uint64) *chatgen.Chat {
	chance := rand.New(rand.NewPCG(seed, 11))
	c := chatgen.Log(ann, chance, 40)
	if seed%3 == 0 && c.State.Exists() {
		fork := c.ForkAt(ann, uint64(len(c.Commits)))
		d := chatgen.DriverOf(fork, chance)
		for range 20 {
			d.Take(d.Next())
		}
		return fork
	}
	return c
}

// At every rev, what is answered is what whoever has the log makes of it.
func TestEveryRevOfGeneratedChats(t *testing.T) {
	t.Parallel()

	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			c := generated(seed)
			if !c.State.Exists() || events.Erased(c.Bytes[len(c.Bytes)-1]) {
				return
			}
			s := shelfOf(c)
			a := s.open(t)
			blob := func(k events.Key, d events.Digest) ([]byte, error) { return s.Get(t.Context(), k, d) }
			for rev := 1; rev <= len(c.Commits); rev++ {
				want, err := replay.Fold(c.Commits[:rev], blob)
				if err != nil {
					t.Fatal(err)
				}
				got, err := ask[transcript.State](t, a, "state", fmt.Sprintf(`{"chat":"ann","rev":%d}`, rev))
				if err != nil {
					t.Fatal(err)
				}
				folded, err := chat.Decode(got.State)
				if err != nil || got.Cut != nil || folded.Hash() != want.Hash() || got.Hash != want.Hash() || got.Rev != uint64(rev) {
					t.Fatalf("rev %d: another state: %+v, error %v", rev, got, err)
				}
				var newest bool
				for _, e := range slices.Backward(c.Commits[rev-1].Events) {
					if asked, ok := e.(events.StepRequested); ok {
						wasShown(t, a, asked, rev, !newest)
						newest = true
					}
				}
			}
			verdict, err := ask[transcript.Verdict](t, a, "verify", `{"chat":"ann"}`)
			if err != nil || len(verdict.Violations) > 0 || verdict.Unread != "" || verdict.Rev != uint64(len(c.Commits)) {
				t.Errorf("verdict %+v, error %v", verdict, err)
			}
		})
	}
}

// wasShown demands that what the model was shown is what was recorded, whether the
// question names the step or, if it is the newest then, the rev.
func wasShown(t *testing.T, a *Audit, asked events.StepRequested, rev int, newest bool) {
	t.Helper()
	bodies := []string{fmt.Sprintf(`{"chat":"ann","step":%q,"attempt":%d}`, asked.Step, asked.Attempt)}
	if newest {
		bodies = append(bodies, fmt.Sprintf(`{"chat":"ann","rev":%d}`, rev), fmt.Sprintf(`{"chat":"ann","rev":%d,"full":true}`, rev))
	}
	for _, body := range bodies {
		p, err := ask[transcript.Prompt](t, a, "prompt", body)
		if err != nil || !p.Same || p.Recorded != asked.Prompt || p.Rev != uint64(rev) || p.Purpose != asked.Purpose || p.Cut != nil {
			t.Errorf("%s: step %s, purpose %s, rev %d, same %t, cut %q, error %v", body, p.Step, p.Purpose, p.Rev, p.Same, p.Cut, err)
		}
	}
}

func TestQuestionsThatAreRefused(t *testing.T) {
	t.Parallel()

	c := chatgen.New(ann)
	c.Create(events.Settings{})
	c.Send("hello")
	erased := chatgen.New(ann)
	erased.Create(events.Settings{})
	erased.Erase()
	erased.Rest()
	fork := c.ForkAt(ann, 2)
	fork.Blobs = nil
	for _, tt := range []struct {
		name, query, body string
		of                *chatgen.Chat
		damage            func(*shelf)
		want              events.Code
	}{
		{"no chat", "state", `{}`, c, nil, events.CodeBadCommand},
		{"an unknown field", "prompt", `{"chat":"ann","at":1}`, c, nil, events.CodeBadCommand},
		{"a rev behind the newest", "state", `{"chat":"ann","rev":3}`, c, nil, events.CodeBadCommand},
		{"a negative rev", "state", `{"chat":"ann","rev":-1}`, c, nil, events.CodeBadCommand},
		{"a negative attempt", "prompt", `{"chat":"ann","attempt":-1}`, c, nil, events.CodeBadCommand},
		{"a step that is none", "prompt", `{"chat":"ann","step":"one"}`, c, nil, events.CodeBadCommand},
		{"a step that never was", "prompt", `{"chat":"ann","step":"1.2"}`, c, nil, events.CodeUnknownTurn},
		{"an attempt that never was", "prompt", `{"chat":"ann","step":"1.1","attempt":2}`, c, nil, events.CodeUnknownTurn},
		{"a rev before any step", "prompt", `{"chat":"ann","rev":1}`, c, nil, events.CodeUnknownTurn},
		{"a chat that does not exist", "verify", `{"chat":"bob"}`, c, nil, events.CodeUnknownChat},
		{"the state of an erased chat", "state", `{"chat":"ann"}`, erased, nil, events.CodeErased},
		{"the prompt of an erased chat", "prompt", `{"chat":"ann"}`, erased, nil, events.CodeErased},
		{"the verdict of an erased chat", "verify", `{"chat":"ann"}`, erased, nil, events.CodeErased},
		{"a history that is gone", "state", `{"chat":"ann"}`, fork, nil, events.CodeChatStopped},
		{"a byte was changed", "state", `{"chat":"ann"}`, c, func(s *shelf) {
			s.bytes = [][]byte{[]byte(strings.Replace(string(s.bytes[0]), "commit", "Commit", 1)), s.bytes[1]}
			s.bytes[0] = append([]byte{}, s.bytes[0]...)
			s.bytes[0][len(s.bytes[0])-1] = ' '
			s.bytes[0] = append(s.bytes[0], '}')
		}, events.CodeChatStopped},
		{"a commit that a newer release wrote", "state", `{"chat":"ann"}`, c, func(s *shelf) {
			s.bytes = append(s.bytes[:2:2], []byte(`{"v":9,"tenant":"acme","chat":"ann","rev":3}`))
		}, events.CodeUnavailable},
		{"a chat of too many commits", "state", `{"chat":"ann"}`, c, func(s *shelf) {
			s.bytes = append(s.bytes[:2:2], []byte(`{"v":1,"tenant":"acme","chat":"ann","rev":20001}`))
		}, events.CodeTooLarge},
		{"commits of too many bytes", "state", `{"chat":"ann"}`, c, func(s *shelf) {
			s.bytes = append(s.bytes[:0:0], []byte(`{"tenant":"acme","chat":"ann","rev":1,"x":"`+strings.Repeat("x", 65<<20)+`"}`))
		}, events.CodeTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := shelfOf(tt.of)
			if tt.damage != nil {
				tt.damage(s)
			}
			if answer, err := ask[map[string]any](t, s.open(t), tt.query, tt.body); codeOf(err) != tt.want {
				t.Errorf("answer %v, error %v; want code %s", answer, err, tt.want)
			}
		})
	}
}

func TestOtherTenantsChatsDoNotExist(t *testing.T) {
	t.Parallel()

	c := chatgen.New(ann)
	c.Create(events.Settings{})
	for name, query := range shelfOf(c).open(t).Queries() {
		if _, err := query(t.Context(), "other", []byte(`{"chat":"ann"}`)); codeOf(err) != events.CodeUnknownChat {
			t.Errorf("%s: error %v, want code %s", name, err, events.CodeUnknownChat)
		}
	}
}

func TestARuleThatWasBrokenIsNamed(t *testing.T) {
	t.Parallel()

	c := chatgen.New(ann)
	c.Create(events.Settings{})
	c.Send("hello")
	s := shelfOf(c)
	forged, err := events.Encode(events.Commit{
		ID: "forged", Key: ann, Rev: 3, Prev: events.Hash(s.bytes[1]), At: c.Now(),
		Cause: events.Cause{Kind: events.CausedByTimer, ID: "nothing"}, Events: []events.Event{events.TurnStarted{Turn: 7, At: c.Now()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.bytes = append(s.bytes, forged)
	verdict, err := ask[transcript.Verdict](t, s.open(t), "verify", `{"chat":"ann"}`)
	if err != nil || len(verdict.Violations) == 0 {
		t.Fatalf("verdict %+v, error %v", verdict, err)
	}
	for _, v := range verdict.Violations {
		if v.Rule == "" || v.Means == "" || v.Detail == "" || v.Rev != 3 {
			t.Errorf("violation %+v", v)
		}
	}
}

// What takes more than a moment for each commit is left out of a long chat, and said.
func TestAVerdictOnALongChatSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()

	c := chatgen.New(ann)
	c.Create(events.Settings{})
	for i := range 1_000 {
		c.Command(protocol.Rename{V: protocol.Version, Title: fmt.Sprint("title ", i)})
		if i != 998 && i != 999 {
			continue
		}
		verdict, err := ask[transcript.Verdict](t, shelfOf(c).open(t), "verify", `{"chat":"ann"}`)
		if err != nil || len(verdict.Violations) > 0 || len(verdict.Skipped) > 0 != (i == 999) {
			t.Errorf("after %d commits: %+v, error %v", len(c.Commits), verdict, err)
		}
	}
}

func TestAnAnswerIsCutUntilItFitsAndSaysSo(t *testing.T) {
	t.Parallel()

	c := chatgen.New(ann)
	c.Live.Windows = nil // nothing is ever too long
	c.Create(events.Settings{})
	for i := range 40 {
		c.Send(fmt.Sprint(i, " ", strings.Repeat("question ", 5_000)))
		c.Answer(events.Text(strings.Repeat("answer ", 5_000)))
	}
	a := shelfOf(c).open(t)
	s, err := ask[transcript.State](t, a, "state", `{"chat":"ann"}`)
	if err != nil || len(s.Cut) == 0 {
		t.Errorf("cut %q, error %v", s.Cut, err)
	}
	p, err := ask[transcript.Prompt](t, a, "prompt", `{"chat":"ann"}`)
	if err != nil || len(p.Cut) == 0 || !p.Same {
		t.Errorf("cut %q, same %t, error %v", p.Cut, p.Same, err)
	}
	var request struct {
		Messages []struct {
			Parts []events.Part `json:"parts"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(p.Request, &request); err != nil || len(request.Messages) != 79 {
		t.Fatalf("%d messages, error %v; want all 79, with less text", len(request.Messages), err)
	}
	if text := request.Messages[78].Parts[0].Text; !strings.HasPrefix(text, "39 question") || !strings.HasSuffix(text, "…") {
		t.Errorf("the last message is %q", text)
	}
}

func TestWhatIsLongWithoutTextsIsCutToItsEnd(t *testing.T) {
	t.Parallel()

	list := make([]int, 1_000_000)
	for i := range list {
		list[i] = i
	}
	raw, err := json.Marshal(map[string]any{"list": list})
	if err != nil {
		t.Fatal(err)
	}
	fitting, cut, err := fit(raw)
	if err != nil || len(cut) != 1 || !strings.HasSuffix(string(fitting), ",999999]}") {
		t.Errorf("cut %q, error %v, to %.20s…", cut, err, fitting)
	}
	object := make(map[string]int)
	for _, i := range list[:100_000] {
		object[fmt.Sprint(i)] = i
	}
	if raw, err = json.Marshal(object); err != nil {
		t.Fatal(err)
	}
	if fitting, cut, err = fit(raw); err != nil || len(cut) != 1 || string(fitting) != "null" {
		t.Errorf("cut %q, error %v, to %.20s…", cut, err, fitting)
	}
}

func TestWhatTakesTooLongIsGivenUpAndTheNextIsAnswered(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		c := chatgen.New(ann)
		c.Create(events.Settings{})
		c.Send("hello")
		s := shelfOf(c)
		s.slow = 3 * time.Second
		a := s.open(t)
		done := make(chan error)
		for range 3 {
			go func() {
				_, err := ask[transcript.State](t, a, "state", `{"chat":"ann"}`)
				done <- err
			}()
		}
		codes := map[events.Code]int{}
		for range 3 {
			codes[codeOf(<-done)]++
		}
		if codes[events.CodeTooLarge]+codes[events.CodeUnavailable] != 3 || codes[events.CodeTooLarge] < 2 {
			t.Errorf("codes %v, want two that took too long, and one that waited in vain or took too long", codes)
		}
		s.slow = 0
		if _, err := ask[transcript.State](t, a, "state", `{"chat":"ann"}`); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
