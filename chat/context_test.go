package chat_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// A turn without an input needs something that the model is shown.
func TestS10_4_NothingGoesOnFromAClearedContext(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.send("hi")
	s.fail(model.Error{Class: events.ClassInvalidRequest, Message: "no"})
	s.command(protocol.Clear{V: 1})
	_, list := s.command(protocol.Retry{V: 1})
	if no := find[events.CommandRejected](t, list); no.Code != events.CodeAlreadyFinished || !strings.Contains(no.Message, "restore") {
		t.Errorf("retry: %+v", no)
	}
	s.command(protocol.Restore{V: 1})
	_, list = s.command(protocol.Retry{V: 1})
	wants(t, list, "turn.started", "step.requested")
	s.answer(events.Text("well"))
	s.answers()
}

func TestS10_4_ByHand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *story)
	}{
		{"a chat is compacted while nothing runs, and what is sent meanwhile waits", func(t *testing.T, s *story) {
			_, list := s.command(protocol.Compact{V: 1})
			wants(t, list, "step.requested")
			if w := s.work(); w.Step != (events.StepID{Turn: 0, Step: 1}) {
				t.Errorf("work %+v", w)
			}
			wants(t, s.send("MEANWHILE"), "input.accepted")
			for _, b := range []protocol.Body{protocol.Compact{V: 1}, protocol.Clear{V: 1}, protocol.Restore{V: 1}, protocol.Continue{V: 1}} {
				if no := find[events.CommandRejected](t, of(s.command(b))); no.Code != events.CodeNotIdle {
					t.Errorf("%s: %+v", b.Verb(), no)
				}
			}
			busy := protocol.Send{V: 1, Mode: events.ModeReject, Parts: []events.Part{events.Text("x")}}
			if no := find[events.CommandRejected](t, of(s.command(busy))); no.Code != events.CodeBusy {
				t.Errorf("rejected %+v", no)
			}
			wants(t, s.answer(events.Text("notes")), "step.completed", "context.compacted", "turn.started", "step.requested")
			if shown := s.shown(); !strings.Contains(shown, "notes") || !strings.Contains(shown, "MEANWHILE") {
				t.Errorf("shown %s", shown)
			}
			s.answer(events.Text("well"))
			s.answers()
		}},
		{"an interrupt ends that, before its next attempt too", func(t *testing.T, s *story) {
			s.command(protocol.Compact{V: 1})
			s.send("waiting")
			wants(t, of(s.command(protocol.Interrupt{V: 1})), "step.interrupted", "context.compaction_failed", "turn.started", "step.requested")
			s.answer(events.Text("well"))
			s.command(protocol.Compact{V: 1})
			s.fail(model.Error{Class: events.ClassOverloaded})
			wants(t, of(s.command(protocol.Interrupt{V: 1})), "context.compaction_failed")
			if no := find[events.CommandRejected](t, of(s.command(protocol.Interrupt{V: 1}))); no.Code != events.CodeNotRunning {
				t.Errorf("rejected %+v", no)
			}
			s.answers()
		}},
		{"one that fails leaves everything as it was", func(t *testing.T, s *story) {
			before := s.shown()
			s.command(protocol.Compact{V: 1})
			wants(t, s.fail(model.Error{Class: events.ClassQuota}), "step.failed", "context.compaction_failed")
			if s.shown() != before {
				t.Error("something else is shown")
			}
			s.answers()
		}},
		{"not while a turn runs, and not with nothing to compact", func(t *testing.T, s *story) {
			s.send("a")
			if no := find[events.CommandRejected](t, of(s.command(protocol.Compact{V: 1}))); no.Code != events.CodeNotIdle {
				t.Errorf("rejected %+v", no)
			}
			s.answer(events.Text("b"))
			s.command(protocol.Clear{V: 1})
			if no := find[events.CommandRejected](t, of(s.command(protocol.Compact{V: 1}))); no.Code != events.CodeNothingToCompact {
				t.Errorf("rejected %+v", no)
			}
		}},
		{"the newest boundary wins, and restoring undoes the last", func(t *testing.T, s *story) {
			s.command(protocol.Compact{V: 1})
			s.answer(events.Text("FIRST NOTES"))
			afterFirst := s.shown()
			for range 4 {
				s.send("more")
				s.answer(events.Text(strings.Repeat("more ", 100)))
			}
			s.command(protocol.Compact{V: 1})
			if shown := s.shown(); !strings.Contains(shown, "FIRST NOTES") {
				t.Error("the second summary is not told of the first")
			}
			s.answer(events.Text("SECOND NOTES"))
			if shown := s.shown(); strings.Contains(shown, "FIRST NOTES") || !strings.Contains(shown, "SECOND NOTES") {
				t.Errorf("shown %s", shown)
			}
			wants(t, of(s.command(protocol.Clear{V: 1})), "context.cleared")
			wants(t, of(s.command(protocol.Clear{V: 1})), "command.noted")
			if shown := s.shown(); strings.Contains(shown, "NOTES") || strings.Contains(shown, "more") || !strings.Contains(shown, "MARK OF THE SYSTEM") {
				t.Errorf("shown %s", shown)
			}
			wants(t, of(s.command(protocol.Restore{V: 1})), "context.restored")
			if shown := s.shown(); !strings.Contains(shown, "SECOND NOTES") {
				t.Errorf("shown %s", shown)
			}
			s.command(protocol.Restore{V: 1})
			if shown := s.shown(); !strings.Contains(shown, "FIRST NOTES") || !strings.HasPrefix(shown, strings.TrimSuffix(afterFirst, "]}")) {
				t.Errorf("shown %s", shown)
			}
			s.command(protocol.Restore{V: 1})
			if shown := s.shown(); strings.Contains(shown, "NOTES") || !strings.Contains(shown, "question 0") {
				t.Errorf("shown %s", shown)
			}
			wants(t, of(s.command(protocol.Restore{V: 1})), "command.noted")
			s.answers()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, long(t, 0, 6))
		})
	}
}
