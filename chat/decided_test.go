package chat_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// manyCommands is more than a chat remembers the outcomes of.
const manyCommands = 300

// much lets so much happen in the chat that the outcomes of the commands before it
// are forgotten.
func (s *story) much() {
	s.t.Helper()
	for n := range manyCommands {
		s.command(protocol.Rename{V: 1, Title: fmt.Sprintf("title %d", n)})
	}
}

// again lets the chat handle a command that is stored once more, under the id it
// had.
func (s *story) again(id string, b protocol.Body) chat.Decision {
	s.t.Helper()
	s.seq++
	return chat.Handle(s.state, chat.Command{ID: id, By: "user:ann", Sequence: s.seq, Body: b, Schemas: schemas(s.t)}, s.at, live())
}

// withWaiting is a chat in which a turn runs and the inputs cmd-3 and cmd-4 wait.
func withWaiting(t *testing.T) *story {
	t.Helper()
	s := begin(t)
	for _, text := range []string{"a", "b", "c"} {
		s.send(text)
	}
	return s
}

// askedToPick is a chat whose model has asked a person to choose.
func askedToPick(t *testing.T) *story {
	t.Helper()
	s := beginAsking(t)
	s.answer(call(chat.ToolAskUser, questions("", questionOf("q", 2))))
	return s
}

// askedToShow is a chat whose client is to run a tool.
func askedToShow(t *testing.T) *story {
	t.Helper()
	s := beginWithClient(t)
	s.answer(call("show", `{"n":1}`))
	return s
}

// restored is the state as a snapshot gives it back.
func restored(t *testing.T, s chat.State) chat.State {
	t.Helper()
	b, err := chat.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := chat.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// Whatever a command says, and however long ago it was decided, one that
// is stored again under its id is not decided again. Each chat here is brought to
// where the command would do something once more.
func TestACommandIsDecidedOnceHoweverLateItComesAgain(t *testing.T) {
	t.Parallel()

	failed := func(s *story) { s.send("x"); s.fail(model.Error{Class: events.ClassAuth, Message: "no"}) }
	answered := func(s *story) { s.send("x"); s.answer(events.Text("X")) }
	running := func(s *story) { s.send("x") }
	interrupted := func(s *story) {
		s.send("x")
		s.command(protocol.Interrupt{V: 1})
		step, attempt, _ := s.state.OpenAttempt()
		s.tell(chat.AttemptEnded{Step: step, Attempt: attempt, Interrupted: true})
	}
	tests := map[protocol.Verb]struct {
		body protocol.Body
		make func(t *testing.T) *story // the chat; default: one that was just created
		then func(s *story)            // before the command, each time
		rest func(s *story)            // after it, each time

		once bool // the body could only ever do something once
	}{
		protocol.VerbCreate:    {body: protocol.Create{V: 1}, once: true},
		protocol.VerbFork:      {body: protocol.Fork{V: 1, Chat: "c2"}, once: true},
		protocol.VerbImport:    {body: protocol.Import{V: 1, History: events.DigestOf(nil)}, once: true},
		protocol.VerbSend:      {body: protocol.Send{V: 1, Parts: []events.Part{events.Text("say it once")}}, rest: func(s *story) { s.answer(events.Text("said")) }},
		protocol.VerbConfigure: {body: protocol.Configure{V: 1, Settings: events.Settings{Model: "n"}}, then: func(s *story) { s.command(protocol.Configure{V: 1, Settings: events.Settings{Model: "m"}}) }},
		protocol.VerbRename:    {body: protocol.Rename{V: 1, Title: "mine"}},
		protocol.VerbArchive:   {body: protocol.Archive{V: 1}, then: func(s *story) { s.command(protocol.Unarchive{V: 1}) }},
		protocol.VerbUnarchive: {body: protocol.Unarchive{V: 1}, then: func(s *story) { s.command(protocol.Archive{V: 1}) }},
		protocol.VerbInterrupt: {body: protocol.Interrupt{V: 1}, then: running, rest: func(s *story) {
			step, attempt, _ := s.state.OpenAttempt()
			s.tell(chat.AttemptEnded{Step: step, Attempt: attempt, Interrupted: true})
		}},
		protocol.VerbRetry:        {body: protocol.Retry{V: 1}, then: failed, rest: func(s *story) { s.answer(events.Text("X")) }},
		protocol.VerbContinue:     {body: protocol.Continue{V: 1}, then: interrupted, rest: func(s *story) { s.answer(events.Text("X")) }},
		protocol.VerbEdit:         {body: edit(1, "otherwise"), make: twoTurns, rest: func(s *story) { s.answer(events.Text("C")) }},
		protocol.VerbRegenerate:   {body: protocol.Regenerate{V: 1, Turn: 1}, make: twoTurns, rest: func(s *story) { s.answer(events.Text("C")) }},
		protocol.VerbSelectBranch: {body: protocol.SelectBranch{V: 1, Turn: 1}, make: twoTurns, then: func(s *story) { s.command(protocol.SelectBranch{V: 1, Turn: 2}) }},
		protocol.VerbSetMode: {body: protocol.SetMode{V: 1, Approval: events.ApprovalAsk}, then: func(s *story) {
			s.command(protocol.SetMode{V: 1, Approval: events.ApprovalAuto})
		}},
		protocol.VerbExtend: {body: protocol.Extend{V: 1, Add: events.Budget{Tokens: 5}}, then: func(s *story) {
			s.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("x")}, Settings: &events.Settings{Budget: &events.Budget{Tokens: 5}}})
		}, rest: func(s *story) { s.answer(events.Text("X")) }},
		protocol.VerbCompact:  {body: protocol.Compact{V: 1}, then: answered, rest: func(s *story) { s.command(protocol.Interrupt{V: 1}) }},
		protocol.VerbClear:    {body: protocol.Clear{V: 1}, then: answered},
		protocol.VerbRestore:  {body: protocol.Restore{V: 1}, then: func(s *story) { answered(s); s.command(protocol.Clear{V: 1}) }},
		protocol.VerbWithdraw: {body: protocol.Withdraw{V: 1, Input: "cmd-3"}, make: withWaiting, once: true},
		protocol.VerbPromote: {body: protocol.Promote{V: 1, Input: "cmd-4"}, make: withWaiting, then: func(s *story) {
			s.command(protocol.Promote{V: 1, Input: "cmd-3"})
		}},
		protocol.VerbEditInput:    {body: protocol.EditInput{V: 1, Input: "cmd-3", Parts: []events.Part{events.Text("other")}}, make: withWaiting},
		protocol.VerbApprove:      {body: approve(id(1, 1, 1)), make: func(t *testing.T) *story { return asking(t) }, once: true},
		protocol.VerbAnswer:       {body: protocol.Answer{V: 1, Call: id(1, 1, 1), Hold: new(true)}, make: askedToPick, then: func(s *story) { s.hold(false) }},
		protocol.VerbClientResult: {body: protocol.ClientResult{V: 1, Call: id(1, 1, 1), Parts: []events.Part{events.Text("seen")}}, make: askedToShow, once: true},
		protocol.VerbErase:        {body: protocol.Erase{V: 1}, once: true},
	}
	for _, verb := range protocol.Verbs() {
		tt, ok := tests[verb]
		if !ok {
			t.Errorf("%s: say what it does when it comes again long after", verb)
			continue
		}
		t.Run(string(verb), func(t *testing.T) {
			t.Parallel()
			if tt.make == nil {
				tt.make = begin
			}
			s := tt.make(t)
			if tt.then != nil {
				tt.then(s)
			}
			id, list := s.command(tt.body)
			if len(list) == 0 {
				t.Fatal("the command does nothing")
			}
			if tt.rest != nil {
				tt.rest(s)
			}
			s.much()
			if tt.then != nil {
				tt.then(s)
			}
			if other := s.again("other", tt.body); !tt.once && slices.Contains(types(other.Events), "command.rejected") {
				t.Fatalf("another command of the kind is turned down: %+v", other.Events)
			}
			for _, state := range []chat.State{s.state, restored(t, s.state)} {
				s.state = state
				if d := s.again(id, tt.body); len(d.Events) > 0 || d.Refused != nil {
					t.Errorf("comes again: events %v, refused %v", types(d.Events), d.Refused)
				}
			}
			if !s.state.HasDecided(id) {
				t.Error("the chat does not know the command any more")
			}
		})
	}
}

func TestACommandThatNeverCameIsNotTakenForOneThatDid(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.much()
	if id := "cmd-of-somebody"; s.state.HasDecided(id) {
		t.Errorf("%s is said to be decided", id)
	}
	// Ids are of the sender's making: neither their order nor their time says anything.
	for _, id := range []string{"00000000000000000000000000", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "cmd-0"} {
		if d := s.again(id, protocol.Rename{V: 1, Title: "late"}); len(d.Events) != 1 {
			t.Errorf("%s: events %v", id, types(d.Events))
		}
	}
}

// A chat that goes on from another one knows nothing of that one's commands.
func TestAForkForgetsTheCommandsOfTheOther(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.much()
	if s.state.Inherit().HasDecided("cmd-1") {
		t.Error("the fork takes a command of the other chat for its own")
	}
}

// Every command of a long chat comes once more, from each of the chat's ages.
func TestRepetitionsAtAnyDistanceDoNothing(t *testing.T) {
	t.Parallel()
	s := begin(t)
	ids := []string{"cmd-1"}
	bodies := []protocol.Body{protocol.Rename{V: 1, Title: "title"}, protocol.Archive{V: 1}, protocol.Unarchive{V: 1}, protocol.Interrupt{V: 1}}
	for n := range 5 * manyCommands {
		b := bodies[n%len(bodies)]
		id, list := s.command(b)
		if len(list) == 0 {
			t.Fatalf("%s %s is taken for one that was decided", b.Verb(), id)
		}
		ids = append(ids, id)
		if n%manyCommands != 0 && n < 5*manyCommands-1 {
			continue
		}
		for i, old := range ids {
			if d := s.again(old, b); len(d.Events) > 0 || d.Refused != nil {
				t.Fatalf("number %d of %d comes again: events %v, refused %v", i+1, len(ids), types(d.Events), d.Refused)
			}
		}
		s.state = restored(t, s.state)
	}
}

// Of two inputs with one id nobody could tell which one is meant. What came along
// with a history keeps its id, and another one gets none like it.
func TestAForkHasEachInputOnce(t *testing.T) {
	t.Parallel()
	c := chatgen.New(lawful)
	c.Create(events.Settings{})
	said := c.Send("hi")
	c.Answer(events.Text("hello"))
	fork := c.ForkAt(forked, c.State.Rev())
	for _, b := range []protocol.Body{
		protocol.Send{V: 1, Parts: []events.Part{events.Text("hi")}}, protocol.Edit{V: 1, Turn: 1, Parts: []events.Part{events.Text("hi")}},
	} {
		d := chat.Handle(fork.State, chat.Command{ID: said, Sequence: 99, Body: b}, fork.Now(), fork.Live)
		if no := find[events.CommandRejected](t, d.Events); no.Code != events.CodeBadCommand {
			t.Errorf("%s: %+v", b.Verb(), no)
		}
	}
}
