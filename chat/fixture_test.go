package chat_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// noon is when everything in these tests happens unless a test says otherwise.
var noon = events.At(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC))

var key = events.Key{Tenant: "acme", Chat: "c1"}

// The tools of these tests: "look" is read-only, "save" idempotent, "pay" has an
// effect that must not happen twice, "alone" is exclusive, "done" ends the turn
// and "ask" needs a person.
func manifests() []protocol.Manifest {
	object := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false}`)
	needsPath := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)
	return []protocol.Manifest{
		{Name: "alone", Group: "g", Schema: object, ReadOnly: true, Exclusive: true},
		{Name: "ask", Group: "g", Schema: object, Policy: events.PolicyAsk},
		{Name: "done", Group: "g", Schema: object, ReadOnly: true, StopAfter: true},
		{Name: "look", Group: "g", Schema: object, ReadOnly: true, Idempotent: true},
		{Name: "open", Group: "g", Schema: needsPath, ReadOnly: true, Idempotent: true},
		{Name: "pay", Group: "g", Schema: object, Policy: events.PolicyAllow, TimeoutMS: 5000},
		{Name: "save", Group: "g", Schema: object, Policy: events.PolicyAllow, Idempotent: true},
	}
}

func live() chat.Live {
	l := chat.Live{Defaults: events.Settings{Model: "m"}}
	for _, m := range slices.Concat(manifests(), reviewedTools()) {
		l.Tools = append(l.Tools, m.Tool())
	}
	return l
}

func schemas(t testing.TB) map[events.Digest]*chat.Schema {
	t.Helper()
	all := map[events.Digest]*chat.Schema{}
	for _, m := range slices.Concat(manifests(), reviewedTools()) {
		s, err := chat.CompileSchema(m.Schema)
		if err != nil {
			t.Fatal(err)
		}
		all[m.Tool().Manifest] = s
	}
	return all
}

// story drives one chat and keeps what happened.
type story struct {
	t       testing.TB
	state   chat.State
	at      events.Time
	log     []events.Commit
	seq     uint64
	windows map[string]chat.Window
	skills  []events.Skill
}

// begin is a story of a chat that was just created.
func begin(t *testing.T) *story {
	t.Helper()
	s := &story{t: t, at: noon}
	s.command(protocol.Create{V: 1})
	return s
}

// tell lets the chat handle m and gives the events of the commit that follows.
func (s *story) tell(m chat.Message) []events.Event {
	s.t.Helper()
	l := live()
	l.Windows, l.Skills = s.windows, s.skills
	d := chat.Handle(s.state, m, s.at, l)
	s.commit(m, d.Events)
	return d.Events
}

func (s *story) commit(m chat.Message, list []events.Event) {
	s.t.Helper()
	if len(list) == 0 {
		return
	}
	c := events.Commit{
		ID: fmt.Sprintf("commit-%d", len(s.log)+1), Key: key, Rev: s.state.Rev() + 1, Prev: s.state.Prev(),
		At: s.at, Cause: chat.CauseOf(m), Events: list,
	}
	b, err := events.Encode(c)
	if err != nil {
		s.t.Fatal(err)
	}
	decoded, err := events.Decode(b)
	if err != nil {
		s.t.Fatal(err)
	}
	if kept, err := events.Kept(c, b); err != nil || !reflect.DeepEqual(kept, decoded) {
		s.t.Errorf("kept in memory: %+v, %v\nwritten: %+v", kept, err, decoded)
	}
	s.state = s.state.Apply(decoded, events.Hash(b))
	s.log = append(s.log, decoded)
}

// command lets the chat handle a new command and gives its id and events.
func (s *story) command(b protocol.Body) (string, []events.Event) {
	s.t.Helper()
	s.seq++
	id := fmt.Sprintf("cmd-%d", s.seq)
	return id, s.tell(chat.Command{ID: id, By: "user:ann", Sequence: s.seq, Body: b, Schemas: schemas(s.t)})
}

func (s *story) send(text string) []events.Event {
	s.t.Helper()
	_, list := s.command(protocol.Send{V: 1, Parts: []events.Part{events.Text(text)}})
	return list
}

// answer ends the open attempt with parts; the model is done unless it calls.
func (s *story) answer(parts ...events.Part) []events.Event {
	s.t.Helper()
	stop := events.StopEnd
	if slices.ContainsFunc(parts, func(p events.Part) bool { return p.Type == events.PartCall }) {
		stop = events.StopCalls
	}
	return s.stopped(stop, parts...)
}

func (s *story) stopped(stop events.Stop, parts ...events.Part) []events.Event {
	s.t.Helper()
	return s.tell(s.ended(&model.Answer{Parts: parts, Stop: stop}, nil))
}

func (s *story) fail(e model.Error) []events.Event {
	s.t.Helper()
	return s.tell(s.ended(nil, &e))
}

func (s *story) ended(a *model.Answer, e *model.Error) chat.AttemptEnded {
	s.t.Helper()
	step, attempt, open := s.state.OpenAttempt()
	if !open {
		s.t.Fatal("no attempt is open")
	}
	return chat.AttemptEnded{Step: step, Attempt: attempt, Answer: a, Err: e, Schemas: schemas(s.t)}
}

// result reports what a call came to, licensed first where that is needed.
func (s *story) result(call events.CallID, status events.ToolStatus, text string) []events.Event {
	s.t.Helper()
	s.tell(claim(call, "claim-of-"+call.String(), 1))
	return s.bareResult(call, status, text)
}

func (s *story) bareResult(call events.CallID, status events.ToolStatus, text string) []events.Event {
	s.t.Helper()
	return s.tell(chat.Result{Result: protocol.Result{
		V: 1, Call: call, Runner: "r1", Status: status, Parts: []events.Part{events.Text(text)},
	}})
}

func claim(call events.CallID, id string, delivery uint64) chat.Claim {
	return chat.Claim{Claim: protocol.Claim{V: 1, Call: call, Claim: id, Delivery: delivery, Runner: "r1"}}
}

func due(n protocol.TimerName) chat.TimerDue { return chat.TimerDue{Name: n} }

func call(name, arguments string) events.Part {
	return events.Part{Type: events.PartCall, Name: name, Arguments: arguments, ProviderID: "toolu_" + name}
}

func id(turn, step, ordinal int) events.CallID {
	return events.CallID{Turn: turn, Step: step, Ordinal: ordinal}
}

// types is the wire names of events, without the version.
func types(list []events.Event) []string {
	names := make([]string, 0, len(list))
	for _, e := range list {
		name := string(e.EventType())
		names = append(names, name[:len(name)-len(".v1")])
	}
	return names
}

// wants fails unless the events are of those types, in that order.
func wants(t *testing.T, got []events.Event, want ...string) {
	t.Helper()
	if !slices.Equal(types(got), want) {
		t.Fatalf("events %v, want %v", types(got), want)
	}
}

// find is the first event of its type.
func find[T events.Event](t testing.TB, list []events.Event) T {
	t.Helper()
	for _, e := range list {
		if found, ok := e.(T); ok {
			return found
		}
	}
	var zero T
	t.Fatalf("no %s in %v", zero.EventType(), types(list))
	return zero
}

// every is all events of a type in the whole story.
func every[T events.Event](s *story) []T {
	var all []T
	for _, c := range s.log {
		for _, e := range c.Events {
			if found, ok := e.(T); ok {
				all = append(all, found)
			}
		}
	}
	return all
}

// answers fails unless a further message of the chat is answered.
func (s *story) answers() {
	s.t.Helper()
	s.send("and now?")
	list := s.answer(events.Text("now all is well"))
	if done := find[events.TurnCompleted](s.t, list); done.Finish != events.FinishComplete {
		s.t.Fatalf("finish %q", done.Finish)
	}
}
