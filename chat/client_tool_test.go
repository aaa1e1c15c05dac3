package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

func clientTools(names ...string) *[]events.ClientTool {
	list := make([]events.ClientTool, len(names))
	for i, name := range names {
		list[i] = events.ClientTool{
			Name: name, Description: "Shows " + name + ".",
			Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
		}
	}
	return &list
}

// beginWithClient is a chat whose client has the tools pick and show.
func beginWithClient(t *testing.T) *story {
	t.Helper()
	s := &story{t: t, at: noon}
	s.command(protocol.Create{V: 1, Settings: events.Settings{ClientTools: clientTools("show", "pick")}})
	s.send("a")
	return s
}

func (s *story) deliver(call events.CallID, text string) []events.Event {
	s.t.Helper()
	_, list := s.command(protocol.ClientResult{V: 1, Call: call, Parts: []events.Part{events.Text(text)}})
	return list
}

func actionTimer(turn, step int) chat.TimerDue {
	return due(protocol.TimerName{Kind: protocol.TimerAction, Step: events.StepID{Turn: turn, Step: step}})
}

func TestS4_7_TheClientRunsItsOwnTools(t *testing.T) {
	t.Parallel()

	refusedWith := func(t *testing.T, list []events.Event, want events.Code) {
		t.Helper()
		wants(t, list, "command.rejected")
		if got := find[events.CommandRejected](t, list); got.Code != want {
			t.Errorf("code %s (%s), want %s", got.Code, got.Message, want)
		}
	}

	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *story)
	}{
		{"S1.1.2 it is asked when nothing else of the step is open", func(t *testing.T, s *story) {
			list := s.answer(call("show", `{"n":1}`), call("look", "{}"), call("pick", ""), call("nope", ""))
			wants(t, list, "step.completed", "tool.completed", "tool.requested")
			list = s.bareResult(id(1, 1, 2), events.ToolOK, "seen")
			wants(t, list, "tool.completed", "action.requested")
			e := find[events.ActionRequested](t, list)
			if len(e.Calls) != 2 || e.Calls[0] != id(1, 1, 1) || e.Calls[1] != id(1, 1, 3) || e.Due != s.at.Add(events.ActionTimeout) {
				t.Errorf("asked: %+v", e)
			}
			if timer := s.owedTimer(); timer.Name != "action-1-1" || timer.Due != e.Due {
				t.Errorf("timer %s at %s", timer.Name, timer.Due)
			}
		}},
		{"results come one by one, in any order, and the model reads them in that of the calls", func(t *testing.T, s *story) {
			wants(t, s.answer(call("show", ""), call("pick", "")), "step.completed", "action.requested")
			wants(t, s.deliver(id(1, 1, 2), "second"), "tool.completed")
			wants(t, s.deliver(id(1, 1, 1), "first"), "tool.completed", "step.requested")
			messages := chat.Prompt(s.state).Messages
			results := messages[len(messages)-1].Results
			if results[0].Parts[0].Text != "first" || results[1].Parts[0].Text != "second" || results[0].IsError {
				t.Errorf("results %+v", results)
			}
			wants(t, s.tell(actionTimer(1, 1)))
			s.answer(events.Text("ok"))
		}},
		{"what was not expected is refused, one by one", func(t *testing.T, s *story) {
			s.answer(call("show", ""), call("pick", ""))
			refusedWith(t, s.deliver(id(1, 1, 3), "x"), events.CodeUnknownCall)
			refusedWith(t, s.deliver(id(7, 1, 1), "x"), events.CodeUnknownCall)
			_, list := s.command(protocol.ClientResult{V: 1, Call: id(1, 1, 1), Parts: []events.Part{{Type: events.PartCall, Name: "look"}}})
			refusedWith(t, list, events.CodeBadCommand)
			_, list = s.command(protocol.ClientResult{V: 1, Call: id(1, 1, 1), Parts: make([]events.Part, 129)})
			refusedWith(t, list, events.CodeBadCommand)
			wants(t, s.deliver(id(1, 1, 1), "x"), "tool.completed")
			refusedWith(t, s.deliver(id(1, 1, 1), "y"), events.CodeAlreadyResolved)
			wants(t, s.deliver(id(1, 1, 2), "z"), "tool.completed", "step.requested")
			s.answer(call("look", "{}"))
			refusedWith(t, s.deliver(id(1, 2, 1), "a runner's"), events.CodeUnknownCall)
		}},
		{"S4.8 a result over its limit is cut in its middle, and the whole is stored", func(t *testing.T, s *story) {
			s.answer(call("show", ""))
			parts := []events.Part{events.Text("begin " + strings.Repeat("é", 10<<10)), {Type: events.PartData, JSON: `{"a":"` + strings.Repeat("b", 20<<10) + `"}`}}
			whole := parts[0].Text + parts[1].JSON
			d := chat.Handle(s.state, chat.Command{ID: "r", Sequence: 9, Body: protocol.ClientResult{V: 1, Call: id(1, 1, 1), Parts: parts}}, s.at, live())
			r := find[events.ToolCompleted](t, d.Events)
			if !r.Truncated || r.Blob != events.DigestOf([]byte(whole)) || len(d.Large) != 1 || string(d.Large[0].Bytes) != whole {
				t.Fatalf("truncated %t, the whole is %q, %d contents are stored", r.Truncated, r.Blob, len(d.Large))
			}
			shown := r.Parts[0].Text
			if len(r.Parts) != 1 || len(shown) > events.MaxResultBytes || len(shown) < events.MaxResultBytes-16 ||
				!strings.HasPrefix(shown, "begin ") || !strings.HasSuffix(shown, `b"}`) || !strings.Contains(shown, string(r.Blob)) {
				t.Errorf("shown: %d parts, the first has %d bytes", len(r.Parts), len(shown))
			}
		}},
		{"at the deadline the rest gets timeout", func(t *testing.T, s *story) {
			s.answer(call("show", ""), call("pick", ""), call("show", ""))
			s.deliver(id(1, 1, 2), "done")
			list := s.tell(actionTimer(1, 1))
			wants(t, list, "tool.completed", "tool.completed", "step.requested")
			for _, e := range list[:2] {
				if r := e.(events.ToolCompleted); r.Status != events.ToolTimeout || !r.IsError {
					t.Errorf("call %s is %s", r.Call, r.Status)
				}
			}
			refusedWith(t, s.deliver(id(1, 1, 1), "late"), events.CodeAlreadyResolved)
			wants(t, s.tell(actionTimer(1, 1)))
		}},
		{"the client says what failed", func(t *testing.T, s *story) {
			s.answer(call("show", ""))
			_, list := s.command(protocol.ClientResult{V: 1, Call: id(1, 1, 1), IsError: true})
			wants(t, list, "tool.completed", "step.requested")
			if r := find[events.ToolCompleted](t, list); r.Status != events.ToolError || !r.IsError {
				t.Errorf("result %s", r.Status)
			}
		}},
		{"S4.2 arguments are checked before it is asked", func(t *testing.T, s *story) {
			list := s.answer(call("show", `{"n":"one"}`), call("pick", `{"n"`))
			wants(t, list, "step.completed", "tool.completed", "tool.completed", "step.requested")
			for _, r := range every[events.ToolCompleted](s) {
				if r.Status != events.ToolInvalid {
					t.Errorf("call %s is %s", r.Call, r.Status)
				}
			}
		}},
		{"S4.9 an interrupt leaves nothing open, and what the client may have done is unknown", func(t *testing.T, s *story) {
			s.answer(call("show", ""), call("pick", ""))
			s.deliver(id(1, 1, 2), "done")
			_, list := s.command(protocol.Interrupt{V: 1, Turn: 1})
			wants(t, list, "turn.interrupt_requested", "tool.completed", "turn.interrupted")
			if r := find[events.ToolCompleted](t, list); r.Status != events.ToolUnknown {
				t.Errorf("the call is %s", r.Status)
			}
			wants(t, s.tell(actionTimer(1, 1)))
			refusedWith(t, s.deliver(id(1, 1, 1), "late"), events.CodeAlreadyResolved)
			s.send("b")
			s.answer(events.Text("the next message is answered"))
		}},
		{"S4.9 what it was not asked for is cancelled", func(t *testing.T, s *story) {
			s.answer(call("show", ""), call("look", "{}"))
			_, list := s.command(protocol.Interrupt{V: 1, Turn: 1})
			if r := find[events.ToolCompleted](t, list); r.Call != id(1, 1, 1) || r.Status != events.ToolCancelled {
				t.Errorf("call %s is %s", r.Call, r.Status)
			}
		}},
		{"S5.4 what is said meanwhile waits", func(t *testing.T, s *story) {
			s.answer(call("show", ""))
			wants(t, s.send("b"), "input.accepted")
			wants(t, s.deliver(id(1, 1, 1), "done"), "tool.completed", "step.requested")
			wants(t, s.answer(events.Text("ok")), "step.completed", "turn.completed", "turn.started", "step.requested")
		}},
		{"no runner is given its calls", func(t *testing.T, s *story) {
			s.answer(call("show", ""))
			if d := chat.Handle(s.state, claim(id(1, 1, 1), "c", 1), s.at, live()); d.Claim.Answer != protocol.ClaimOver {
				t.Errorf("the claim is %s", d.Claim.Answer)
			}
			wants(t, s.bareResult(id(1, 1, 1), events.ToolOK, "forged"))
		}},
		{"the model reads what the client says of its tools", func(t *testing.T, s *story) {
			for _, tool := range chat.Prompt(s.state).Tools {
				if tool.Name == "show" && tool.Description == "Shows show." && len(tool.Schema) > 0 {
					return
				}
			}
			t.Error("the tool is not described")
		}},
		{"a send may bring other tools, for its turn", func(t *testing.T, s *story) {
			s.answer(events.Text("ok"))
			s.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("b")}, ClientTools: clientTools("look")})
			wants(t, s.answer(call("look", "")), "step.completed", "action.requested") // and not the runner's of that name
			s.deliver(id(2, 1, 1), "done")
			wants(t, s.answer(call("show", "")), "step.completed", "tool.completed", "step.requested")
			s.answer(events.Text("ok"))
			s.send("c")
			wants(t, s.answer(call("show", "")), "step.completed", "action.requested")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, beginWithClient(t))
		})
	}
}

func TestS4_7_ToolsThatNoClientCanHave(t *testing.T) {
	t.Parallel()
	object := json.RawMessage(`{"type":"object"}`)
	for _, tt := range []struct {
		name  string
		tools []events.ClientTool
	}{
		{"a name that is none", []events.ClientTool{{Name: "a b", Schema: object}}},
		{"no name", []events.ClientTool{{Schema: object}}},
		{"one name twice", *clientTools("a", "a")},
		{"a name of Everturn's own", *clientTools(chat.ToolAskUser)},
		{"no schema", []events.ClientTool{{Name: "a"}}},
		{"a schema that is none", []events.ClientTool{{Name: "a", Schema: json.RawMessage(`{"type":7}`)}}},
		{"a schema that is no object", []events.ClientTool{{Name: "a", Schema: json.RawMessage(`true`)}}},
		{"characters that are no text", []events.ClientTool{{Name: "a", Description: "a\x00b", Schema: object}}},
		{"too many", make([]events.ClientTool, events.MaxClientTools+1)},
		{"too much", []events.ClientTool{{Name: "a", Schema: object, Description: strings.Repeat("a", events.MaxClientToolsBytes)}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t)
			_, list := s.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("a")}, ClientTools: &tt.tools})
			wants(t, list, "command.rejected")
			if code := find[events.CommandRejected](t, list).Code; code != events.CodeInvalidSettings {
				t.Errorf("code %s", code)
			}
		})
	}
}
