package sim

import (
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// plansOnceIn is how seldom a run has chats whose model only plans for a while.
const plansOnceIn = 4

// maxModes bounds how often plan mode is set in a chat.
const maxModes = 4

// planned sets plan mode, and takes it back, between what is said in some of the
// chats. What is drawn for it changes nothing of what the others are.
func planned(p plan, all []command) []command {
	r := draws(p.seed, "plan mode")
	if r.IntN(plansOnceIn) != 0 {
		return all
	}
	last := 0
	var chats []events.Key
	for _, c := range all {
		last = max(last, c.number)
		if c.verb == string(protocol.VerbCreate) && !slices.Contains(chats, c.key) {
			chats = append(chats, c.key)
		}
	}
	mixed := slices.Clone(all)
	for _, k := range chats {
		for range r.IntN(maxModes) {
			last++
			said := sayIn(p, k, last, protocol.SetMode{V: protocol.Version, Plan: new(r.IntN(3) > 0)})
			mixed = slices.Insert(mixed, r.IntN(len(mixed)+1), said)
		}
	}
	return mixed
}
