package chat_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// questionsOf are the questions of those ids, as a tool asks them.
func questionsOf(t *testing.T, ids ...string) []events.Question {
	t.Helper()
	list := make([]events.Question, len(ids))
	for i, id := range ids {
		if err := json.Unmarshal([]byte(questionOf(id, 2)), &list[i]); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// running is a chat with one call that a runner works on, and the claim by which it does.
func running(t *testing.T, tool string) (*story, chat.Ask) {
	t.Helper()
	s := beginAsking(t)
	s.command(protocol.Configure{V: 1, Settings: events.Settings{Tools: &[]string{"look", "save", "pay"}}})
	s.answer(events.Text("first"))
	s.send("b")
	s.answer(call(tool, "{}"))
	s.tell(claim(id(2, 1, 1), "c1", 1))
	return s, chat.Ask{Ask: protocol.Ask{V: 1, Call: id(2, 1, 1), Claim: "c1", N: 1, Questions: questionsOf(t, "color")}}
}

// ask lets the chat handle a runner's wish, and gives what that is told and what follows.
func (s *story) ask(m chat.Ask) (protocol.AskAnswer, []events.Event) {
	s.t.Helper()
	d := chat.Handle(s.state, m, s.at, live())
	s.commit(m, d.Events)
	if d.Asked == nil {
		s.t.Fatal("the runner is told nothing")
	}
	return *d.Asked, d.Events
}

// told fails unless the runner is told that, and nothing follows.
func (s *story) told(m chat.Ask, want protocol.AskVerdict, why string) protocol.AskAnswer {
	s.t.Helper()
	got, list := s.ask(m)
	if got.Answer != want || !strings.Contains(got.Why, why) {
		s.t.Errorf("told %s (%s), want %s (…%s…)", got.Answer, got.Why, want, why)
	}
	if len(list) > 0 {
		s.t.Errorf("%v follow", types(list))
	}
	return got
}

func (s *story) reply(call events.CallID, answers ...events.Answer) []events.Event {
	s.t.Helper()
	_, list := s.command(protocol.Answer{V: 1, Call: call, Answers: answers})
	return list
}

func TestS8_ARunningCallAsksAPerson(t *testing.T) {
	t.Parallel()

	blue := events.Answer{Question: "color", Text: "blue"}
	for _, tt := range []struct {
		name, tool string
		run        func(t *testing.T, s *story, m chat.Ask)
	}{
		{"it waits, is answered, and goes on with the answer", "save", func(t *testing.T, s *story, m chat.Ask) {
			got, list := s.ask(m)
			wants(t, list, "question.asked")
			e := find[events.QuestionAsked](t, list)
			if got.Answer != protocol.AskWaiting || e.Questions[0].Options[0].Label != "option 1" || e.Due != s.at.Add(time.Duration(e.TimeoutMS)*time.Millisecond) {
				t.Errorf("told %+v, asked %+v", got, e)
			}
			s.told(m, protocol.AskWaiting, "")
			wants(t, s.reply(m.Call, blue), "question.answered")
			got = s.told(m, protocol.AskAnswered, "")
			if !slices.Equal(got.Answers, []events.Answer{blue}) || got.By != "user:ann" || got.Expired {
				t.Errorf("told %+v", got)
			}
			wants(t, s.bareResult(m.Call, events.ToolOK, "painted"), "tool.completed", "step.requested")
			s.told(m, protocol.AskOver, "not open")
			s.answer(events.Text("ok"))
			s.answers()
		}},
		{"nobody answers in time: the first options are taken, and it goes on", "save", func(t *testing.T, s *story, m chat.Ask) {
			s.ask(m)
			wants(t, s.tell(questionTimer(m.Call, 1)), "question.answered")
			if got := s.told(m, protocol.AskAnswered, ""); !got.Expired || got.Answers[0].Text != "option 1" || got.By != "" {
				t.Errorf("told %+v", got)
			}
			wants(t, s.tell(questionTimer(m.Call, 1)))
		}},
		{"a call that runs again is given the answers that are there, and nobody is asked twice", "save", func(t *testing.T, s *story, m chat.Ask) {
			s.ask(m)
			s.reply(m.Call, blue)
			second := m
			second.N = 2
			s.ask(second)
			s.at = s.at.Add(events.Dead)
			s.tell(claim(m.Call, "c2", 2))
			again := m
			again.Claim = "c2"
			if got := s.told(again, protocol.AskAnswered, ""); got.Answers[0] != blue {
				t.Errorf("told %+v", got)
			}
			again.N = 2
			s.told(again, protocol.AskWaiting, "")
			s.reply(m.Call, events.Answer{Question: "color", Text: "red"})
			if got := s.told(again, protocol.AskAnswered, ""); got.Answers[0].Text != "red" {
				t.Errorf("told %+v", got)
			}
			if n := len(every[events.QuestionAsked](s)); n != 2 {
				t.Errorf("a person was asked %d times, want twice", n)
			}
		}},
		{"another question waits until the open one is answered", "save", func(t *testing.T, s *story, m chat.Ask) {
			s.ask(m)
			other := m
			other.Questions = questionsOf(t, "size", "shape")
			s.told(other, protocol.AskWaiting, "")
			s.reply(m.Call, blue)
			_, list := s.ask(other)
			wants(t, list, "question.asked")
			if timer := s.owedTimers(protocol.TimerQuestion); len(timer) != 1 || timer[0].Name != "question-2-1-1-2" {
				t.Errorf("timers %+v: no name is used twice", timer)
			}
			wants(t, s.tell(questionTimer(m.Call, 1)))
			wants(t, s.tell(questionTimer(m.Call, 2)), "question.answered")
		}},
		{"a call asks so often and no more", "look", func(t *testing.T, s *story, m chat.Ask) {
			for n := range events.MaxAsksPerCall {
				m.N = n + 1
				s.ask(m)
				s.reply(m.Call, blue)
			}
			m.N++
			s.told(m, protocol.AskRefused, "as often as it may")
		}},
		{"what nobody could answer is refused", "look", func(t *testing.T, s *story, m chat.Ask) {
			for _, questions := range [][]events.Question{nil, questionsOf(t, "a", "b", "c", "d"), questionsOf(t, "a", "a"), {{ID: "a"}}} {
				m.Questions = questions
				s.told(m, protocol.AskRefused, "uestion")
			}
			m.Questions, m.N = questionsOf(t, "a"), 2
			s.told(m, protocol.AskRefused, "asked 0 times before")
			m.N = 0
			s.told(m, protocol.AskRefused, "n: 0")
		}},
		{"a person has as long as the runner says, and is not asked where that is too little", "look", func(t *testing.T, s *story, m chat.Ask) {
			m.TimeoutMS = events.MinAskTimeout.Milliseconds() - 1
			s.told(m, protocol.AskRefused, "too little time")
			m.TimeoutMS = 30_000
			_, list := s.ask(m)
			if e := find[events.QuestionAsked](t, list); e.TimeoutMS != 30_000 || e.Due != s.at.Add(30*time.Second) {
				t.Errorf("asked %+v", e)
			}
		}},
		{"a runner that would wait for ever has the time there is", "look", func(t *testing.T, s *story, m chat.Ask) {
			m.TimeoutMS = math.MaxInt64
			_, list := s.ask(m)
			ends := every[events.ToolRequested](s)[0].Deadline.Add(-events.Dead - events.AskReserve)
			if e := find[events.QuestionAsked](t, list); e.Due > ends || e.TimeoutMS < events.MinAskTimeout.Milliseconds() {
				t.Errorf("asked %+v, want until %s at most", e, ends)
			}
		}},
		{"the time to answer ends some time before the call's own", "look", func(t *testing.T, s *story, m chat.Ask) {
			deadline := every[events.ToolRequested](s)[0].Deadline
			s.at = deadline.Add(-events.Dead - time.Minute)
			_, list := s.ask(m)
			ends := deadline.Add(-events.Dead - events.AskReserve)
			if e := find[events.QuestionAsked](t, list); e.Due != ends {
				t.Errorf("due %s, want %s", e.Due, ends)
			}
			hold := true
			_, list = s.command(protocol.Answer{V: 1, Call: m.Call, Hold: &hold})
			if e := find[events.QuestionHeld](t, list); e.Due != ends {
				t.Errorf("held until %s, want %s", e.Due, ends)
			}
			s.tell(questionTimer(m.Call, 2))
			m.N, s.at = 2, ends.Add(-events.MinAskTimeout+time.Millisecond)
			s.told(m, protocol.AskRefused, "too little time")
		}},
		{"only the claim that runs a call which must not run twice may ask", "pay", func(t *testing.T, s *story, m chat.Ask) {
			m.Claim = "another"
			s.told(m, protocol.AskOver, "by this claim")
		}},
		{"a call that has five seconds has none for a person", "pay", func(t *testing.T, s *story, m chat.Ask) {
			s.told(m, protocol.AskRefused, "too little time")
		}},
		{"a runner of another group is told that it is over", "look", func(t *testing.T, s *story, m chat.Ask) {
			m.Group = "elsewhere"
			s.told(m, protocol.AskOver, "another group")
		}},
		{"an interrupt ends the question with its call", "save", func(t *testing.T, s *story, m chat.Ask) {
			s.ask(m)
			s.command(protocol.Interrupt{V: 1})
			s.told(m, protocol.AskOver, "interrupted")
			if e := find[events.CommandRejected](t, s.reply(m.Call, blue)); e.Code != events.CodeAlreadyResolved {
				t.Errorf("code %s (%s)", e.Code, e.Message)
			}
			wants(t, s.tell(questionTimer(m.Call, 1)))
			list := s.tell(due(protocol.TimerName{Kind: protocol.TimerEnd, Turn: 2}))
			wants(t, list, "tool.completed", "turn.interrupted")
			s.told(m, protocol.AskOver, "not open")
			if e := find[events.CommandRejected](t, s.reply(m.Call, blue)); e.Code != events.CodeAlreadyResolved {
				t.Errorf("code %s (%s)", e.Code, e.Message)
			}
			s.answers()
		}},
		{"the deadline ends the question with its call", "save", func(t *testing.T, s *story, m chat.Ask) {
			s.ask(m)
			list := s.tell(due(protocol.TimerName{Kind: protocol.TimerDeadline, Call: m.Call}))
			wants(t, list, "tool.completed", "step.requested")
			if timers := s.owedTimers(protocol.TimerQuestion); len(timers) != 0 {
				t.Errorf("%+v are owed", timers)
			}
			s.answer(events.Text("ok"))
		}},
		{"a tool that gives up waiting has its result", "save", func(t *testing.T, s *story, m chat.Ask) {
			s.ask(m)
			wants(t, s.bareResult(m.Call, events.ToolError, "nobody is there"), "tool.completed", "step.requested")
			s.answer(events.Text("ok"))
			s.answers()
		}},
		{"a runner that died while a person was asked leaves the outcome unknown", "save", func(t *testing.T, s *story, m chat.Ask) {
			s.ask(m)
			s.tell(chat.Restored{})
			if e := every[events.ToolCompleted](s); e[len(e)-1].Status != events.ToolUnknown {
				t.Errorf("status %s", e[len(e)-1].Status)
			}
			s.told(m, protocol.AskOver, "not open")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s, m := running(t, tt.tool)
			tt.run(t, s, m)
		})
	}
}

// owedTimers are the timers of a kind that the chat owes.
func (s *story) owedTimers(kind protocol.TimerKind) []protocol.Timer {
	s.t.Helper()
	var list []protocol.Timer
	for _, w := range chat.Owed(s.state) {
		if timer, ok := w.(protocol.Timer); ok && strings.HasPrefix(timer.Name, string(kind)+"-") {
			list = append(list, timer)
		}
	}
	return list
}

func TestTheAnswersThatACallHeardStandInASnapshot(t *testing.T) {
	t.Parallel()

	s, m := running(t, "save")
	s.ask(m)
	s.reply(m.Call, events.Answer{Question: "color", Text: "blue"})
	body, err := chat.Encode(s.state)
	if err != nil {
		t.Fatal(err)
	}
	if s.state, err = chat.Decode(body); err != nil {
		t.Fatal(err)
	}
	if got := s.told(m, protocol.AskAnswered, ""); got.Answers[0].Text != "blue" {
		t.Errorf("told %+v", got)
	}
}
