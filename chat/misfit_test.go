package chat_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// A fact that fits nowhere is noticed when it is folded, and nothing behind it is
// taken for true.
func TestWhatMakesNoSenseIsNotFolded(t *testing.T) {
	t.Parallel()
	step := events.StepID{Turn: 1, Step: 1}
	asked := func(s *story) { s.send("hi") }
	called := func(s *story) { s.send("hi"); s.answer(call("look", "{}")) }
	for _, tt := range []struct {
		name  string
		given func(s *story)
		then  []events.Event
		wrong string
	}{
		{"a turn takes an input that does not wait", nil, []events.Event{events.TurnStarted{Turn: 1, Inputs: []string{"x"}}}, `turn 1 takes input "x"`},
		{"a turn starts beside another", asked, []events.Event{events.TurnStarted{Turn: 2}}, "turn 2 starts while turn 1 is open"},
		{"a turn goes back", nil, []events.Event{events.TurnStarted{}}, "turn 0 starts after turn 0"},
		{"a turn ends that is not open", asked, []events.Event{events.TurnCompleted{Turn: 2}}, "turn 2 is not open"},
		{"a step is asked for outside of its turn", nil, []events.Event{events.StepRequested{Step: step, Attempt: 1}}, "turn 1 is not open"},
		{"a step is asked for twice", asked, []events.Event{events.StepRequested{Step: step, Attempt: 2}}, "while attempt 1 of step 1.1 is open"},
		{"a step is left out", called, []events.Event{events.StepRequested{Step: events.StepID{Turn: 1, Step: 3}, Attempt: 1}}, "where step 1.2 should be"},
		{"an attempt is none", called, []events.Event{events.StepRequested{Step: events.StepID{Turn: 1, Step: 2}}}, "as attempt 0"},
		{"another attempt is answered", asked, []events.Event{events.StepCompleted{Step: step, Attempt: 2}}, "attempt 2 of step 1.1 is not open"},
		{"an attempt is answered twice", called, []events.Event{events.StepCompleted{Step: step, Attempt: 1}}, "attempt 1 of step 1.1 is not open"},
		{"a call has another number", asked, []events.Event{events.StepCompleted{
			Step: step, Attempt: 1, Parts: []events.Part{{Type: events.PartCall, Name: "look", Ordinal: 2}},
		}}, "call 1 of an answer has the number 2"},
		{"a call that cannot run is left open", asked, []events.Event{events.StepCompleted{
			Step: step, Attempt: 1, Parts: []events.Part{{Type: events.PartCall, Name: "look", Ordinal: 1, Arguments: "[]"}},
		}}, "call 1.1.1 is open, and its arguments are no object"},
		{"a call has a result that was never made", asked, []events.Event{events.ToolCompleted{Call: id(1, 1, 1)}}, "call 1.1.1 is not open"},
		{"a call has two results", called, []events.Event{
			events.ToolCompleted{Call: id(1, 1, 1)}, events.ToolCompleted{Call: id(1, 1, 1)},
		}, "call 1.1.1 is not open"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t)
			if tt.given != nil {
				tt.given(s)
			}
			c := events.Commit{Key: key, Rev: s.state.Rev() + 1, At: noon, Events: tt.then}
			if got := s.state.Apply(c, "").Wrong(); !strings.Contains(got, tt.wrong) {
				t.Errorf("wrong is %q, want that %q", got, tt.wrong)
			}
			if s.state.Wrong() != "" {
				t.Error("the state before is wrong, too")
			}
			behind := events.Commit{Key: key, Events: []events.Event{events.ChatArchived{}}}
			if s.state.Apply(c, "").Apply(behind, "").Wrong() == "" {
				t.Error("the next commit made it good")
			}
		})
	}
}

// A state that cannot be is not read, however well it is written.
func TestAStateThatCannotBeIsNotRead(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.send("hi")
	s.answer(call("look", "{}"))
	b, err := chat.Encode(s.state)
	if err != nil {
		t.Fatal(err)
	}
	for was, is := range map[string]string{
		`"phase":"completed"`:   `"phase":"napping"`,
		`"attempt":1`:           `"attempt":0`,
		`"quick":0`:             `"quick":-1`,
		`"ordinal":1,"wire_id`:  `"ordinal":2,"wire_id`,
		`"current":{"number":1`: `"past":[null],"current":{"number":1`,
		`"ended":""`:            `"ended":"completed"`,
		`"steps":[{"number":1`:  `"steps":[null,{"number":1`,
		`"arguments":"{}","re`:  `"arguments":"[]","re`,
		`"commands":[`:          `"commands":[null,`,
	} {
		changed := strings.Replace(string(b), was, is, 1)
		if changed == string(b) {
			t.Fatalf("no %s in %s", was, b)
		}
		if _, err := chat.Decode([]byte(changed)); err == nil {
			t.Errorf("read with %s", is)
		}
	}
	if _, err := chat.Decode(b); err != nil {
		t.Errorf("as it was: %v", err)
	}
}
