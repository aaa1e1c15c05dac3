package system

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// B03: a provider repeats one id within an answer. A call is its place in the
// step, so each runs once, has its own result, and its own id when it is shown
// to the model again.
//
// Rule: S4.3.
func TestB03ACallIsItsPlaceInTheStepAndNotItsID(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	t.Run("two calls with one id", func(t *testing.T) {
		t.Parallel()
		c := s.chat(t, scripted(t, toolThenText("      - call: {name: echo, id: dup_1, arguments: '{\"text\": \"one\"}'}\n"+
			"      - call: {name: echo, id: dup_1, arguments: '{\"text\": \"two\"}'}")))
		c.bothRun()
		var calls []events.CallID
		for _, r := range all[events.ToolCompleted](c.read()) {
			calls = append(calls, r.Call)
		}
		slices.SortFunc(calls, func(a, b events.CallID) int { return a.Ordinal - b.Ordinal })
		if want := []events.CallID{{Turn: 1, Step: 1, Ordinal: 1}, {Turn: 1, Step: 1, Ordinal: 2}}; !slices.Equal(calls, want) {
			t.Errorf("results of %v, want those of %v", calls, want)
		}
		shown := c.model.last().Messages
		results := shown[len(shown)-1].Results
		if len(results) != 2 || results[0].WireID != "dup_1" || results[1].WireID == "dup_1" || results[1].WireID == "" {
			t.Errorf("shown with the ids %q and %q", results[0].WireID, results[1].WireID)
		}
		c.stillWorks()
	})
	t.Run("the same call 500 times", func(t *testing.T) {
		t.Parallel()
		c := s.chat(t, scripted(t, toolThenText("      - call: {name: echo, id: dup_1, count: 500, arguments: '{\"text\": \"one\"}'}")))
		h := c.turn("go")
		failed := all[events.TurnFailed](h)
		if len(failed) != 1 || failed[0].Class != events.ClassTooManyCalls {
			t.Fatalf("turn failed: %+v; the log is\n%s", failed, h)
		}
		if asked := c.model.asked(); len(asked) != 1 {
			t.Errorf("the model was asked %d times, want once: asking again does not help", len(asked))
		}
		c.results(h)
		c.notRun(h)
		c.stillWorks()
	})
}

// B06: a call without arguments comes in four forms, and all of them mean an
// empty object, for the tool and for what the provider is shown again.
//
// Rule: S4.2.
func TestB06NoArgumentsAreAnEmptyObject(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	for _, form := range []struct {
		name string
		part events.Part
	}{
		{"an empty text", events.Part{Arguments: ""}},
		{"white space", events.Part{Arguments: "  \n"}},
		{"null", events.Part{Arguments: "null"}},
		{"no field at all", events.Part{}},
	} {
		t.Run(form.name, func(t *testing.T) {
			t.Parallel()
			for _, tt := range []struct {
				tool   string
				status events.ToolStatus
				says   string
				runs   []string // the arguments it ran with
			}{
				{tool: "ping", status: events.ToolOK, says: "pong", runs: []string{"{}"}},
				{tool: "echo", status: events.ToolInvalid, says: "missing property 'text'"},
			} {
				c := s.chat(t, calling(form.part, tt.tool))
				says(t, "result of "+tt.tool, c.results(c.turn("go"), tt.status), tt.says)
				var ran []string
				for _, r := range s.tools.of(c.key) {
					ran = append(ran, r.arguments)
				}
				if !slices.Equal(ran, tt.runs) {
					t.Errorf("%s ran with %q, want %q", tt.tool, ran, tt.runs)
				}
				c.stillWorks()
				for _, m := range c.model.last().Messages { // the provider refuses what is no JSON, see malformed
					for _, p := range m.Parts {
						if p.Type == events.PartCall && p.Arguments != "{}" {
							t.Errorf("%s is shown with the arguments %q", tt.tool, p.Arguments)
						}
					}
				}
			}
		})
	}
}

// calling is a model that makes one call and is done when it has the result.
func calling(call events.Part, tool string) model.Model {
	call.Type, call.Name, call.ProviderID = events.PartCall, tool, "call_1"
	return asModel(func(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
		if r.Messages[len(r.Messages)-1].Role == model.RoleTool {
			return answers(events.StopEnd, events.Text("done"))
		}
		return answers(events.StopCalls, call)
	})
}

// B18: something is empty, and stays in the history. The provider refuses empty
// blocks, see malformed; it must never be shown one.
//
// Rule: S1.2.
func TestB18NoEmptyBlockIsEverShown(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	for _, tt := range []struct {
		name, script, input string
	}{
		{"the model ends its turn without content", "rules:\n  - answer: []\n", "go"},
		{"the result of a tool is empty", toolThenText("      - call: {name: mute}"), "go"},
		{"a text block has characters of no width only", "rules:\n  - answer:\n      - text: \"\\u200b\\u2060\\ufeff\"\n", "go"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := s.chat(t, scripted(t, tt.script))
			h := c.turn(tt.input)
			if ended := all[events.TurnCompleted](h); len(ended) != 1 || ended[0].Finish != events.FinishComplete {
				t.Errorf("turn completed: %+v; the log is\n%s", ended, h)
			}
			c.stillWorks()
			c.turn(tt.input) // and once more, upon all of that
			c.stillWorks()
		})
	}
	t.Run("the user's input is white space", func(t *testing.T) { // it is refused, and begins nothing
		t.Parallel()
		c := s.chat(t, scripted(t, plain))
		c.turn("go")
		if reply := c.refused(send(" \n\t ")); reply.Code != events.CodeBadCommand {
			t.Errorf("reply %+v", reply)
		}
		c.stillWorks()
	})
}
