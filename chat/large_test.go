package chat_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// heaviest are settings that take as much room as any can: instructions each of
// whose bytes takes two in JSON, and as much of a client's tools as it may have.
func heaviest() events.Settings {
	tools := make([]events.ClientTool, events.MaxClientTools)
	for i := range tools {
		tools[i] = events.ClientTool{
			Name: fmt.Sprintf("client-%057d", i), Description: strings.Repeat("d", 900), Schema: json.RawMessage(`{"type":"object"}`),
		}
	}
	return events.Settings{System: strings.Repeat(`"`, 64<<10), ClientTools: &tools}
}

// crowded are as many tools of runners as can be on offer, with long names, and as many
// skills.
func crowded() chat.Live {
	l := chat.Live{Skills: crowdedSkills(), Defaults: events.Settings{Model: strings.Repeat("m", 128)}}
	for i := range chat.MaxTools {
		l.Tools = append(l.Tools, protocol.Manifest{
			Name: fmt.Sprintf("tool-%059d", i), Group: strings.Repeat("g", 32), Schema: json.RawMessage(`{"type":"object"}`),
			ReadOnly: true, Idempotent: true, StopAfter: true, TimeoutMS: 3_600_000, Policy: events.PolicyReview,
		}.Tool())
	}
	return l
}

// crowdedSkills take all the room that skills have, and no more.
func crowdedSkills() []events.Skill {
	var list []events.Skill
	room := events.MaxSkillsBytes
	for n := range events.MaxSkills {
		one := skill(fmt.Sprintf("s%02d", n), "text")
		one.Description = strings.Repeat("d", events.MaxSkillDescriptionChars)
		for chat.SkillBytes(one) < events.MaxSkillsBytes/events.MaxSkills-128 {
			one.Files = append(one.Files, events.SkillFile{Path: strings.Repeat("f", 100), Bytes: 1})
		}
		if room -= chat.SkillBytes(one); room < 0 {
			break
		}
		list = append(list, one)
	}
	return list
}

// crowd is a story in which all of [crowded] are on offer, and no commit is too large.
type crowd struct{ *story }

func (c crowd) tell(m chat.Message) []events.Event {
	c.t.Helper()
	list := chat.Handle(c.state, m, c.at, crowded()).Events
	c.commit(m, list)
	b, err := events.Encode(c.log[len(c.log)-1])
	if err != nil {
		c.t.Fatal(err)
	}
	if len(b) > events.MaxCommitBytes-1<<10 { // room for ids that are as long as can be
		c.t.Errorf("the commit has %d bytes", len(b))
	}
	return list
}

func (c crowd) command(b protocol.Body) []events.Event {
	c.t.Helper()
	c.seq++
	return c.tell(chat.Command{ID: fmt.Sprintf("cmd-%d", c.seq), By: "user:ann", Sequence: c.seq, Body: b})
}

// waits has a turn that runs, and another one behind it with the heaviest settings.
func (c crowd) waits(t *testing.T) {
	t.Helper()
	c.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("a")}})
	wants(t, c.command(protocol.Configure{V: 1, Settings: heaviest()}), "chat.configured")
	wants(t, c.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("b")}}), "input.accepted")
}

// Whatever a model was paid for finds its place, also in the commit in which the
// heaviest of turns begins.
func TestACommitHoldsTheHeaviestSettingsBesideItsContent(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		run  func(t *testing.T, c crowd)
	}{
		{"an answer, and the turn that waits", func(t *testing.T, c crowd) {
			c.waits(t)
			parts := make([]events.Part, 5)
			for i := range parts {
				parts[i] = events.Text(strings.Repeat(string(rune('a'+i)), 63<<10))
			}
			list := c.tell(c.ended(&model.Answer{Parts: parts, Stop: events.StopEnd}, nil))
			wants(t, list, "step.completed", "turn.completed", "turn.started", "step.requested")
		}},
		{"the text of an interrupted step, and the turn that waits", func(t *testing.T, c crowd) {
			c.waits(t)
			c.command(protocol.Interrupt{V: 1, Turn: 1})
			quotes := events.Text(strings.Repeat(`"`, 63<<10))
			end := due(protocol.TimerName{Kind: protocol.TimerEnd, Turn: 1})
			end.Partial = []events.Part{quotes, quotes, quotes, quotes}
			wants(t, c.tell(end), "step.interrupted", "turn.interrupted", "turn.started", "step.requested")
		}},
		{"a summary, which stands in it twice, and the turn that waits", func(t *testing.T, c crowd) {
			for range 4 {
				c.command(protocol.Send{V: 1, Parts: []events.Part{events.Text(strings.Repeat("much ", 60<<10))}})
				c.tell(c.ended(&model.Answer{Parts: []events.Part{events.Text("yes")}, Stop: events.StopEnd}, nil))
			}
			wants(t, c.command(protocol.Configure{V: 1, Settings: heaviest()}), "chat.configured")
			wants(t, c.command(protocol.Compact{V: 1}), "step.requested")
			wants(t, c.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("b")}}), "input.accepted")
			quotes := events.Text(strings.Repeat(`"`, 63<<10))
			list := c.tell(c.ended(&model.Answer{Parts: []events.Part{quotes, quotes}, Stop: events.StopEnd}, nil))
			wants(t, list, "step.completed", "context.compacted", "turn.started", "step.requested")
		}},
		{"an input with settings of its own", func(t *testing.T, c crowd) {
			all := heaviest()
			quotes := events.Text(strings.Repeat(`"`, 60<<10))
			list := c.command(protocol.Send{
				V: 1, Parts: []events.Part{quotes}, Settings: &events.Settings{System: all.System}, ClientTools: all.ClientTools,
			})
			wants(t, list, "input.accepted", "turn.started", "step.requested")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := crowd{&story{t: t, at: noon}}
			c.command(protocol.Create{V: 1})
			tt.run(t, c)
		})
	}
}
