package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// An agent that was set up to ask asks, whatever its parent does; and nobody who
// wants to be asked gets around it by another chat.
func TestS11_AChildIsNoFreerThanItsAgentAndItsParent(t *testing.T) {
	t.Parallel()
	for mode, want := range map[events.ApprovalMode]events.ApprovalMode{
		"": "", events.ApprovalAuto: "", events.ApprovalFull: "", events.ApprovalAsk: events.ApprovalAsk,
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			s := &story{t: t, at: noon}
			s.command(protocol.Create{V: 1, Settings: events.Settings{Tools: new([]string{"delegate"}), Approval: mode}})
			s.send("do it")
			s.answer(call("delegate", `{"task":"look","agent":"careful"}`))
			if mode == events.ApprovalAsk {
				s.command(protocol.Approve{V: 1, Call: id(1, 1, 1), Decision: protocol.DecideApprove})
			}
			b, ok := s.state.BirthOf(id(1, 1, 1))
			if !ok || b.Settings.Agent != "careful" || b.Settings.Approval != want {
				t.Errorf("%t, settings %+v, want mode %q", ok, b.Settings, want)
			}
		})
	}
}

// What a step asks for may be more than a commit holds. Nobody is told then that
// there was no task.
func TestTasksThatAreTooMuchForOneStep(t *testing.T) {
	t.Parallel()
	s := family(t)
	parts := make([]events.Part, events.MaxOpenChildren*2)
	for i := range parts {
		parts[i] = call("delegate", fmt.Sprintf(`{"task":"part %d %s"}`, i+1, strings.Repeat("x", 20<<10)))
	}
	s.answer(parts...)
	if n := len(s.state.OpenChildren()); n != events.MaxOpenChildren {
		t.Errorf("%d children are open", n)
	}
	settled := every[events.ToolCompleted](s)
	for _, r := range settled {
		if r.Status != events.ToolInvalid || !strings.Contains(r.Parts[0].Text, "too much together") {
			t.Errorf("%s is %s: %q", r.Call, r.Status, r.Parts[0].Text)
		}
	}
	if len(settled) == 0 {
		t.Error("all of it fits")
	}
}

func TestADelegationThatIsTooLongSaysWhatIs(t *testing.T) {
	t.Parallel()
	for want, task := range map[string]string{
		"task has 33000 bytes":          strings.Repeat("x", 33_000),
		"bytes as they are written":     strings.Repeat(`\u00e9`, 11_000),
		"task is blank":                 `\u200b\n`,
		"at most 32768 are allowed":     strings.Repeat("y", events.MaxTaskBytes+1),
		"arguments have 66011 bytes as": strings.Repeat(`\u00e9`, 11_000),
	} {
		s := family(t)
		r := find[events.ToolCompleted](t, s.answer(call("delegate", `{"task":"`+task+`"}`)))
		if r.Status != events.ToolInvalid || !strings.Contains(r.Parts[0].Text, want) {
			t.Errorf("%s: %q, want %q", r.Status, r.Parts[0].Text, want)
		}
	}
}

// What a child cannot be shown of the conversation is named.
func TestS11_AChildIsToldWhatItIsNotShown(t *testing.T) {
	t.Parallel()
	s := family(t)
	s.answer(events.Text("fine"))
	s.send("BIG " + strings.Repeat("b", 100<<10))
	s.answer(events.Text("read it"))
	s.command(protocol.Send{V: 1, Parts: []events.Part{
		events.Text("and this"), {Type: events.PartFile, Name: "plan.pdf", MediaType: "application/pdf", Blob: events.DigestOf([]byte("x")), Bytes: 1},
	}})
	s.answer(call("delegate", `{"task":"go","context":"all"}`))
	b, ok := s.state.BirthOf(id(3, 1, 1))
	if !ok {
		t.Fatal("no child")
	}
	for _, want := range []string{"user: [a text of 102404 bytes that is not shown here]", `user: and this`, `plan.pdf`} {
		if !strings.Contains(b.Parts[0].Text, want) {
			t.Errorf("it reads %q, want %q", b.Parts[0].Text, want)
		}
	}
}

func TestTheTitleOfAChildShowsSomething(t *testing.T) {
	t.Parallel()
	s := family(t)
	s.answer(call("delegate", `{"task":"\u200b\n  look around\nthen rest"}`))
	if b, _ := s.state.BirthOf(id(1, 1, 1)); b.Title != "look around" {
		t.Errorf("title %q", b.Title)
	}
}

func TestS11_AnAgentThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	s := family(t)
	s.answer(call("delegate", `{"task":"look","agent":"nobody"}`))
	s.reports(s.child(id(1, 1, 1)))
	r := every[events.ToolCompleted](s)[0]
	if r.Status != events.ToolError || !strings.Contains(r.Parts[0].Text, `there is no agent "nobody"`) {
		t.Errorf("%s: %q", r.Status, r.Parts[0].Text)
	}
}
