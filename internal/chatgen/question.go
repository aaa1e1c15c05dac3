package chatgen

import (
	"encoding/json"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Questions that a model may ask a person, and some that nobody could answer.
const (
	ArgumentsQuestion = `{"questions":[{"id":"color","header":"Color","text":"Which color?","options":[` +
		`{"label":"red","description":"like a rose"},{"label":"blue","description":"like the sea"}]},` +
		`{"id":"size","header":"Size","text":"Which size?","options":[{"label":"small","description":"fits anywhere"},` +
		`{"label":"large","description":"fits all"},{"label":"huge","description":"fits nowhere"},{"label":"none","description":"of no use"}]}],` +
		`"timeout_seconds":90}`
	ArgumentsNoOptions = `{"questions":[{"id":"color","header":"Color","text":"Which color?","options":[{"label":"red","description":"or not"}]}]}`
)

// AnswersOf answers the questions of [ArgumentsQuestion].
func AnswersOf(color, size string) []events.Answer {
	return []events.Answer{{Question: "color", Text: color}, {Question: "size", Text: size}}
}

// Reply answers a call that asks a person.
func (c *Chat) Reply(call events.CallID, answers ...events.Answer) chat.Command {
	return c.Command(protocol.Answer{V: protocol.Version, Call: call, Answers: answers})
}

// Hold stops the clock of a question, or lets it run on.
func (c *Chat) Hold(call events.CallID, hold bool) chat.Command {
	return c.Command(protocol.Answer{V: protocol.Version, Call: call, Hold: &hold})
}

// Questions are those of [ArgumentsQuestion], as a running tool asks them.
func Questions() []events.Question {
	var asked struct {
		Questions []events.Question `json:"questions"`
	}
	if err := json.Unmarshal([]byte(ArgumentsQuestion), &asked); err != nil {
		panic("chatgen: " + err.Error())
	}
	return asked.Questions
}

// Ask has a person asked for a call that runs by that claim, the n-th time that it asks
// the same.
func (c *Chat) Ask(call events.CallID, claim string, n int) chat.Decision {
	return c.Handle(chat.Ask{Ask: protocol.Ask{V: protocol.Version, Call: call, Claim: claim, N: n, Questions: Questions()}})
}

// ask is what a runner may ask a person, mostly for the call that it runs.
func (d *Driver) ask(call events.CallID) chat.Message {
	m := chat.Ask{Ask: protocol.Ask{V: protocol.Version, Call: call, Rev: d.State.Rev(), N: 1, Questions: Questions()}}
	if earlier := d.claims[call]; len(earlier) > 0 {
		m.Claim = earlier[len(earlier)-1].Claim.Claim
	}
	switch d.chance.IntN(8) {
	case 0:
		m.N = d.chance.IntN(4)
	case 1:
		m.N, m.Questions = 2, m.Questions[:1]
	case 2, 3:
		m.Questions = m.Questions[:1]
	case 4:
		m.Questions = m.Questions[:1]
		m.Questions[0].Text = d.text()
	case 5:
		m.TimeoutMS = int64(d.chance.IntN(90_000))
	}
	return m
}

// asking is the call that waits for a person's answer, if one does.
func (c *Chat) asking() (events.CallID, bool) {
	for _, w := range chat.Owed(c.State) {
		t, ok := w.(protocol.Timer)
		if !ok {
			continue
		}
		if name, err := protocol.ParseTimerName(t.Name); err == nil && name.Kind == protocol.TimerQuestion {
			return name.Call, true
		}
	}
	return events.CallID{}, false
}

// answer is what somebody may say to a question, or to none.
func (d *Driver) answer(call events.CallID) chat.Message {
	b := protocol.Answer{V: protocol.Version, Call: call}
	if d.yes(8) {
		b.Call.Ordinal += d.chance.IntN(2)
		b.Call.Step = d.chance.IntN(3)
	}
	switch d.chance.IntN(6) {
	case 0, 1:
		hold := d.yes(2)
		b.Hold = &hold
	case 2:
		b.Answers = AnswersOf("red", d.text())
	case 3:
		b.Answers = AnswersOf("red", "small")[:d.chance.IntN(3)]
	default:
		b.Answers = AnswersOf("a color of my own", " small ")
	}
	return d.command(b)
}
