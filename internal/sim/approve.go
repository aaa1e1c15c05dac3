package sim

import (
	"encoding/json"
	"math/rand/v2"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// approvalsOnceIn is how seldom people have a say in what runs: in other runs
// nothing asks them.
const approvalsOnceIn = 2

// maxDecided bounds what is decided about calls of one chat without looking whether
// any waits.
const maxDecided = 3

// waiting stands in a decision for a call that waits when it is said.
var waiting = events.CallID{Turn: 999, Step: 1, Ordinal: 1}

// approved puts what people say about calls, before anybody asks, between the other
// commands of some chats. What is drawn for it changes nothing of what those are.
func approved(p plan, all []command) []command {
	r := draws(p.seed, "approvals")
	if r.IntN(approvalsOnceIn) != 0 {
		return all
	}
	chats := map[events.Key]bool{}
	var mixed []command
	say := func(k events.Key, body protocol.Body) command {
		b, err := json.Marshal(body)
		if err != nil {
			panic(err) // plain structs only
		}
		return command{key: k, verb: string(body.Verb()), body: b}
	}
	var left []command // still to be put in
	for _, c := range all {
		mixed = append(mixed, c)
		if c.verb == string(protocol.VerbCreate) && !chats[c.key] {
			chats[c.key] = true
			if r.IntN(3) == 0 {
				continue // nobody is asked here
			}
			mixed = append(mixed, say(c.key, protocol.Configure{V: protocol.Version, Settings: events.Settings{
				Approval: events.ApprovalAsk, Limits: &events.Limits{ApprovalMS: pick(r, int64(2_000), 10_000, 20_000)},
			}}))
			for range r.IntN(maxDecided) {
				left = append(left, say(c.key, decision(r, true)))
			}
		}
		for len(left) > 0 && r.IntN(2) == 0 {
			mixed, left = append(mixed, left[0]), left[1:]
		}
	}
	mixed = append(mixed, left...)
	n := len(all)
	for i := range mixed {
		if mixed[i].id == "" { // what was there keeps its number
			n++
			mixed[i].number, mixed[i].id = n, newIDs(p.seed, "command")(n)
		}
	}
	return mixed
}

// decision is what somebody says about a call, or about all. A denial may stop the
// turn, too.
func decision(r *rand.Rand, stops bool) protocol.Body {
	if r.IntN(8) == 0 {
		return protocol.SetMode{V: protocol.Version, Approval: pick(r, events.ApprovalAsk, events.ApprovalAuto, events.ApprovalFull)}
	}
	b := protocol.Approve{V: protocol.Version, Call: waiting}
	b.Decision = pick(r, protocol.DecideApprove, protocol.DecideApprove, protocol.DecideApproveForChat, protocol.DecideDeny)
	switch {
	case b.Decision == protocol.DecideDeny:
		b.Reason, b.Stop = "not now", stops && r.IntN(4) == 0
	case r.IntN(3) == 0:
		b.Args = json.RawMessage(pick(r, `{"n":7}`, `{"n":"seven"}`, `{"m":1}`))
	}
	if r.IntN(8) == 0 {
		b.Arguments = events.DigestOf([]byte("others"))
	}
	return b
}

// Answers of a person to one question: more than one is a change of mind, or another
// person.
const (
	silentOnceIn = 4
	maxAnswers   = 3
)

// isAsked reports whether somebody waits for a person in a chat.
func (r *run) isAsked() bool {
	for _, k := range r.server.Chats() {
		if len(r.watch.chats[k].last().AwaitingApproval()) > 0 {
			return true
		}
	}
	return false
}

// person answers a question that is open, unless people leave it to its deadline.
// There is nothing to say if false.
func (r *run) person() (command, bool) {
	for _, k := range r.server.Chats() {
		for _, call := range r.watch.chats[k].last().AwaitingApproval() {
			question := k.String() + "." + call.String()
			n := r.answers[question]
			draw := numbered(r.plan.seed, "answer "+question, n)
			patient := r.waitsLong(k)
			if n == 0 && draw.IntN(silentOnceIn) == 0 && !patient {
				r.answers[question] = maxAnswers
			}
			if r.answers[question] >= maxAnswers && !patient {
				continue
			}
			r.answers[question]++
			r.said++
			body, err := json.Marshal(decision(draw, !r.parting)) // what is said last is to be answered
			if err != nil {
				panic(err) // plain structs only
			}
			c := command{
				number: r.commands + r.said, key: k, verb: string(protocol.VerbApprove),
				body: []byte(strings.ReplaceAll(string(body), waiting.String(), call.String())),
			}
			if !strings.Contains(string(body), waiting.String()) {
				c.verb = string(protocol.VerbSetMode)
			}
			c.id = newIDs(r.plan.seed, "command")(c.number)
			return c, true
		}
	}
	return command{}, false
}

// waitsLong reports whether the chat's turn waits for people longer than a run lasts:
// it began before the chat was told otherwise. Then people go on until they have
// settled it.
func (r *run) waitsLong(k events.Key) bool {
	e, ok := r.watch.chats[k].last().Effective()
	return ok && e.Limits.ApprovalTime() >= events.DefaultApprovalTime
}

// called puts a call that waits in the place of the one that could not be known
// before; without one, a call that there may be.
func (r *run) called(c command) command {
	if !strings.Contains(string(c.body), waiting.String()) {
		return c
	}
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	if list := r.watch.chats[c.key].last().AwaitingApproval(); len(list) > 0 {
		call = list[numbered(r.plan.seed, "approve", c.number).IntN(len(list))]
	}
	c.body = []byte(strings.ReplaceAll(string(c.body), waiting.String(), call.String()))
	return c
}
