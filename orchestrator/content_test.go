package orchestrator_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

func TestLargeContent(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		var (
			long  = strings.Repeat("All work and no play. ", 10_000) // 220 KB
			parts []events.Part
		)
		for range 20 { // none of them large, and together too much for a commit
			parts = append(parts, events.Text(strings.Repeat("x", 40_000)))
		}
		m := answers(&model.Answer{Parts: parts, Stop: events.StopEnd}, says("fine"))
		o := r.start(m, nil)
		r.do(chatA, create())
		r.do(chatA, send(long))
		r.eventually("the first turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
		r.do(chatA, send("and now?"))
		r.eventually("the second turn has ended", func() bool { return len(eventsOf[events.TurnCompleted](r, chatA)) == 2 })

		for _, stored := range r.server.Log(chatA) {
			if len(stored.Body) > events.MaxCommitBytes {
				r.Errorf("a commit has %d bytes", len(stored.Body))
			}
		}
		asked := m.requests()[1].Messages
		if asked[0].Parts[0].Text != long || len(asked[1].Parts) != len(parts) || asked[1].Parts[19].Text != parts[19].Text {
			r.Error("the model was not shown what was said")
		}
		r.samePrompts(chatA)
		if n := o.counted("faults"); n != 0 {
			r.Errorf("%d faults", n)
		}
	})
}

// samePrompts checks that a reader of the log makes the prompts it recorded.
func (r *rig) samePrompts(k events.Key) {
	r.Helper()
	var s chat.State
	for i, c := range r.log(k) {
		s = s.Apply(c, events.Hash(r.server.Log(k)[i].Body))
		for _, e := range c.Events {
			if e, ok := e.(events.StepRequested); ok {
				if d := events.DigestOf(chat.Prompt(s).Canonical()); d != e.Prompt {
					r.Errorf("step %s: the prompt is %s, recorded as %s", e.Step, d, e.Prompt)
				}
			}
		}
	}
}

func TestLargeArguments(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.offer(lookup())
		arguments := `{"text":"` + strings.Repeat("x", 100_000) + `"}`
		m := answers(calls("lookup", arguments), says("fine"))
		r.start(m, nil)
		r.do(chatA, create())
		r.do(chatA, send("look"))
		r.runTool(chatA, events.Text("seen"))
		r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
		requested := eventsOf[events.ToolRequested](r, chatA)[0]
		if want := events.DigestOf([]byte(arguments)); requested.Arguments != want {
			r.Errorf("arguments are %s, want %s", requested.Arguments, want)
		}
		content, err := r.server.Process("r").Runner().Download(r.Context(), chatA, requested.Arguments)
		if err != nil || string(content) != arguments {
			r.Errorf("a runner downloads %d bytes, %v", len(content), err)
		}
		if got := m.requests()[1].Messages[1].Parts[0].Arguments; got != arguments {
			r.Errorf("the model was shown arguments of %d bytes", len(got))
		}
		r.samePrompts(chatA)
	})
}

func TestUploadAndDownload(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.start(answers(says("fine")), nil)
		r.do(chatA, create())
		runner := r.server.Process("r").Runner()
		for _, size := range []int{1, protocol.MaxChunkBytes, protocol.MaxChunkBytes + 1, 1_000_000} {
			content := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
			d, err := runner.Upload(r.Context(), chatA, content)
			if err != nil {
				r.Fatalf("upload of %d bytes: %v", size, err)
			}
			if got, err := runner.Download(r.Context(), chatA, d); err != nil || !bytes.Equal(got, content) {
				r.Errorf("%d bytes came back as %d: %v", size, len(got), err)
			}
		}
		if _, err := runner.Upload(r.Context(), chatA, make([]byte, protocol.MaxUploadBytes+1)); err == nil {
			r.Error("more than the limit was taken")
		}
		if _, err := runner.Upload(r.Context(), events.Key{Tenant: tenant, Chat: "nobody"}, []byte("x")); err == nil {
			r.Error("content was taken for a chat that is not there")
		}
		if _, err := runner.Download(r.Context(), chatA, events.DigestOf([]byte("missing"))); err == nil {
			r.Error("what is not stored was found")
		}
	})
}

func TestOffers(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.start(answers(says("fine")), nil)
		r.do(chatA, create()) // it serves
		runner := r.server.Process("r").Runner()
		broken, foreign, badSchema := lookup(), lookup(), lookup()
		broken.Name = "no name"
		foreign.Group = "others"
		badSchema.Name, badSchema.Schema = "bad", []byte(`{"type":12}`)
		offer := func(group string, list ...protocol.Manifest) []string {
			r.Helper()
			a, err := runner.Offer(r.Context(), protocol.Offer{V: protocol.Version, Group: group, Runner: "r", Manifests: list})
			if err != nil {
				r.Fatal(err)
			}
			return a.Refused
		}
		got := offer(group, lookup(), broken, foreign, badSchema)
		for i, refused := range []bool{false, true, true, true} {
			if (got[i] != "") != refused {
				r.Errorf("manifest %d: %q, want refused: %t", i, got[i], refused)
			}
		}
		foreign.Group = "others"
		r.eventually("a name that another group has is refused", func() bool { return offer("others", foreign)[0] != "" })
		r.do(chatA, send("hi"))
		started := eventsOf[events.TurnStarted](r, chatA)[0]
		if tools := started.Settings.Body.Tools; len(tools) != 1 || tools[0].Name != "lookup" {
			r.Errorf("the turn has tools %+v", tools)
		}
	})
}

func TestABusyChatIsNotSnappedAtEachTurn(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		const turns = 5
		first := r.start(answers(says("fine")), nil)
		r.do(chatA, create())
		began := time.Now()
		for n := range turns {
			r.do(chatA, send("hi"))
			r.eventually("the turn has ended", func() bool { return len(eventsOf[events.TurnCompleted](r, chatA)) == n+1 })
		}
		if took := time.Since(began); took > time.Second {
			r.Fatalf("the turns took %v: too long for one snapshot", took)
		}
		r.eventually("a snapshot is written", func() bool { return first.counted("snapshots") > 0 })
		first.stopped()
		if n := first.counted("snapshots"); n != 1 {
			r.Errorf("%d snapshots, want 1", n)
		}

		second := r.start(answers(says("fine")), nil)
		r.do(chatA, send("again"))
		r.eventually("the next turn has ended", func() bool { return len(eventsOf[events.TurnCompleted](r, chatA)) == turns+1 })
		for _, from := range []string{"snapshot", "start"} { // it was of the last turn
			if n := second.counted("loads", from); n != 0 {
				r.Errorf("%d states read from the log, from the %s on", n, from)
			}
		}
	})
}

func TestSnapshots(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		edit func(b []byte) []byte
		from string
	}{
		{name: "a snapshot spares the reading of the log", from: "snapshot"},
		{name: "one that cannot be read counts for nothing", from: "start", edit: func(b []byte) []byte { return b[:len(b)/2] }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			inBubble(t, func(r *rig) {
				first := r.start(answers(says("fine")), nil)
				r.do(chatA, create())
				r.do(chatA, send("hi"))
				r.eventually("a snapshot is written", func() bool { return first.counted("snapshots") > 0 })
				r.do(chatA, protocol.Rename{V: protocol.Version, Title: "behind it"})
				first.stopped()
				if tt.edit != nil {
					r.server.EditSnapshot(chatA, chat.FoldVersion, tt.edit)
				}
				second := r.start(answers(says("fine")), nil)
				r.do(chatA, send("again"))
				r.eventually("the second turn has ended", func() bool { return len(eventsOf[events.TurnCompleted](r, chatA)) == 2 })
				if n := second.counted("loads", tt.from); n != 1 {
					r.Errorf("%d loads from %s, want 1", n, tt.from)
				}
				if n := second.counted("stopped"); n != 0 {
					r.Error("a snapshot stopped its chat")
				}
			})
		})
	}
}
