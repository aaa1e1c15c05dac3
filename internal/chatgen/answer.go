package chatgen

import (
	"math"
	"strings"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// attempt is what may become of asking the model.
func (d *Driver) attempt(w protocol.ModelWork) chat.Message {
	m := chat.AttemptEnded{Step: w.Step, Attempt: w.Attempt, Schemas: d.schemas}
	if d.State.Interrupting() && d.yes(2) {
		m.Interrupted, m.Partial = true, d.parts()
		return m
	}
	n := d.chance.IntN(20)
	if d.hoards && w.Purpose == events.PurposeAnswer && !d.yes(4) {
		m.Answer = &model.Answer{Parts: []events.Part{Call(ToolRead, ArgumentsValid), Call(ToolRead, ArgumentsValid)}, Stop: events.StopCalls}
		return m
	}
	switch {
	case n < 2:
		return chat.AttemptLost{Step: w.Step, Attempt: w.Attempt, Partial: d.parts()}
	case n < 6:
		m.Err = d.failure()
	default:
		a := model.Answer{
			Parts: d.parts(), Stop: d.stop(), Usage: events.Usage{Input: d.tokens(), Output: 3},
			Provider: events.Provider{Name: "scripted"},
		}
		a.CostMicros = costOf(string(a.Stop))
		if w.Purpose == events.PurposeReview && !d.yes(4) {
			a.Stop = events.StopEnd
			a.Parts = []events.Part{events.Text([]string{
				"approve: it was asked for", "Approve : it was not", "APPROVE: yes", "ask: who knows", "ask:", "approve", "approve: one\nask: two",
			}[d.chance.IntN(7)])}
		}
		if w.Purpose == events.PurposeTitle && !d.yes(4) {
			a.Stop = events.StopEnd
			a.Parts = []events.Part{events.Text([]string{
				"A Title", "\"A title in quotes\"", "a b c d e f g h i j", "Two\nlines", " ", strings.Repeat("long", 100),
			}[d.chance.IntN(6)])}
		}
		if d.yes(4) {
			a.RawUsage = []string{`{"input":7}`, `{"output": 3}`}
		}
		m.Answer = &a
	}
	return m
}

// tokens is how many a provider says that it was given, which now and then
// cannot be true.
func (d *Driver) tokens() int64 {
	switch n := int64(d.chance.IntN(40)); n {
	case 0:
		return -1
	case 39:
		return math.MaxInt64
	default:
		return 7 * n
	}
}

func (d *Driver) stop() events.Stop {
	return []events.Stop{
		events.StopEnd, events.StopEnd, events.StopEnd, events.StopCalls, events.StopCalls, events.StopCalls, events.StopCalls,
		events.StopLength, events.StopRefused, events.StopPaused,
	}[d.chance.IntN(10)]
}

func (d *Driver) failure() *model.Error {
	classes := []events.ErrorClass{
		events.ClassIncomplete, events.ClassOverloaded, events.ClassQuota, events.ClassAuth, events.ClassRateLimit,
		events.ClassContextTooLarge, events.ClassContentFilter, events.ClassTimeout, events.ClassStreamSilence,
		events.ClassTransport, events.ClassInvalidRequest, events.ClassInternal, events.ClassUnknown,
	}
	e := &model.Error{Class: classes[d.chance.IntN(len(classes))], Message: d.text(), Usage: events.Usage{Input: 7}}
	e.CostMicros = costOf(e.Message)
	if e.Class == events.ClassInvalidRequest || e.Class == events.ClassAuth { // turned away before anything was used
		e.Usage, e.CostMicros = events.Usage{}, nil
	}
	if d.yes(4) {
		e.RetryAfter = time.Duration(d.chance.IntN(100)) * time.Second
	}
	return e
}

// parts is what a model may say: any number of calls to any tool, with ids and
// arguments as models write them.
func (d *Driver) parts() []events.Part {
	var parts []events.Part
	if d.yes(4) {
		parts = append(parts, events.Part{Type: events.PartReasoning, Text: d.text(), Opaque: []byte{1, 2}, Provider: "scripted"})
	}
	if d.yes(2) {
		parts = append(parts, events.Text(d.text()))
	}
	calls := []int{0, 0, 1, 1, 1, 2, 3, 5}[d.chance.IntN(8)]
	if d.yes(200) {
		calls = events.MaxCallsPerStep + 1
	}
	for range calls {
		parts = append(parts, d.call())
	}
	if d.yes(40) { // more than may be open at once
		for range events.MaxOpenChildren + 2 {
			parts = append(parts, Call(chat.ToolDelegate, ArgumentsTask))
		}
	}
	return parts
}

func (d *Driver) call() events.Part {
	if len(d.Live.Skills) > 0 && d.yes(6) {
		return d.skillCall()
	}
	names := []string{
		ToolRead, ToolRead, ToolRead, ToolCount, ToolPut, ToolPut, ToolAppend, ToolAppend, ToolAppend, ToolBoth, ToolBoth, ToolBoth,
		ToolFinish, ToolFinish, ToolSolo, ToolAsk, ToolAsk, ToolReview, ToolReview, ToolReview, ToolUnoffered, chat.ToolAskUser, chat.ToolAskUser, chat.ToolAskUser,
		ToolClient, ToolClient, chat.ToolCreateArtifact, chat.ToolCreateArtifact, chat.ToolDelegate, chat.ToolDelegate, chat.ToolDelegate,
	}
	arguments := []string{
		ArgumentsValid, ArgumentsValid, ArgumentsValid, ArgumentsValid, ArgumentsValid, "", "", "null", ArgumentsWrong, ArgumentsCut, "[]",
	}
	ids := []string{"", "call_1", "call_1", "call_2", "not an id", "call_1_1_1"}
	p := Call(names[d.chance.IntN(len(names))], arguments[d.chance.IntN(len(arguments))])
	if p.Name == chat.ToolAskUser && !d.yes(8) {
		p.Arguments = []string{ArgumentsQuestion, ArgumentsQuestion, ArgumentsQuestion, ArgumentsNoOptions}[d.chance.IntN(4)]
	}
	if p.Name == chat.ToolDelegate && !d.yes(8) {
		p.Arguments = []string{
			ArgumentsTask, ArgumentsTask, ArgumentsTaskAll, ArgumentsTaskLast, ArgumentsTaskAgent, ArgumentsTaskBlank,
		}[d.chance.IntN(6)]
	}
	if p.Name == chat.ToolCreateArtifact && !d.yes(8) {
		p.Arguments = d.artifact()
	}
	p.ProviderID = ids[d.chance.IntN(len(ids))]
	return p
}

// run is what a tool runner may do with a call.
func (d *Driver) run(w protocol.ToolWork) chat.Message {
	earlier := d.claims[w.Call]
	switch n := d.chance.IntN(10); {
	case n < 2 || len(earlier) == 0:
		return d.newClaim(w.Call)
	case n < 3:
		return earlier[d.chance.IntN(len(earlier))] // its answer was lost
	}
	if d.yes(4) {
		return d.ask(w.Call)
	}
	if d.hoards && !d.yes(5) {
		return d.pictures(w.Call, 20+d.chance.IntN(40))
	}
	if d.yes(12) {
		return d.made(w.Call)
	}
	statuses := []events.ToolStatus{
		events.ToolOK, events.ToolOK, events.ToolOK, events.ToolError, events.ToolTimeout, events.ToolUnknown,
		events.ToolCancelled, events.ToolInvalid, events.ToolDenied,
	}
	return result(w.Call, statuses[d.chance.IntN(len(statuses))], d.text())
}

// newClaim is a claim of another delivery, sometimes so late that whoever had
// the call before can be asked about.
func (d *Driver) newClaim(call events.CallID) chat.Message {
	if d.yes(3) {
		d.Wait(events.Dead)
	}
	m := d.claim(call, uint64(len(d.claims[call])+1))
	m.Holder = []chat.Holder{chat.HolderNotAsked, chat.HolderRunning, chat.HolderSilent}[d.chance.IntN(3)]
	d.claims[call] = append(d.claims[call], m)
	return m
}
