package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/membus"
	"github.com/everturn/everturn/protocol"
)

// Options choose a run. Everything in it follows from them.
type Options struct {
	Seed uint64

	// Left out of the run, by number: what the seed would have had go wrong, and
	// what clients would have said. The rest stays as it is as far as it can.
	WithoutFaults   map[int]bool
	WithoutCommands map[int]bool

	// Trace keeps what happened, line by line.
	Trace bool
}

// Report is what came of a run.
type Report struct {
	Seed       uint64
	Broken     []string // what did not hold; empty is good
	Hash       string   // of all that happened
	Trace      []string
	Operations int
	Faults     int // that happened or were left out
	Commands   int
	Commits    int
	Seen       map[string]int // what happened in the logs, and how often
	Virtual    time.Duration
}

// Run performs a run in a bubble of its own.
func Run(t *testing.T, o Options) Report {
	t.Helper()
	var report Report
	synctest.Test(t, func(t *testing.T) {
		report = newRun(o).perform()
	})
	return report
}

// run is one run under way.
type run struct {
	options Options
	plan    plan
	*world
	watch     *watcher
	trace     *trace
	end       chan struct{} // closed at the end
	script    []command
	published []published
	choices   *rand.Rand
	chances   *rand.Rand
	meddling  *rand.Rand
	faults    int
	deaths    int // of processes, and words about tries that were lost
	steps     int
	broken    []string

	commands int                   // of the script
	said     int                   // by people, when they were asked
	answers  map[string]int        // given to each question
	meddles  int                   // moments when somebody might have said something in a family
	meddled  int                   // what was said then
	parting  bool                  // the last words are said
	last     map[events.Key]string // their ids
}

func newRun(o Options) *run {
	p := newPlan(o.Seed)
	over := make(chan struct{})
	watch := newWatcher()
	r := &run{
		options: o, plan: p, world: newWorld(p, over, watch), watch: watch, trace: newTrace(o.Trace), end: over,
		script: script(p), choices: draws(o.Seed, "choices"), chances: draws(o.Seed, "faults"), answers: map[string]int{},
		last: map[events.Key]string{}, meddling: draws(o.Seed, "meddling"),
	}
	r.commands = len(r.script)
	r.gate.paused = r.isPaused
	r.plan.span += max(0, len(r.script)-maxLong/2) * operationsPerCommand
	return r
}

// Limits of a run.
const (
	operationsPerCommand = 10 // by which a long run is longer

	restTime  = 30 * time.Minute // until all must be at rest when nothing goes wrong any more
	famRest   = 4 * time.Hour    // the same of families: one child after the other may ask people
	maxSteps  = 60_000           // operations: a run that has more is going round in circles
	longestOf = 10 * time.Minute // one wait
)

func (r *run) perform() Report {
	for _, s := range r.slots {
		if r.plan.on[faultSkew] {
			s.offset = time.Duration(r.choices.Int64N(int64(events.Skew))) - events.Skew/2
		}
		r.start(s)
	}
	for r.faulting && r.steps < maxSteps {
		r.turn()
		r.settle()
		if len(r.script) == 0 && (r.steps > r.plan.span || r.atRest() == "") {
			r.calm()
		}
	}
	r.rest("after the faults")
	if len(r.broken) == 0 {
		r.lastWords()
		r.rest("after the last words")
		r.judgeLastWords()
	}
	r.judge()
	close(r.end)
	if err := r.close(); err != nil {
		r.breaks("%v", err)
	}
	report := Report{
		Seed: r.options.Seed, Broken: append(r.watch.broken, r.broken...), Trace: r.trace.lines,
		Operations: r.steps, Faults: r.faults, Commands: r.commands + r.said, Virtual: time.Since(r.trace.began), Seen: r.watch.seen,
	}
	for _, k := range r.server.Chats() {
		for _, m := range r.server.Log(k) {
			r.trace.add(said(m.Body))
			report.Commits++
		}
	}
	report.Hash = r.trace.hash()
	return report
}

// said is what a commit says, without its id and what follows from that: when one
// process makes two commits in one instant, in two chats, which of them draws its id
// first is nobody's choice. All else repeats.
func said(body []byte) string {
	c, err := events.Decode(body)
	if err != nil {
		return string(body)
	}
	c.ID, c.Prev = "", ""
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // plain structs only
	}
	return string(b)
}

func (r *run) breaks(format string, args ...any) {
	r.broken = append(r.broken, fmt.Sprintf(format, args...))
}

// aMoment is the longest time that passes between two things. It is short, but
// nothing happens in the same instant as anything else.
const aMoment = 100 * time.Microsecond

// settle returns when no process can do anything more by itself. Operations whose
// contexts have ended fail one after the other, not in the same instant.
func (r *run) settle() {
	synctest.Wait()
	for r.gate.release() {
		time.Sleep(time.Nanosecond)
		synctest.Wait()
	}
}

// sleep lets time pass, and whatever it brings about.
func (r *run) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-r.gate.ended:
			r.settle()
		case <-timer.C:
			r.settle()
			return
		}
	}
}

// turn does one thing: an operation, a command, a fault, or letting time pass.
func (r *run) turn() {
	r.sleep(1 + time.Duration(r.choices.Int64N(int64(aMoment))))
	r.revive()
	if r.faulting && r.befall() {
		return
	}
	ready := r.gate.ready(r.server)
	if len(r.script) > 0 && (chance(r.choices, r.plan.hurry) || len(ready) == 0) {
		r.say()
		return
	}
	if r.isAsked() && (len(ready) == 0 || chance(r.choices, r.plan.hurry)) {
		if c, ok := r.person(); ok {
			r.sayThat(c)
			return
		}
	}
	if r.anyHeld() && (len(ready) == 0 || chance(r.choices, r.plan.hurry)) {
		if c, ok := r.extension(); ok {
			r.publish(c) // also where less is said: nothing else ends the waiting
			return
		}
	}
	if r.faulting && chance(r.meddling, r.plan.hurry) {
		if c, ok := r.meddle(); ok {
			r.sayThat(c)
			return
		}
	}
	if len(ready) == 0 {
		r.wait(longestOf)
		return
	}
	o := choose(r.choices, ready, r.weight)
	fate := r.fate(o)
	if fate.Crash || strings.HasPrefix(o.Kind, "dead.") && fate != (membus.Fate{}) {
		r.deaths++
	}
	r.steps++
	r.note(o, fate)
	r.gate.grant(o, fate)
}

func (r *run) weight(o *operation) float64 {
	if w, ok := r.plan.slow[o.Process.Name[:2]]; ok && r.faulting {
		return w
	}
	return 1
}

func (r *run) note(o *operation, f membus.Fate) {
	how := ""
	switch {
	case f.Refuse != nil:
		how = "REFUSED " + f.Refuse.Error()
	case f.Lose != nil:
		how = "ANSWER LOST"
	case f.Late != nil:
		how = "NO ANSWER, EFFECT LATER"
	case f.Drop:
		how = "LOST"
	case f.Twice:
		how = "AND ONCE MORE"
	case f.Crash:
		how = "AND ITS PROCESS DIES"
	case o.effect != nil:
		how = "(late effect)"
	}
	r.trace.add(o.key, how)
}

func (r *run) isPaused(process string) bool {
	for _, s := range r.slots {
		if s.process != nil && s.process.Name == process {
			return s.paused.After(time.Now())
		}
	}
	return false
}

// wait lets time pass until something can happen, or for at most d.
func (r *run) wait(d time.Duration) {
	select {
	case <-r.gate.wake: // of an operation that is known by now
	default:
	}
	until := time.Now().Add(d)
	sooner := func(t time.Time) {
		if t.After(time.Now()) && t.Before(until) {
			until = t
		}
	}
	sooner(r.server.Next())
	for _, s := range r.slots {
		sooner(s.again)
		sooner(s.paused)
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	for {
		select {
		case <-r.gate.wake:
			return
		case <-r.gate.ended:
			r.settle()
		case <-timer.C:
			return
		}
	}
}

// revive starts processes whose time has come.
func (r *run) revive() {
	for _, s := range r.slots {
		if s.running() {
			continue
		}
		if s.again.IsZero() {
			s.again = time.Now().Add(r.downtime())
		}
		if !s.again.After(time.Now()) {
			r.trace.add("start", s.name)
			r.start(s)
			r.settle()
		}
	}
}

// longestDown is how long a place stays empty.
const longestDown = 20 * time.Second

func (r *run) downtime() time.Duration {
	if !r.faulting {
		return 0
	}
	return time.Duration(r.chances.Int64N(int64(longestDown)))
}

// say publishes the next command of the script.
func (r *run) say() {
	c := r.script[0]
	r.script = r.script[1:]
	r.sayThat(c)
}

func (r *run) sayThat(c command) {
	if r.options.WithoutCommands[c.number] {
		return
	}
	r.publish(c)
	if r.plan.on[faultResend] && chance(r.choices, 0.15) {
		r.publish(c)
	}
}

func (r *run) publish(c command) {
	c = r.resolved(c)
	header := map[string]string{protocol.HeaderBy: "user:ann", protocol.HeaderID: c.id}
	sequence, err := r.server.Publish(c.key, c.verb, header, c.body)
	if err != nil {
		r.breaks("publish: %v", err)
	}
	r.published = append(r.published, published{command: c, sequence: sequence})
	r.trace.add("client", c.key.Chat, c.verb, c.id)
}

// calm ends all faults: processes that are dead come back, clocks agree.
func (r *run) calm() {
	r.faulting = false
	r.trace.add("calm")
	r.provider.behave()
	r.ledger.behave()
	for _, s := range r.slots {
		s.paused, s.again = time.Time{}, time.Time{}
		if r.plan.on[faultJump] {
			s.offset = 0
		}
	}
}

// rest goes on until nothing is owed, stored or running any more.
func (r *run) rest(when string) {
	limit := time.Now().Add(restTime)
	if r.plan.families() {
		limit = time.Now().Add(famRest)
	}
	for r.steps < maxSteps && time.Now().Before(limit) {
		r.turn()
		r.settle()
		if r.atRest() == "" {
			return
		}
	}
	r.breaks("stuck %s: %s", when, r.atRest())
}

// atRest says what is not at rest yet.
func (r *run) atRest() string {
	if n := len(r.script); n > 0 {
		return fmt.Sprintf("%d commands were not said", n)
	}
	for _, k := range r.server.Chats() {
		s := r.watch.chats[k].last()
		if owes := chat.Owes(s); owes != "" {
			return fmt.Sprintf("%s owes %s", k, owes)
		}
		if turn, running := s.Running(); running {
			return fmt.Sprintf("turn %d of %s runs and owes nothing", turn, k)
		}
	}
	if c := r.server.Commands(); len(c) > 0 {
		return fmt.Sprintf("%d commands are stored, the first is %s %d", len(c), c[0].Subject, c[0].Sequence)
	}
	if w := r.server.Work(); len(w) > 0 {
		return fmt.Sprintf("%d pieces of work are stored, the first is %s", len(w), w[0].Subject)
	}
	if n := r.server.Timers(); n > 0 && !r.server.Next().After(time.Now().Add(restTime)) { // else none that is owed
		return fmt.Sprintf("%d timers are set", n)
	}
	return ""
}
