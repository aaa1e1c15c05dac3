package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/membus"
	"github.com/everturn/everturn/internal/replay"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// resolved is the command with what could not be known before.
func (r *run) resolved(c command) command {
	c = r.asked(c)
	c = r.called(c)
	if !strings.Contains(string(c.body), newest) {
		return c
	}
	input := c.id // names no input
	for _, p := range r.published {
		if p.key == c.key && protocol.Verb(p.verb) == protocol.VerbSend {
			input = p.id
		}
	}
	c.body = []byte(strings.ReplaceAll(string(c.body), newest, input))
	return c
}

// lastWords says one thing more in every chat, which must be answered.
func (r *run) lastWords() {
	r.parting = true
	for i, k := range r.server.Chats() {
		if r.watch.chats[k].last().EraseRequested() {
			continue
		}
		body, err := json.Marshal(protocol.Send{
			V: protocol.Version, Parts: []events.Part{events.Text("goodbye")}, Settings: &events.Settings{Model: modelSays},
		})
		if err != nil {
			panic(err) // plain structs only
		}
		r.last[k] = newIDs(r.plan.seed, "last")(i + 1)
		r.publish(command{
			number: -1, key: k, id: r.last[k], verb: string(protocol.VerbSend), body: body,
		})
	}
}

// judgeLastWords checks that what was said last was answered.
func (r *run) judgeLastWords() {
	for _, k := range r.server.Chats() {
		input, said := r.last[k]
		if !said || r.watch.chats[k].last().EraseRequested() {
			continue // it came into being for one that was said before
		}
		turn, finished := 0, false
		for _, commit := range r.watch.chats[k].commits {
			for _, e := range commit.Events {
				switch e := e.(type) {
				case events.TurnStarted:
					if slices.Contains(e.Inputs, input) {
						turn, finished = e.Turn, false
					}
				case events.TurnCompleted:
					finished = finished || turn != 0 && e.Turn == turn
				case events.TurnFailed: // it ran before them, or an input in front of them names the model that takes little
					tooLarge := e.Class == events.ClassContextTooLarge || e.Class == events.ClassContentFilter
					finished = finished || tooLarge && (turn == 0 || e.Turn == turn)
				}
			}
		}
		if !finished {
			r.breaks("%s: the last words were not answered", k)
		}
	}
}

// deathsPerCommand is how many processes must have died, or died as far as
// anybody could know, before a command may be suspected of it.
const deathsPerCommand = 3

// judge looks at all that the run has left behind.
func (r *run) judge() {
	r.judgeLogs()
	for _, k := range r.server.Chats() {
		c := r.watch.chats[k]
		r.judgeOrder(c)
		r.judgeUnknown(c)
		r.judgeInterrupts(c)
		r.judgeErasure(k, c)
		r.judgeFamilies(c)
	}
	for _, p := range r.published {
		r.judgeCommand(p)
	}
	r.judgeEffects()
	r.judgeAnswers()
	r.judgeRequests()
	if dead := r.server.Dead(); len(dead) > 0 && r.deaths < deathsPerCommand {
		r.breaks("command %s of %s was set aside, and no more than %d processes died: %s", dead[0].Command, dead[0].Key, r.deaths, dead[0].Why)
	}
	for _, fault := range r.failings.all() {
		r.breaks("%s", fault)
	}
	for _, err := range r.faulty {
		r.breaks("%v", err)
	}
}

// judgeLogs has every log and the ledger checked.
func (r *run) judgeLogs() {
	var ledger []verify.Effect
	for _, e := range r.ledger.all() {
		if e.name != toolLookup { // it has no effect
			ledger = append(ledger, verify.Effect{Key: e.key, Call: e.call, IdempotencyKey: e.idem})
		}
	}
	checker := verify.New(verify.Options{
		Idle: len(r.broken) == 0, Effects: ledger, Shards: membus.DefaultShards, Blob: r.blob,
	})
	for _, k := range r.server.Chats() {
		again := replay.New(replay.Options{Blob: r.blob})
		for _, e := range r.watch.chats[k].entries { // what was deleted was legal, too
			checker.Add(e)
			again.Add(e.Sequence, e.Commit)
		}
		if d := again.Difference(); d != nil {
			r.breaks("replayed: %s", d)
		}
	}
	var stored []verify.StoredCommand
	for _, m := range r.server.Commands() {
		k, _, err := protocol.ParseCommandSubject(m.Subject)
		if err != nil {
			continue
		}
		stored = append(stored, verify.StoredCommand{Key: k, ID: m.Get(protocol.HeaderID), Sequence: m.Sequence})
	}
	for _, v := range checker.Finish(stored) {
		r.breaks("%s", v)
	}
}

// blob is content that the server has. That of an erased chat is not there to be seen.
func (r *run) blob(k events.Key, d events.Digest) ([]byte, error) {
	content, err := r.server.Blob(k, d)
	if err != nil && r.watch.chats[k].last().Erased() {
		return nil, verify.ErrNotSeen
	}
	return content, err
}

// judgeErasure checks that nothing is left of an erased chat but its tombstone, and
// of any other that nothing is missing.
func (r *run) judgeErasure(k events.Key, c *watched) {
	left, want := r.server.Log(k), len(c.entries)
	if c.last().Erased() {
		want = 2
		if n := len(r.server.Contents(k)); n > 0 {
			r.breaks("%s is erased, and %d of its contents are left", k, n)
		}
	}
	if len(left) != want && len(r.broken) == 0 {
		r.breaks("%s has %d commits, want %d", k, len(left), want)
	}
	checker := verify.New(verify.Options{Idle: len(r.broken) == 0, Shards: membus.DefaultShards, Blob: r.blob, SkipFold: true})
	for _, m := range left {
		checker.Add(verify.Entry{Subject: m.Subject, Sequence: m.Sequence, Commit: m.Body})
	}
	for _, v := range checker.Finish(nil) {
		r.breaks("what is left: %s", v)
	}
}

// judgeOrder checks that commands took effect in the order they were stored.
func (r *run) judgeOrder(c *watched) {
	var last uint64
	for _, commit := range c.commits {
		if commit.Cause.Kind != events.CausedByCommand {
			continue
		}
		if commit.Cause.Sequence <= last {
			r.breaks("%s rev %d: the command of sequence %d was decided after that of %d", commit.Key, commit.Rev, commit.Cause.Sequence, last)
		}
		last = commit.Cause.Sequence
	}
}

// judgeCommand checks that a command that was accepted is in the log.
func (r *run) judgeCommand(p published) {
	if _, err := protocol.DecodeCommand(p.verb, p.body); err != nil {
		return
	}
	c := r.watch.chats[p.key]
	if c == nil {
		if protocol.Verb(p.verb) == protocol.VerbCreate && len(r.broken) == 0 {
			r.breaks("%s: its create was accepted and it does not exist", p.key)
		}
		return
	}
	if p.sequence < c.created() {
		return
	}
	if asked, ok := c.erasing(); ok && p.sequence > asked {
		return // it was turned away
	}
	n := 0
	for _, commit := range c.commits {
		if commit.Cause.Kind == events.CausedByCommand && commit.Cause.ID == p.id {
			n++
		}
	}
	if n != 1 && len(r.broken) == 0 {
		r.breaks("%s: command %s was decided %d times", p.key, p.id, n)
	}
}

// call is what the log says of a call.
type call struct {
	requested *events.ToolRequested
	started   []events.ToolStarted
	result    *events.ToolCompleted
	asked     int // revs
	answered  int
	at        time.Time // of the result
	interrupt bool      // its turn was interrupted before the result
}

// calls are those of a log.
func (c *watched) calls() map[events.CallID]*call {
	all := map[events.CallID]*call{}
	get := func(id events.CallID) *call {
		if all[id] == nil {
			all[id] = &call{}
		}
		return all[id]
	}
	interrupted := map[int]bool{}
	for i, commit := range c.commits {
		for _, e := range commit.Events {
			switch e := e.(type) {
			case events.ToolRequested:
				get(e.Call).requested, get(e.Call).asked = &e, i+1
			case events.ToolStarted:
				get(e.Call).started = append(get(e.Call).started, e)
			case events.ToolCompleted:
				of := get(e.Call)
				of.result, of.answered, of.at, of.interrupt = &e, i+1, c.stored[i], interrupted[e.Call.Turn]
			case events.TurnInterruptRequested:
				interrupted[e.Turn] = true
			}
		}
	}
	return all
}

// judgeEffects compares the ledger with the logs, in what the checker of logs
// cannot know: when an effect began, and where.
func (r *run) judgeEffects() {
	calls := map[events.Key]map[events.CallID]*call{}
	ran := map[events.Key]map[events.CallID]bool{}
	for _, k := range r.server.Chats() {
		calls[k], ran[k] = r.watch.chats[k].calls(), map[events.CallID]bool{}
	}
	for _, e := range r.ledger.all() {
		c := calls[e.key][e.call]
		if c == nil || c.requested == nil || c.asked > e.log {
			r.breaks("%s: call %s began in %s before it was handed out", e.key, e.call, e.process)
			continue
		}
		ran[e.key][e.call] = true
		if age := e.at.Sub(e.claimed); age > events.Grant {
			r.breaks("%s: call %s began in %s %v after its licence was asked for", e.key, e.call, e.process, age)
		}
		if r.watch.skewed {
			continue // the argument about grants needs clocks that agree
		}
		r.judgeStart(e, c)
	}
	for _, k := range r.server.Chats() {
		for _, id := range sorted(calls[k]) {
			c := calls[k][id]
			if c.requested != nil && c.result != nil && c.result.Status == events.ToolOK && !ran[k][id] { // else a person answered it
				r.breaks("%s: call %s has the result ok and never ran", k, id)
			}
		}
	}
}

// judgeStart checks that a call began where it was licensed to, and before
// anybody had settled it. One that may run again may do so while a licence that
// was given before its result is alive.
func (r *run) judgeStart(e *effect, c *call) {
	if c.answered > 0 && c.answered <= e.log {
		again := c.requested.Idempotent && c.result.Runner != "" && !e.at.After(c.at.Add(events.Grant))
		if !again {
			r.breaks("%s: call %s began in %s after it had its result at rev %d", e.key, e.call, e.process, c.answered)
		}
	}
	if c.requested.Idempotent {
		return
	}
	for _, s := range c.started {
		if s.Runner == e.process {
			return
		}
	}
	r.breaks("%s: call %s began in %s, which has no licence", e.key, e.call, e.process)
}

// judgeUnknown checks that nobody is told "outcome unknown" for no reason: where
// nothing worse happens than that a message or two get lost, only a call that
// was interrupted may end so.
func (r *run) judgeUnknown(c *watched) {
	if !r.plan.gentle() {
		return
	}
	calls := c.calls()
	for _, id := range sorted(calls) {
		of := calls[id]
		if of.requested == nil {
			continue // open in the chat that this one goes on from
		}
		if of.result != nil && of.result.Status == events.ToolUnknown && !of.interrupt {
			r.breaks("%s: call %s ended unknown, though nobody died", c.last().Key(), id)
		}
	}
}

// longestEnd is how long the end of an interrupted turn may take.
const longestEnd = 5 * time.Second

// judgeInterrupts checks that turns end soon after they were interrupted, where
// nothing goes wrong.
func (r *run) judgeInterrupts(c *watched) {
	if !r.plan.calm() {
		return
	}
	var asked time.Time
	for i, commit := range c.commits {
		if _, inherited := commit.Events[0].(events.ChatInherited); inherited {
			continue // what was open in another chat is ended, and nobody asked for it
		}
		for _, e := range commit.Events {
			switch e := e.(type) {
			case events.TurnInterruptRequested:
				asked = c.stored[i]
			case events.TurnInterrupted:
				if took := c.stored[i].Sub(asked); took > longestEnd {
					r.breaks("%s: turn %d ended %v after it was interrupted", commit.Key, e.Turn, took)
				}
			}
		}
	}
}

// sorted are the calls in order.
func sorted(calls map[events.CallID]*call) []events.CallID {
	return slices.SortedFunc(maps.Keys(calls), func(a, b events.CallID) int {
		return cmp.Or(a.Turn-b.Turn, a.Step-b.Step, a.Ordinal-b.Ordinal)
	})
}

// judgeRequests checks that no model was asked anything that the log does not say.
func (r *run) judgeRequests() {
	known := map[events.Digest]bool{}
	for _, k := range r.server.Chats() {
		for _, commit := range r.watch.chats[k].commits {
			for _, e := range commit.Events {
				if s, ok := e.(events.StepRequested); ok {
					known[s.Prompt] = true
				}
			}
		}
	}
	for _, d := range r.provider.requests() {
		if !known[d] {
			r.breaks("a model was asked what no log has: %s", d)
		}
	}
}

// String sums a report up.
func (r Report) String() string {
	sum := fmt.Sprintf("seed %d: %d operations, %d faults, %d commands, %d commits, %v", r.Seed, r.Operations, r.Faults, r.Commands, r.Commits, r.Virtual)
	return strings.Join(append([]string{sum}, r.Broken...), "\n  ")
}
