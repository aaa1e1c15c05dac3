package chat_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// questionOf is a question as a model writes it, with so many options.
func questionOf(id string, options int) string {
	list := make([]string, options)
	for i := range list {
		list[i] = fmt.Sprintf(`{"label":" option %d ","description":"what follows"}`, i+1)
	}
	return fmt.Sprintf(`{"id":%q,"header":"Header","text":"Which?","options":[%s]}`, id, strings.Join(list, ","))
}

func questions(timeout string, list ...string) string {
	return fmt.Sprintf(`{"questions":[%s]%s}`, strings.Join(list, ","), timeout)
}

// beginAsking is a chat whose model may ask, and has been asked something.
func beginAsking(t *testing.T) *story {
	t.Helper()
	s := &story{t: t, at: noon}
	s.command(protocol.Create{V: 1, Settings: events.Settings{Tools: &[]string{"look", "pay", chat.ToolAskUser}}})
	s.send("a")
	return s
}

func (s *story) say(answers ...events.Answer) []events.Event {
	s.t.Helper()
	_, list := s.command(protocol.Answer{V: 1, Call: id(1, 1, 1), Answers: answers})
	return list
}

func (s *story) hold(hold bool) []events.Event {
	s.t.Helper()
	_, list := s.command(protocol.Answer{V: 1, Call: id(1, 1, 1), Hold: &hold})
	return list
}

func questionTimer(call events.CallID, number int) chat.TimerDue {
	return due(protocol.TimerName{Kind: protocol.TimerQuestion, Call: call, Number: number})
}

// owedTimer is the one timer that the chat owes.
func (s *story) owedTimer() protocol.Timer {
	s.t.Helper()
	owed := chat.Owed(s.state)
	if len(owed) != 1 {
		s.t.Fatalf("%d pieces of work are owed, want one timer", len(owed))
	}
	timer, ok := owed[0].(protocol.Timer)
	if !ok {
		s.t.Fatalf("%T is owed, want a timer", owed[0])
	}
	return timer
}

func TestS8_AModelAsksAPerson(t *testing.T) {
	t.Parallel()

	refusedWith := func(t *testing.T, list []events.Event, want events.Code) {
		t.Helper()
		wants(t, list, "command.rejected")
		if got := find[events.CommandRejected](t, list); got.Code != want {
			t.Errorf("code %s (%s), want %s", got.Code, got.Message, want)
		}
	}
	invalid := func(t *testing.T, s *story, arguments, says string) {
		t.Helper()
		list := s.answer(call(chat.ToolAskUser, arguments))
		wants(t, list, "step.completed", "tool.completed", "step.requested")
		r := find[events.ToolCompleted](t, list)
		if r.Status != events.ToolInvalid || !r.IsError || !strings.Contains(r.Parts[0].Text, says) {
			t.Errorf("result %s %q, want invalid with %q", r.Status, r.Parts[0].Text, says)
		}
	}

	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *story)
	}{
		{"the answer is the result, and the turn goes on", func(t *testing.T, s *story) {
			list := s.answer(call(chat.ToolAskUser, questions("", questionOf("color", 2), questionOf("size", 3))))
			wants(t, list, "step.completed", "question.asked")
			e := find[events.QuestionAsked](t, list)
			if len(e.Questions) != 2 || e.Questions[1].Options[2].Label != "option 3" {
				t.Errorf("asked %+v", e.Questions)
			}
			list = s.say(events.Answer{Question: "size", Text: "\t my own words \n"}, events.Answer{Question: "color", Text: "option 2"})
			wants(t, list, "question.answered", "tool.completed", "step.requested")
			said := find[events.QuestionAnswered](t, list).Answers
			if len(said) != 2 || said[0] != (events.Answer{Question: "color", Text: "option 2"}) || said[1].Text != "my own words" {
				t.Errorf("answers %+v: trimmed, in the order of the questions", said)
			}
			r := find[events.ToolCompleted](t, list)
			if r.Status != events.ToolOK || !strings.Contains(r.Parts[0].Text, "my own words") {
				t.Errorf("the model is told %q", r.Parts[0].Text)
			}
			s.answer(events.Text("ok"))
		}},
		{"options that are too many are left out, too few are an error", func(t *testing.T, s *story) {
			invalid(t, s, questions("", questionOf("a", 1)), "1 options")
			list := s.answer(call(chat.ToolAskUser, questions("", questionOf("a", 5))))
			if n := len(find[events.QuestionAsked](t, list).Questions[0].Options); n != events.MaxOptions {
				t.Errorf("%d options, want %d", n, events.MaxOptions)
			}
		}},
		{"one to three questions with ids of their own, and nothing in them is blank", func(t *testing.T, s *story) {
			invalid(t, s, questions(""), "0 questions")
			invalid(t, s, questions("", questionOf("a", 2), questionOf("b", 2), questionOf("c", 2), questionOf("d", 2)), "4 questions")
			invalid(t, s, questions("", questionOf("a", 2), questionOf(" a ", 2)), "same id")
			invalid(t, s, questions("", questionOf(" \u200b ", 2)), "id is blank")
			invalid(t, s, strings.Replace(questions("", questionOf("a", 2)), "Header", " ", 1), "header is blank")
			invalid(t, s, strings.Replace(questions("", questionOf("a", 2)), "Which?", " ", 1), "text is blank")
			invalid(t, s, strings.Replace(questions("", questionOf("a", 2)), " option 2 ", " ", 1), "label of option 2 is blank")
			invalid(t, s, strings.Replace(questions("", questionOf("a", 2)), "what follows", "", 1), "description of option 1 is blank")
			invalid(t, s, questions("", questionOf(strings.Repeat("a", events.MaxQuestionIDChars+1), 2)), "characters")
			invalid(t, s, `{}`, "schema")
		}},
		{"★ it is alone in its step, or no call of the step runs", func(t *testing.T, s *story) {
			list := s.answer(call("look", "{}"), call(chat.ToolAskUser, questions("", questionOf("a", 2))), call("nope", "{}"))
			wants(t, list, "step.completed", "tool.completed", "tool.completed", "tool.completed", "step.requested")
			for _, r := range every[events.ToolCompleted](s) {
				if r.Status != events.ToolDenied || !r.IsError {
					t.Errorf("call %s is %s", r.Call, r.Status)
				}
			}
			list = s.answer(call(chat.ToolAskUser, questions("", questionOf("a", 2))), call(chat.ToolAskUser, questions("", questionOf("b", 2))))
			wants(t, list, "step.completed", "tool.completed", "tool.completed", "step.requested")
		}},
		{"it waits 60 to 240 seconds, else 120", func(t *testing.T, s *story) {
			for i, tt := range []struct {
				wish string
				want time.Duration
			}{
				{"", 120 * time.Second},
				{"60", 60 * time.Second},
				{"240", 240 * time.Second},
				{"59.9", 120 * time.Second},
				{"240.5", 120 * time.Second},
				{"-1", 120 * time.Second},
				{"1e300", 120 * time.Second},
				{"90.5", 90500 * time.Millisecond},
			} {
				timeout := tt.wish
				if timeout != "" {
					timeout = `,"timeout_seconds":` + timeout
				}
				e := find[events.QuestionAsked](t, s.answer(call(chat.ToolAskUser, questions(timeout, questionOf("a", 2)))))
				if e.TimeoutMS != tt.want.Milliseconds() || e.Due != s.at.Add(tt.want) {
					t.Errorf("%q: waits %d ms until %s, want %s", tt.wish, e.TimeoutMS, e.Due, tt.want)
				}
				if timer := s.owedTimer(); timer.Due != e.Due || timer.Name != fmt.Sprintf("question-1-%d-1-1", i+1) {
					t.Errorf("timer %s at %s", timer.Name, timer.Due)
				}
				wants(t, s.tell(questionTimer(id(1, i+1, 1), 1)), "question.answered", "tool.completed", "step.requested")
			}
		}},
		{"at the end the first option of each is taken", func(t *testing.T, s *story) {
			s.answer(call(chat.ToolAskUser, questions("", questionOf("a", 2), questionOf("b", 3))))
			list := s.tell(questionTimer(id(1, 1, 1), 1))
			wants(t, list, "question.answered", "tool.completed", "step.requested")
			e := find[events.QuestionAnswered](t, list)
			if !e.Expired || len(e.Answers) != 2 || e.Answers[0].Text != "option 1" || e.Answers[1].Text != "option 1" {
				t.Errorf("taken: %+v", e)
			}
			if said := find[events.ToolCompleted](t, list).Parts[0].Text; !strings.Contains(said, "Nobody answered") {
				t.Errorf("the model is told %q", said)
			}
			wants(t, s.tell(questionTimer(id(1, 1, 1), 1)))
			refusedWith(t, s.say(events.Answer{Question: "a", Text: "late"}, events.Answer{Question: "b", Text: "late"}), events.CodeAlreadyResolved)
		}},
		{"held, its clock stands still; released, it runs on", func(t *testing.T, s *story) {
			s.answer(call(chat.ToolAskUser, questions(`,"timeout_seconds":100`, questionOf("a", 2))))
			s.at = s.at.Add(70 * time.Second)
			e := find[events.QuestionHeld](t, s.hold(true))
			if !e.Held || e.LeftMS != 30_000 || e.Due != s.at.Add(events.MaxHold) {
				t.Errorf("held: %+v", e)
			}
			wants(t, s.hold(true), "command.noted")
			wants(t, s.tell(questionTimer(id(1, 1, 1), 1))) // it was on its way
			s.at = s.at.Add(time.Hour)
			e = find[events.QuestionHeld](t, s.hold(false))
			if e.Held || e.LeftMS != 30_000 || e.Due != s.at.Add(30*time.Second) {
				t.Errorf("released: %+v", e)
			}
			wants(t, s.hold(false), "command.noted")
			wants(t, s.tell(questionTimer(id(1, 1, 1), 2)))
			if timer := s.owedTimer(); timer.Name != "question-1-1-1-3" || timer.Due != e.Due {
				t.Errorf("timer %s at %s", timer.Name, timer.Due)
			}
			wants(t, s.tell(questionTimer(id(1, 1, 1), 3)), "question.answered", "tool.completed", "step.requested")
		}},
		{"one that is held for ever ends, too", func(t *testing.T, s *story) {
			s.answer(call(chat.ToolAskUser, questions("", questionOf("a", 2))))
			s.hold(true)
			if timer := s.owedTimer(); timer.Name != "question-1-1-1-2" || timer.Due != s.at.Add(events.MaxHold) {
				t.Errorf("timer %s at %s", timer.Name, timer.Due)
			}
			wants(t, s.tell(questionTimer(id(1, 1, 1), 2)), "question.answered", "tool.completed", "step.requested")
		}},
		{"who holds it again gets no more time", func(t *testing.T, s *story) {
			s.answer(call(chat.ToolAskUser, questions("", questionOf("a", 2))))
			s.at = s.at.Add(time.Minute)
			ends := find[events.QuestionHeld](t, s.hold(true)).Due
			for _, wait := range []time.Duration{12 * time.Hour, 11*time.Hour + 59*time.Minute + 30*time.Second} {
				s.at = s.at.Add(wait)
				if e := find[events.QuestionHeld](t, s.hold(false)); e.Due != min(s.at.Add(time.Minute), ends) {
					t.Errorf("released: until %s", e.Due)
				}
				s.at = s.at.Add(10 * time.Second)
				if e := find[events.QuestionHeld](t, s.hold(true)); e.Due != ends {
					t.Errorf("held again until %s, want %s", e.Due, ends)
				}
			}
			wants(t, s.tell(questionTimer(id(1, 1, 1), 6)), "question.answered", "tool.completed", "step.requested")
		}},
		{"S4.8 ★ what the model reads of long answers has its limit", func(t *testing.T, s *story) {
			for i, tt := range []struct {
				letter string
				whole  bool
			}{
				{"<", true},
				{`"`, true},
				{"漢", false},
				{"🌍", false},
				{"\u2028", false}, // six bytes in JSON
			} {
				long := "x" + strings.Repeat(tt.letter, events.MaxAnswerChars-2) + "x"
				s.answer(call(chat.ToolAskUser, questions("", questionOf("a", 2), questionOf("b", 2), questionOf("c", 2))))
				_, list := s.command(protocol.Answer{V: 1, Call: id(1, i+1, 1), Answers: []events.Answer{
					{Question: "a", Text: long}, {Question: "b", Text: long}, {Question: "c", Text: long},
				}})
				if said := find[events.QuestionAnswered](t, list).Answers; said[2].Text != long {
					t.Errorf("%q: the log has %d bytes of the answer", tt.letter, len(said[2].Text))
				}
				r := find[events.ToolCompleted](t, list)
				var told struct{ Answers []events.Answer }
				if err := json.Unmarshal([]byte(r.Parts[0].Text), &told); err != nil || len(told.Answers) != 3 {
					t.Fatalf("%q: the model is told %q: %v", tt.letter, r.Parts[0].Text, err)
				}
				if n := len(r.Parts[0].Text); n > events.MaxResultBytes || n < events.MaxResultBytes/2 && !tt.whole {
					t.Errorf("%q: the result has %d bytes", tt.letter, n)
				}
				last := told.Answers[2].Text
				if whole := last == long; whole != tt.whole || whole == r.Truncated || !strings.HasSuffix(last, "x") {
					t.Errorf("%q: whole %t, truncated %t", tt.letter, whole, r.Truncated)
				}
			}
		}},
		{"one that is held can be answered", func(t *testing.T, s *story) {
			s.answer(call(chat.ToolAskUser, questions("", questionOf("a", 2))))
			s.hold(true)
			wants(t, s.say(events.Answer{Question: "a", Text: "yes"}), "question.answered", "tool.completed", "step.requested")
			wants(t, s.tell(questionTimer(id(1, 1, 1), 2)))
		}},
		{"answers match the questions, and none is blank", func(t *testing.T, s *story) {
			s.answer(call(chat.ToolAskUser, questions("", questionOf("a", 2), questionOf("b", 2))))
			a, b := events.Answer{Question: "a", Text: "x"}, events.Answer{Question: "b", Text: "y"}
			refusedWith(t, s.say(a), events.CodeInvalidAnswer)
			refusedWith(t, s.say(a, a), events.CodeInvalidAnswer)
			refusedWith(t, s.say(a, b, a), events.CodeInvalidAnswer)
			refusedWith(t, s.say(a, events.Answer{Question: "b", Text: " \u200b\n"}), events.CodeInvalidAnswer)
			refusedWith(t, s.say(a, events.Answer{Question: "b", Text: strings.Repeat("y", events.MaxAnswerChars+1)}), events.CodeInvalidAnswer)
			refusedWith(t, s.say(a, events.Answer{Question: "c", Text: "y"}), events.CodeUnknownQuestion)
			refusedWith(t, s.say(), events.CodeBadCommand)
			_, list := s.command(protocol.Answer{V: 1, Call: id(1, 1, 1), Answers: []events.Answer{a, b}, Hold: new(bool)})
			refusedWith(t, list, events.CodeBadCommand)
			wants(t, s.say(a, b), "question.answered", "tool.completed", "step.requested")
			refusedWith(t, s.say(a, b), events.CodeAlreadyResolved) // the first answer stands
		}},
		{"only a call that asks can be answered", func(t *testing.T, s *story) {
			refusedWith(t, s.say(events.Answer{Question: "a", Text: "x"}), events.CodeUnknownCall)
			s.answer(call("look", "{}"))
			refusedWith(t, s.say(events.Answer{Question: "a", Text: "x"}), events.CodeUnknownQuestion)
			s.result(id(1, 1, 1), events.ToolOK, "done")
			s.answer(events.Text("ok"))
			refusedWith(t, s.say(events.Answer{Question: "a", Text: "x"}), events.CodeAlreadyResolved)
		}},
		{"S6.2 an interrupt cancels the question at once, and the turn ends", func(t *testing.T, s *story) {
			s.answer(call(chat.ToolAskUser, questions("", questionOf("a", 2))))
			_, list := s.command(protocol.Interrupt{V: 1, Turn: 1})
			wants(t, list, "turn.interrupt_requested", "tool.completed", "turn.interrupted")
			if r := find[events.ToolCompleted](t, list); r.Status != events.ToolCancelled {
				t.Errorf("the question is %s", r.Status)
			}
			wants(t, s.tell(questionTimer(id(1, 1, 1), 1)))
			refusedWith(t, s.say(events.Answer{Question: "a", Text: "x"}), events.CodeAlreadyResolved)
			s.send("b")
			s.answer(events.Text("the next message is answered"))
		}},
		{"★ S5.4 what is said meanwhile waits its turn: it is no answer", func(t *testing.T, s *story) {
			s.answer(call(chat.ToolAskUser, questions("", questionOf("a", 2))))
			wants(t, s.send("what about this?"), "input.accepted")
			wants(t, s.say(events.Answer{Question: "a", Text: "x"}), "question.answered", "tool.completed", "step.requested")
			wants(t, s.answer(events.Text("ok")), "step.completed", "turn.completed", "turn.started", "step.requested")
		}},
		{"no runner is given it, nor can one answer it", func(t *testing.T, s *story) {
			s.answer(call(chat.ToolAskUser, questions("", questionOf("a", 2))))
			if d := chat.Handle(s.state, claim(id(1, 1, 1), "c", 1), s.at, live()); d.Claim.Answer != protocol.ClaimOver {
				t.Errorf("the claim is %s", d.Claim.Answer)
			}
			wants(t, s.bareResult(id(1, 1, 1), events.ToolOK, "forged"))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, beginAsking(t))
		})
	}
}

// Whoever cannot ask is not told of it: who is there to answer is the chat's to say.
func TestS8_AskingIsOfferedToWhoNamesIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		tools *[]string
		want  bool
	}{
		{"not by default", nil, false},
		{"not beside others", &[]string{"look"}, false},
		{"if it is named", &[]string{"pay", chat.ToolAskUser, "look"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &story{t: t, at: noon}
			s.command(protocol.Create{V: 1, Settings: events.Settings{Tools: tt.tools}})
			s.send("a")
			settings, _ := s.state.Effective()
			names := make([]string, 0, len(settings.Tools))
			for _, tool := range settings.Tools {
				names = append(names, tool.Name)
			}
			if got := strings.Contains(strings.Join(names, " "), chat.ToolAskUser); got != tt.want {
				t.Errorf("tools %v", names)
			}
			for i := range names[1:] {
				if names[i] >= names[i+1] {
					t.Errorf("tools %v: not in order", names)
				}
			}
			list := s.answer(call(chat.ToolAskUser, questions("", questionOf("a", 2))))
			if !tt.want {
				if r := find[events.ToolCompleted](t, list); r.Status != events.ToolNotFound {
					t.Errorf("result %s, want not_found", r.Status)
				}
			}
		})
	}
}

// A tool that the core knows has a manifest like any other, and a name that is its own.
func TestBuiltInTools(t *testing.T) {
	t.Parallel()
	all := chat.BuiltIns()
	if len(all) == 0 {
		t.Fatal("the core knows no tool")
	}
	for i, m := range all {
		if i > 0 && all[i-1].Name >= m.Name {
			t.Errorf("%s stands behind %s", m.Name, all[i-1].Name)
		}
		if m.Group != "" {
			t.Errorf("%s belongs to the group %s: a runner would be given its calls", m.Name, m.Group)
		}
		m.Group = "g" // the one thing that only a runner's needs
		if err := m.Validate(); err != nil {
			t.Error(err)
		}
		if !chat.IsBuiltIn(m.Name) {
			t.Errorf("%s is said to be nobody's", m.Name)
		}
	}

	other := live()
	other.Tools = append(other.Tools, protocol.Manifest{Name: chat.ToolAskUser, Group: "g", Policy: events.PolicyAllow}.Tool())
	create := chat.Handle(chat.State{}, chat.Command{ID: "1", Sequence: 1, Body: protocol.Create{V: 1}}, noon, other)
	s := &story{t: t, at: noon}
	s.commit(chat.Command{ID: "1", Sequence: 1, Body: protocol.Create{V: 1}}, create.Events)
	send := chat.Command{ID: "2", Sequence: 2, Body: protocol.Send{V: 1, Parts: []events.Part{events.Text("a")}}}
	s.commit(send, chat.Handle(s.state, send, noon, other).Events)
	settings, _ := s.state.Effective()
	for _, tool := range settings.Tools {
		if tool.Name == chat.ToolAskUser {
			t.Error("a runner's tool of the same name is offered")
		}
	}
}
