package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/oklog/ulid/v2"
)

// command is one thing a client will say.
type command struct {
	number int // in the run, for leaving it out
	key    events.Key
	id     string
	verb   string
	body   []byte
}

// published is a command that was stored. Resent ones stand here twice.
type published struct {
	command
	sequence uint64
}

// script draws what the clients of a run will say, in the order they say it.
func script(p plan) []command {
	r := draws(p.seed, "script")
	var (
		all   []command
		chats = make([][]command, p.chats)
	)
	for i := range chats {
		k := events.Key{Tenant: "default", Chat: fmt.Sprintf("chat%d", i+1)}
		chats[i] = scriptOf(r, draws(p.seed, "busy "+k.Chat), draws(p.seed, "context "+k.Chat), k)
	}
	for {
		var left []int
		for i, c := range chats {
			if len(c) > 0 {
				left = append(left, i)
			}
		}
		if len(left) == 0 {
			break
		}
		i := pick(r, left...)
		c := chats[i][0]
		chats[i] = chats[i][1:]
		c.number = len(all) + 1
		c.id = newIDs(p.seed, "command")(c.number)
		all = append(all, c)
	}
	return budgeted(p, delegating(p, entitled(p, judged(p, planned(p, erased(p, approved(p, questioned(p, forked(p, branched(p, all))))))))))
}

// erasedOnceIn is how seldom a chat of a run is erased.
const erasedOnceIn = 5

// erased has one of the chats erased at some time, and says something in it when it
// is. What is drawn for it changes nothing of what the others are.
func erased(p plan, all []command) []command {
	r := draws(p.seed, "erase")
	if r.IntN(erasedOnceIn) != 0 {
		return all
	}
	k := all[r.IntN(len(all))].key
	last := 0
	for _, c := range all {
		last = max(last, c.number)
	}
	mixed := all
	for range 1 + r.IntN(2) {
		body := pick[protocol.Body](r, protocol.Erase{V: protocol.Version}, protocol.Erase{V: protocol.Version},
			protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text("late")}})
		b, err := json.Marshal(body)
		if err != nil {
			panic(err) // plain structs only
		}
		last++
		c := command{number: last, key: k, id: newIDs(p.seed, "command")(last), verb: string(body.Verb()), body: b}
		mixed = slices.Insert(slices.Clone(mixed), r.IntN(len(mixed)+1), c)
	}
	return mixed
}

// forksOnceIn is how seldom a run has a chat that goes on from another one.
const forksOnceIn = 4

// forked puts a fork of the first chat, and what is said in it, somewhere between
// the others. What is drawn for it changes nothing of what they are.
func forked(p plan, all []command) []command {
	r := draws(p.seed, "fork")
	if r.IntN(forksOnceIn) != 0 {
		return all
	}
	k := events.Key{Tenant: "default", Chat: "fork"}
	say := func(body protocol.Body) {
		b, err := json.Marshal(body)
		if err != nil {
			panic(err) // plain structs only
		}
		n := len(all) + 1
		all = append(all, command{number: n, key: k, id: newIDs(p.seed, "command")(n), verb: string(body.Verb()), body: b})
	}
	others := len(all)
	send := protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(fmt.Sprintf("say %d", r.IntN(1_000_000)))}}
	fork := protocol.Fork{V: protocol.Version, Chat: "chat1", Rev: pick(r, uint64(0), 0, 0, 1, 3)}
	if r.IntN(8) == 0 { // too early
		say(send)
	}
	say(fork)
	for range 1 + r.IntN(3) {
		say(pick[protocol.Body](r, send, send, protocol.Retry{V: protocol.Version}, protocol.Continue{V: protocol.Version}, fork))
	}
	own := all[others:]
	mixed := make([]command, 0, len(all))
	from := r.IntN(others + 1)
	for i, c := range all[:others] {
		if i >= from && len(own) > 0 {
			mixed, own = append(mixed, own[0]), own[1:]
		}
		mixed = append(mixed, c)
	}
	return append(mixed, own...)
}

// newIDs mints ULIDs from the seed.
func newIDs(seed uint64, purpose string) func(n int) string {
	return func(n int) string {
		r := numbered(seed, "id "+purpose, n)
		var id ulid.ULID
		_ = id.SetTime(uint64(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()) + uint64(n)) // fails after the year 10889
		for i := 6; i < len(id); i++ {
			id[i] = byte(r.Uint32())
		}
		return id.String()
	}
}

// longOnceIn is how seldom so much is said in a chat that it cannot remember all
// of it, which is maxLong.
const (
	longOnceIn = 150
	maxLong    = 300
)

// meddleOnceIn is how seldom an input that may still wait is moved or edited.
const meddleOnceIn = 5

// contextOnceIn is how seldom somebody wants models to be shown something else.
const contextOnceIn = 30

// maxLater bounds what is said in a chat after its create.
const maxLater = 9

// otherModes are those of an input that does something to the turn that runs.
func otherModes() []events.SendMode {
	return []events.SendMode{events.ModeSteer, events.ModeSteer, events.ModeInterrupt, events.ModeRollback}
}

// scriptOf draws what is said in a chat. How people meddle with a turn that runs
// comes from busy, and what they want models to be shown from long, which changes nothing of what else they say.
func scriptOf(r, busy, long *rand.Rand, k events.Key) []command {
	model := pick(r, modelCalls, modelCalls, modelCalls, modelSays)
	settings := events.Settings{Model: model}
	if r.IntN(6) == 0 {
		settings.Limits = &events.Limits{Steps: 1 + r.IntN(3)}
	}
	say := func(body protocol.Body) command {
		b, err := json.Marshal(body)
		if err != nil {
			panic(err) // plain structs only
		}
		return command{key: k, verb: string(body.Verb()), body: b}
	}
	create := say(protocol.Create{V: protocol.Version, Settings: settings, Title: "first"})
	all := []command{create}
	if r.IntN(10) == 0 { // too early
		all = []command{say(protocol.Archive{V: protocol.Version}), create}
	}
	send := func() command {
		s := protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(fmt.Sprintf("say %d", r.IntN(1_000_000)))}}
		s.Mode = pick(r, events.SendMode(""), events.ModeQueue, events.ModeQueue, events.ModeReject)
		if busy.IntN(2) == 0 {
			s.Mode = pick(busy, otherModes()...)
		}
		if r.IntN(8) == 0 {
			s.Settings = &events.Settings{Model: pick(r, modelSays, modelCalls)}
		}
		return say(s)
	}
	all = append(all, send())
	if r.IntN(longOnceIn) == 0 {
		for i := range maxLong {
			all = append(all, say(protocol.Rename{V: protocol.Version, Title: fmt.Sprintf("title %d", i)}))
		}
	}
	for range r.IntN(maxLater) {
		if busy.IntN(meddleOnceIn) == 0 {
			all = append(all, say(pick[protocol.Body](busy,
				protocol.Promote{V: protocol.Version, Input: newest},
				protocol.Promote{V: protocol.Version, Input: newest, Interrupt: true},
				protocol.EditInput{V: protocol.Version, Input: newest, Parts: []events.Part{events.Text(fmt.Sprintf("say %d", busy.IntN(1_000_000)))}},
			)))
		}
		if long.IntN(contextOnceIn) == 0 {
			all = append(all, say(pick[protocol.Body](long,
				protocol.Compact{V: protocol.Version}, protocol.Compact{V: protocol.Version},
				protocol.Clear{V: protocol.Version}, protocol.Restore{V: protocol.Version},
			)))
		}
		switch r.IntN(16) {
		case 0, 1, 2, 3, 4:
			all = append(all, send())
		case 5, 6, 7:
			all = append(all, say(protocol.Interrupt{V: protocol.Version, Turn: pick(r, 0, 0, 1, 2, 3), Reason: "enough"}))
		case 8:
			all = append(all, say(protocol.Rename{V: protocol.Version, Title: fmt.Sprintf("title %d", r.IntN(1000))}))
		case 9:
			all = append(all, say(protocol.Configure{V: protocol.Version, Settings: events.Settings{System: fmt.Sprintf("be %d", r.IntN(3))}}))
		case 10:
			all = append(all, say(pick[protocol.Body](r, protocol.Archive{V: protocol.Version}, protocol.Unarchive{V: protocol.Version})))
		case 11: // of an input that nobody can know now: resolved when it is said
			all = append(all, say(protocol.Withdraw{V: protocol.Version, Input: newest}))
		case 12:
			all = append(all, say(protocol.Retry{V: protocol.Version}))
		case 13:
			all = append(all, say(protocol.Continue{V: protocol.Version}))
		case 14:
			all = append(all, say(protocol.Create{V: protocol.Version, Title: "again"}))
		case 15:
			all = append(all, command{key: k, verb: pick(r, "send", "nonsense"), body: []byte(pick(r, "{", `{"v":1,"x":2}`, `{"v":1}`))})
		}
	}
	return all
}

// newest stands in a command for the newest input that was published.
const newest = "NEWEST"
