package chat_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// Rule: S1.1.1.
func TestCalls(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *story)
	}{
		{"S4.2 B06 no arguments are empty arguments", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(call("look", ""), call("look", "  \n"), call("look", "null"), call("look", "{}"))
			requested := every[events.ToolRequested](s)
			if len(requested) != 4 {
				t.Fatalf("%d calls handed out, want 4", len(requested))
			}
			for _, r := range requested {
				if r.Arguments != events.DigestOf([]byte("{}")) {
					t.Errorf("call %s has arguments %s", r.Call, r.Arguments)
				}
			}
		}},
		{"S4.2 numbers that no float holds are refused before they are compared", func(t *testing.T, s *story) {
			bounded, err := chat.CompileSchema(json.RawMessage(
				`{"type":"object","properties":{"n":{"type":"number","minimum":1},"list":{"type":"array","uniqueItems":true}}}`))
			if err != nil {
				t.Fatal(err)
			}
			long := strings.Repeat("9", 1000)
			for _, arguments := range []string{
				`{"n":1e1000001}`, `{"n":-1E+99999999999999999999}`, `{"n":1e-999999}`, `{"n":` + long + `}`,
				`{"list":[` + strings.Repeat("1e900000,", 20_000) + `1]}`, `{"other":{"deep":[1e500]}}`,
			} {
				s.send("a")
				ended := s.ended(&model.Answer{Parts: []events.Part{call("save", arguments)}, Stop: events.StopCalls}, nil)
				for digest := range ended.Schemas {
					ended.Schemas[digest] = bounded
				}
				done := find[events.ToolCompleted](t, s.tell(ended))
				if said := done.Parts[0].Text; done.Status != events.ToolInvalid || !strings.Contains(said, "out of range") {
					t.Errorf("%.40s: %q, %q", arguments, done.Status, said)
				}
				s.answer(events.Text("sorry"))
			}
			if _, err := chat.CompileSchema(json.RawMessage(`{"minimum":1e1000001}`)); err == nil {
				t.Error("a schema with such a number is taken")
			}
		}},
		{"S4.2 B06 a missing field is named, and what is replayed is valid JSON", func(t *testing.T, s *story) {
			s.send("a")
			list := s.answer(call("open", ""), call("open", `{"path`), call("open", `[1]`), call("open", `{"path":3}`))
			find[events.StepRequested](t, list) // no dispatch, the model is asked again
			for i, r := range every[events.ToolCompleted](s) {
				if r.Status != events.ToolInvalid {
					t.Errorf("call %d: status %q", i+1, r.Status)
				}
			}
			if said := every[events.ToolCompleted](s)[0].Parts[0].Text; !strings.Contains(said, "path") {
				t.Errorf("the model is told %q", said)
			}
			for _, m := range chat.Prompt(s.state).Messages {
				for _, p := range m.Parts {
					var object map[string]any
					if p.Type == events.PartCall && json.Unmarshal([]byte(p.Arguments), &object) != nil {
						t.Errorf("replayed arguments %q", p.Arguments)
					}
				}
			}
		}},
		{"S4.3 B03 repeated and missing ids: two calls, two results, unique wire ids", func(t *testing.T, s *story) {
			s.send("a")
			one, two, three := call("look", `{"path":"a"}`), call("look", `{"path":"b"}`), call("look", "{}")
			one.ProviderID, two.ProviderID, three.ProviderID = "dup_1", "dup_1", ""
			s.answer(one, two, three)
			s.bareResult(id(1, 1, 2), events.ToolOK, "second")
			s.bareResult(id(1, 1, 3), events.ToolOK, "third")
			s.bareResult(id(1, 1, 1), events.ToolOK, "first")
			messages := chat.Prompt(s.state).Messages
			results := messages[len(messages)-1].Results
			seen := map[string]bool{}
			for i, want := range []string{"first", "second", "third"} {
				if results[i].Parts[0].Text != want {
					t.Errorf("result %d is %q, want %q: call order", i+1, results[i].Parts[0].Text, want)
				}
				if seen[results[i].WireID] {
					t.Errorf("wire id %q twice", results[i].WireID)
				}
				seen[results[i].WireID] = true
			}
		}},
		{"S4.4 neighbours that may run together do, others run alone and in order", func(t *testing.T, s *story) {
			s.send("a")
			list := s.answer(call("look", "{}"), call("look", "{}"), call("save", "{}"), call("look", "{}"))
			wants(t, list, "step.completed", "tool.requested", "tool.requested")
			wants(t, s.bareResult(id(1, 1, 2), events.ToolOK, ""), "tool.completed")
			wants(t, s.bareResult(id(1, 1, 1), events.ToolOK, ""), "tool.completed", "tool.requested")
			wants(t, s.bareResult(id(1, 1, 3), events.ToolOK, ""), "tool.completed", "tool.requested")
			wants(t, s.bareResult(id(1, 1, 4), events.ToolOK, ""), "tool.completed", "step.requested")
		}},
		{"S4.5 an exclusive tool must be alone", func(t *testing.T, s *story) {
			s.send("a")
			wants(t, s.answer(call("look", "{}"), call("alone", "{}")),
				"step.completed", "tool.completed", "tool.completed", "step.requested")
			for _, r := range every[events.ToolCompleted](s) {
				if r.Status != events.ToolDenied {
					t.Errorf("status %q", r.Status)
				}
			}
		}},
		{"S4.6 an unknown tool has a result and the turn goes on", func(t *testing.T, s *story) {
			s.send("a")
			list := s.answer(call("nope", "{}"))
			wants(t, list, "step.completed", "tool.completed", "step.requested")
			if r := find[events.ToolCompleted](t, list); r.Status != events.ToolNotFound {
				t.Errorf("status %q", r.Status)
			}
		}},
		{"S4.8 a result over its limit is cut", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(call("look", "{}"))
			r := find[events.ToolCompleted](t, s.bareResult(id(1, 1, 1), events.ToolOK, strings.Repeat("é", 40<<10)))
			if !r.Truncated || len(r.Parts[0].Text) > events.MaxResultBytes {
				t.Errorf("truncated %v, %d bytes", r.Truncated, len(r.Parts[0].Text))
			}
		}},
		{"S4.8 B38 control bytes never reach the log", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(call("look", "{}"))
			r := find[events.ToolCompleted](t, s.bareResult(id(1, 1, 1), events.ToolOK, "\xe2\x4d\xff\x00\x1b[2J"))
			if r.Parts[0].Text != "\ufffdM\ufffd\ufffd\ufffd[2J" {
				t.Errorf("text %q", r.Parts[0].Text)
			}
		}},
		{"S4.13 at its deadline a call without effect is timeout, else unknown", func(t *testing.T, s *story) {
			for tool, want := range map[string]events.ToolStatus{"look": events.ToolTimeout, "pay": events.ToolTimeout, "save": events.ToolUnknown} {
				s := begin(t)
				s.send("a")
				s.answer(call(tool, "{}"))
				r := find[events.ToolCompleted](t, s.tell(due(protocol.TimerName{Kind: protocol.TimerDeadline, Call: id(1, 1, 1)})))
				if r.Status != want {
					t.Errorf("%s: status %q, want %q", tool, r.Status, want)
				}
			}
			s.send("a")
			s.answer(call("pay", "{}"))
			s.tell(claim(id(1, 1, 1), "k1", 1))
			r := find[events.ToolCompleted](t, s.tell(due(protocol.TimerName{Kind: protocol.TimerDeadline, Call: id(1, 1, 1)})))
			if r.Status != events.ToolUnknown {
				t.Errorf("started: status %q", r.Status)
			}
			s.answer(events.Text("ok"))
			s.answers()
		}},
		{"S1.3 a second result changes nothing: the first stands", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(call("look", "{}"))
			s.bareResult(id(1, 1, 1), events.ToolOK, "first")
			wants(t, s.bareResult(id(1, 1, 1), events.ToolOK, "second"))
			wants(t, s.bareResult(id(1, 1, 7), events.ToolOK, "nobody asked"))
		}},
		{"a result without a licence is dropped", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(call("pay", "{}"))
			wants(t, s.bareResult(id(1, 1, 1), events.ToolOK, "forged"))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, begin(t))
		})
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	the := id(1, 1, 1)

	verdict := func(t *testing.T, s *story, c chat.Claim, after time.Duration, want protocol.ClaimVerdict, wantTypes ...string) chat.Decision {
		t.Helper()
		s.at = noon.Add(after)
		d := chat.Handle(s.state, c, s.at, live())
		if d.Claim == nil || d.Claim.Answer != want {
			t.Fatalf("answer %+v, want %s", d.Claim, want)
		}
		s.commit(c, d.Events)
		wants(t, d.Events, wantTypes...)
		return d
	}
	asking := func(t *testing.T, tool string) *story {
		t.Helper()
		s := begin(t)
		s.send("a")
		s.answer(call(tool, "{}"))
		return s
	}

	t.Run("an idempotent call is granted without a commit", func(t *testing.T) {
		t.Parallel()
		verdict(t, asking(t, "save"), claim(the, "k1", 1), 0, protocol.ClaimGranted)
	})
	t.Run("from its second delivery on it leaves a trace, and is given up after five", func(t *testing.T) {
		t.Parallel()
		s := asking(t, "save")
		for n := range uint64(events.MaxStartsIdempotent) {
			verdict(t, s, claim(the, string(rune('a'+n)), n+2), 0, protocol.ClaimGranted, "tool.started")
		}
		verdict(t, s, claim(the, "z", 9), 0, protocol.ClaimOver, "tool.completed", "step.requested")
	})
	t.Run("another call is licensed once", func(t *testing.T) {
		t.Parallel()
		s := asking(t, "pay")
		verdict(t, s, claim(the, "k1", 1), 0, protocol.ClaimGranted, "tool.started")
		verdict(t, s, claim(the, "k1", 1), events.Dead/2-time.Millisecond, protocol.ClaimGranted)
		verdict(t, s, claim(the, "k1", 1), events.Dead/2, protocol.ClaimBusy)
	})
	t.Run("another claim waits, asks the holder, and ends as unknown", func(t *testing.T) {
		t.Parallel()
		s := asking(t, "pay")
		verdict(t, s, claim(the, "k1", 1), 0, protocol.ClaimGranted, "tool.started")
		second := claim(the, "k2", 2)
		verdict(t, s, second, time.Second, protocol.ClaimBusy)
		s.at = noon.Add(4 * time.Second)
		verdict(t, s, second, 4*time.Second, protocol.ClaimBusy)
	})
	t.Run("a call is its own group's: others get no licence and give no result", func(t *testing.T) {
		t.Parallel()
		s := asking(t, "pay")
		stranger, own := claim(the, "k1", 1), claim(the, "k2", 1)
		stranger.Group, own.Group = "strangers", every[events.ToolRequested](s)[0].Group
		verdict(t, s, stranger, 0, protocol.ClaimOver)
		verdict(t, s, own, 0, protocol.ClaimGranted, "tool.started")
		result := chat.Result{Result: protocol.Result{V: 1, Call: the, Runner: "r1", Status: events.ToolOK}, Group: "strangers"}
		if list := s.tell(result); len(list) > 0 {
			t.Errorf("a stranger's result led to %v", list)
		}
		result.Group = own.Group
		find[events.ToolCompleted](t, s.tell(result))
	})
	t.Run("near its deadline a call is over", func(t *testing.T) {
		t.Parallel()
		s := asking(t, "pay")
		verdict(t, s, claim(the, "k1", 1), 5*time.Second+time.Millisecond, protocol.ClaimOver)
	})
	t.Run("a dead holder makes the outcome unknown, a living one is waited for", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		s.command(protocol.Configure{V: 1, Settings: events.Settings{Approval: events.ApprovalFull}})
		s.send("a")
		s.answer(call("ask", "{}")) // timeout 120 s
		verdict(t, s, claim(the, "k1", 1), 0, protocol.ClaimGranted, "tool.started")
		second := claim(the, "k2", 2)
		d := chat.Handle(s.state, second, noon.Add(events.Dead), live())
		if d.Ask == nil || d.AskRunner != "r1" || d.Ask.Claim != "k1" {
			t.Fatalf("decision %+v, want a question to the holder", d)
		}
		second.Holder = chat.HolderRunning
		verdict(t, s, second, events.Dead, protocol.ClaimBusy)
		second.Holder = chat.HolderSilent
		verdict(t, s, claim(the, "k3", 1), events.Dead, protocol.ClaimBusy)
		verdict(t, s, second, events.Dead, protocol.ClaimOver, "tool.completed", "step.requested")
		if r := every[events.ToolCompleted](s)[0]; r.Status != events.ToolUnknown {
			t.Errorf("status %q", r.Status)
		}
	})
}

func TestPromptShowsNoCallWithoutItsResult(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.send("a")
	s.answer(events.Text("both"), call("look", "{}"), call("look", "{}"))
	s.bareResult(id(1, 1, 1), events.ToolOK, "one")
	for _, m := range chat.Prompt(s.state).Messages {
		if m.Role != model.RoleUser {
			t.Errorf("a step with an open call is shown: %+v", m)
		}
	}
}

func TestSchemaLoadsNothing(t *testing.T) {
	t.Parallel()
	for _, ref := range []string{"file:///etc/hostname", "http://127.0.0.1:1/x.json", "other.json"} {
		if _, err := chat.CompileSchema(json.RawMessage(`{"$ref":"` + ref + `"}`)); err == nil {
			t.Errorf("a reference to %s was followed", ref)
		}
	}
}
