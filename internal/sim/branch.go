package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// branchesOnceIn is how seldom nobody in a run edits, regenerates or selects.
const branchesOnceIn = 2

// branched puts choices of branches between what is said in the chats. What is
// drawn for them changes nothing of what the rest is.
func branched(p plan, all []command) []command {
	r := draws(p.seed, "branch")
	if r.IntN(branchesOnceIn) != 0 {
		return all
	}
	first := len(all)
	mixed := make([]command, 0, 2*first)
	created := map[events.Key]bool{}
	for _, c := range all {
		mixed = append(mixed, c)
		if created[c.key] && r.IntN(4) == 0 {
			body := branchBody(r)
			b, err := json.Marshal(body)
			if err != nil {
				panic(err) // plain structs only
			}
			first++
			mixed = append(mixed, command{number: first, key: c.key, id: newIDs(p.seed, "command")(first), verb: string(body.Verb()), body: b})
		}
		created[c.key] = created[c.key] || c.verb == string(protocol.VerbCreate)
	}
	return mixed
}

func branchBody(r *rand.Rand) protocol.Body {
	turn := pick(r, 0, 0, 1, 1, 2, 3)
	switch r.IntN(4) {
	case 0:
		return protocol.Regenerate{V: protocol.Version, Turn: turn}
	case 1:
		return protocol.SelectBranch{V: protocol.Version, Turn: max(1, turn)}
	case 2:
		return protocol.Edit{
			V: protocol.Version, Input: newest, Parts: []events.Part{events.Text(fmt.Sprintf("say %d instead", r.IntN(1_000_000)))},
		}
	}
	return protocol.Edit{
		V: protocol.Version, Turn: turn, Parts: []events.Part{events.Text(fmt.Sprintf("say %d instead", r.IntN(1_000_000)))},
	}
}
