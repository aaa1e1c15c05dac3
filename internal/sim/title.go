package sim

import (
	"encoding/json"
	"math/rand/v2"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// modelTitles proposes titles.
const modelTitles = "titles"

// titlesOnceIn is how seldom a model proposes titles in a run.
const titlesOnceIn = 5

// entitled gives the chats of some runs a model that proposes titles, but for some.
// What is drawn for it changes nothing of what is said.
func entitled(p plan, all []command) []command {
	r := draws(p.seed, "titles")
	if r.IntN(titlesOnceIn) != 0 {
		return all
	}
	return createdWith(all, func(create *protocol.Create) {
		create.Settings.Titler = pick(r, modelTitles, modelTitles, modelTitles, modelTitles, events.TitlerNone, "nobody")
		if r.IntN(4) != 0 {
			create.Title = ""
		}
	})
}

// createdWith has what creates chats changed.
func createdWith(all []command, change func(*protocol.Create)) []command {
	for i := range all {
		var create protocol.Create
		if all[i].verb != string(protocol.VerbCreate) || json.Unmarshal(all[i].body, &create) != nil {
			continue
		}
		change(&create)
		b, err := json.Marshal(create)
		if err != nil {
			panic(err) // plain structs only
		}
		all[i].body = b
	}
	return all
}

// title is what the model says that proposes titles: mostly what it should.
func (p *provider) title(draw *rand.Rand, r model.Request) *model.Answer {
	return &model.Answer{
		Stop: pick(draw, events.StopEnd, events.StopEnd, events.StopEnd, events.StopEnd, events.StopLength), RawStop: "stop",
		Usage:    events.Usage{Input: int64(draw.IntN(100)), Output: int64(draw.IntN(30))},
		Provider: events.Provider{Name: "simulated", Model: r.Model},
		Parts: []events.Part{events.Text(pick(draw,
			"A title", "\"A title\"", "Another title", strings.Repeat("word ", 12), "two\nlines", " ",
		))},
	}
}
