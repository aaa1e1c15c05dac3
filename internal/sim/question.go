package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// asksOnceIn is how seldom a run has chats whose model may ask people.
const asksOnceIn = 3

// questioned lets models ask in some of the chats, and puts what people say to it
// between the other commands. What is drawn for it changes nothing of what the
// others are. Each question that is held is let go again, or answered.
func questioned(p plan, all []command) []command {
	r := draws(p.seed, "question")
	if r.IntN(asksOnceIn) != 0 {
		return all
	}
	asking := map[events.Key]bool{}
	for i := range all {
		if all[i].verb == string(protocol.VerbCreate) && r.IntN(3) > 0 {
			all[i].body = mayAsk(all[i].body)
			asking[all[i].key] = true
		}
	}
	number := len(all)
	mixed := make([]command, 0, 2*len(all))
	for _, c := range all {
		mixed = append(mixed, c)
		if !asking[c.key] {
			continue
		}
		for _, b := range repliesTo(r) {
			number++
			mixed = append(mixed, sayIn(p, c.key, number, b))
		}
	}
	return mixed
}

// mayAsk is a create whose chat names every tool, and the one that asks.
func mayAsk(body []byte) []byte {
	var create protocol.Create
	if err := json.Unmarshal(body, &create); err != nil {
		return body // one that is refused
	}
	create.Settings.Tools = &[]string{toolOnce, toolAgain, toolLookup, toolLast, toolAlone, chat.ToolAskUser, chat.ToolCreateArtifact}
	create.Settings.ClientTools = &[]events.ClientTool{{Name: toolClient, Description: "the client's", Schema: json.RawMessage(schema)}}
	b, err := json.Marshal(create)
	if err != nil {
		panic(err) // plain structs only
	}
	return b
}

func sayIn(p plan, k events.Key, number int, body protocol.Body) command {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err) // plain structs only
	}
	return command{number: number, key: k, id: newIDs(p.seed, "command")(number), verb: string(body.Verb()), body: b}
}

// repliesTo is what people say to a question, often nothing. Which call asks is
// found when it is said.
func repliesTo(r *rand.Rand) []protocol.Body {
	hold := func(hold bool) protocol.Answer { return protocol.Answer{V: protocol.Version, Hold: &hold} }
	answer := protocol.Answer{V: protocol.Version, Answers: []events.Answer{{Question: "q", Text: fmt.Sprintf("answer %d", r.IntN(100))}}}
	wrong := protocol.Answer{V: protocol.Version, Answers: []events.Answer{{Question: "p", Text: " "}}}
	deliver := func(ordinal int) protocol.ClientResult {
		return protocol.ClientResult{
			V: protocol.Version, Call: events.CallID{Ordinal: ordinal}, Parts: []events.Part{events.Text("shown")}, IsError: r.IntN(4) == 0,
		}
	}
	switch r.IntN(12) {
	case 8, 9:
		return []protocol.Body{deliver(1), deliver(2)}
	case 10:
		return []protocol.Body{deliver(2), deliver(1), deliver(1), deliver(7)}
	case 0:
		return []protocol.Body{answer}
	case 1:
		return []protocol.Body{hold(true), answer}
	case 2:
		return []protocol.Body{hold(true), hold(false)}
	case 3:
		return []protocol.Body{wrong, answer, answer}
	case 4:
		return []protocol.Body{hold(true), hold(true), wrong, hold(false), answer}
	}
	return nil
}

// asked is a command about a question with the call that asks: the newest that is
// known to.
func (r *run) asked(c command) command {
	switch protocol.Verb(c.verb) {
	case protocol.VerbAnswer:
	case protocol.VerbClientResult:
		return r.toDeliver(c)
	default:
		return c
	}
	var body protocol.Answer
	if err := json.Unmarshal(c.body, &body); err != nil {
		panic(err) // it was written above
	}
	body.Call = events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	if w := r.watch.chats[c.key]; w != nil {
		for _, commit := range w.commits {
			for _, e := range commit.Events {
				if e, ok := e.(events.QuestionAsked); ok {
					body.Call = e.Call
				}
			}
		}
	}
	b, err := json.Marshal(body)
	if err != nil {
		panic(err) // plain structs only
	}
	c.body = b
	return c
}

// toDeliver is a client's result of a call of the newest action that is known.
func (r *run) toDeliver(c command) command {
	var body protocol.ClientResult
	if err := json.Unmarshal(c.body, &body); err != nil {
		panic(err) // it was written above
	}
	body.Call.Turn, body.Call.Step = 1, 1
	if w := r.watch.chats[c.key]; w != nil {
		for _, commit := range w.commits {
			for _, e := range commit.Events {
				if e, ok := e.(events.ActionRequested); ok {
					body.Call.Turn, body.Call.Step = e.Step.Turn, e.Step.Step
				}
			}
		}
	}
	b, err := json.Marshal(body)
	if err != nil {
		panic(err) // plain structs only
	}
	c.body = b
	return c
}

// toolClient is a tool of the clients' own.
const toolClient = "show"

// asks is an answer of a model that asks people, if it may and likes to: well or
// badly, alone or beside other calls.
func (p *provider) asks(draw *rand.Rand, r model.Request) []events.Part {
	may := false
	for _, t := range r.Tools {
		may = may || t.Name == chat.ToolAskUser
	}
	if !may || draw.IntN(3) > 0 {
		return nil
	}
	if draw.IntN(6) == 0 { // something to keep, perhaps beside what a runner does
		parts := []events.Part{{
			Type: events.PartCall, Ordinal: 1, Name: chat.ToolCreateArtifact, ProviderID: "keep",
			Arguments: fmt.Sprintf(`{"title":"Draft %d","content":"text %d"}`, draw.IntN(2), draw.IntN(1000)),
		}}
		if draw.IntN(2) == 0 {
			parts = append(parts, p.call(draw, 1))
		}
		return parts
	}
	if draw.IntN(3) == 0 { // the client, alone or beside a runner
		parts := []events.Part{{Type: events.PartCall, Ordinal: 1, Name: toolClient, Arguments: fmt.Sprintf(`{"n":%d}`, draw.IntN(10)), ProviderID: "show"}}
		if draw.IntN(2) == 0 {
			parts = append(parts, p.call(draw, 1))
		}
		return parts
	}
	options := `[{"label":"yes","description":"go on"},{"label":"no","description":"stop"}]`
	if draw.IntN(8) == 0 {
		options = `[]`
	}
	parts := []events.Part{{
		Type: events.PartCall, Ordinal: 1, Name: chat.ToolAskUser, ProviderID: "ask",
		Arguments: fmt.Sprintf(`{"questions":[{"id":"q","header":"A question","text":"Number %d?","options":%s}],"timeout_seconds":%d}`,
			draw.IntN(1000), options, 30+draw.IntN(240)),
	}}
	if draw.IntN(8) == 0 {
		parts = append(parts, p.call(draw, 1))
	}
	return parts
}
