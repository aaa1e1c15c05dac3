package verify_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
)

var logs = flag.Int("logs", usualLogs, "how many `logs` to generate")

const (
	shards = 4
	short  = 8 // messages of the shortest log
)

// entries is a generated chat's log as it lies in its stream, from a sequence on.
func entries(c *chatgen.Chat, first uint64) []verify.Entry {
	list := make([]verify.Entry, len(c.Bytes))
	for i, b := range c.Bytes {
		list[i] = verify.Entry{Subject: c.Subject(shards), Sequence: first + uint64(i), Commit: b}
	}
	return list
}

// A checker that cries wolf is worth nothing: whatever chat decides is legal, at
// every moment and when nothing goes on any more.
func TestGeneratedLogsAreLegal(t *testing.T) {
	t.Parallel()

	var wait sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wait.Go(func() {
			for i := w; i < *logs && !t.Failed(); i += workers {
				legal(t, i)
			}
		})
	}
	wait.Wait()
}

func schema(events.Digest) (json.RawMessage, error) { return chatgen.Schema(), nil }

// legal generates a log and has it judged, first as it is and then with what
// brought it to rest.
func legal(t *testing.T, number int) {
	const (
		spread = 12  // of the logs' length
		long   = 120 // messages of the longest
		isLong = 100 // every so many logs
		folded = 4   // every so many logs, what needs the chat's state is judged, too
		forks  = 6   // every so many logs, the chat goes on from another one
		erased = 5   // every so many logs, the chat is erased
	)
	messages := short + number%spread
	if number%isLong == 0 {
		messages = long
	}
	k := events.Key{Tenant: "acme", Chat: fmt.Sprintf("chat-%d", number)}
	chance := rand.New(rand.NewPCG(uint64(number), 0))
	log := generated(k, number, chance, messages)
	if number%forks == 0 && log.State.Exists() {
		log = goneOn(log, chance, messages)
	}
	if number%erased == 0 {
		log.Erase()
		d := chatgen.DriverOf(log, chance)
		for range chance.IntN(6) {
			d.Take(d.Next())
		}
	}
	options := verify.Options{
		Idle: true, Shards: shards, SkipFold: number%folded != 0,
		Blob:   func(_ events.Key, d events.Digest) ([]byte, error) { return log.Blobs[d], nil },
		Schema: schema,
	}
	checker := verify.New(options)
	for _, e := range entries(log, 1) {
		checker.Add(e)
	}
	begun := len(log.Commits)
	for _, v := range checker.Violations() {
		t.Errorf("log %d: %s", number, v)
	}
	log.Rest()
	for _, e := range entries(log, 1)[begun:] {
		checker.Add(e)
	}
	for _, v := range checker.Finish(nil) {
		t.Errorf("log %d at rest: %s", number, v)
	}
	for _, u := range checker.Unread() {
		t.Errorf("log %d is not judged: %v", number, u.Err)
	}
	if log.State.Erased() {
		cutIsLegal(t, number, entries(log, 1), chance.IntN(len(log.Commits)), options)
	}
}

// generated is a chat, every so many of which works for another one.
func generated(k events.Key, number int, chance *rand.Rand, messages int) *chatgen.Chat {
	const children = 7
	if number%children != 3 {
		return chatgen.Log(k, chance, messages)
	}
	d := chatgen.NewChildDriver(k, chance)
	for range messages {
		d.Take(d.Next())
	}
	return d.Chat
}

// cutIsLegal judges the log of an erased chat of which only a beginning is left, or
// nothing, and its tombstone.
func cutIsLegal(t *testing.T, number int, all []verify.Entry, left int, o verify.Options) {
	t.Helper()
	const tombstone = 2 // commits from the end
	for _, n := range []int{0, min(left, len(all)-tombstone)} {
		checker := verify.New(o)
		for _, e := range slices.Concat(all[:n], all[len(all)-tombstone:]) {
			checker.Add(e)
		}
		for _, v := range checker.Finish(nil) {
			t.Errorf("log %d, of which %d commits and the tombstone are left: %s", number, n, v)
		}
	}
}

// goneOn is a chat that goes on from another one, mostly at once and sometimes
// through a third.
func goneOn(c *chatgen.Chat, chance *rand.Rand, messages int) *chatgen.Chat {
	rev := func() uint64 { return 1 + chance.Uint64N(c.State.Rev()) }
	on := func() {
		d := chatgen.DriverOf(c, chance)
		for range messages {
			d.Take(d.Next())
		}
	}
	if chance.IntN(3) == 0 {
		c = c.ImportAt(events.Key{Tenant: "globex", Chat: "moved"}, rev())
		on()
	}
	c = c.ForkAt(events.Key{Tenant: c.Key().Tenant, Chat: "fork-" + c.Key().Chat}, rev())
	on()
	return c
}

// However a log is broken, the checker says so and goes on. Most changes made by
// chance are violations; a few, such as a dropped title, are not.
func TestNoLogBreaksTheChecker(t *testing.T) {
	t.Parallel()

	const logs = 1_000
	reported := 0
	for i := range uint64(logs) {
		chance := rand.New(rand.NewPCG(i, 1))
		l := logOf(chatgen.Log(ann, chance, short))
		if len(l) < 2 {
			continue
		}
		for range 3 {
			l = l.damage(chance)
		}
		if len(check(l.chain(t), verify.Options{Idle: true})) > 0 {
			reported++
		}
	}
	if reported < logs*9/10 {
		t.Errorf("%d of %d damaged logs are reported", reported, logs)
	}
}

// damage does one thing to the log by chance.
func (l log) damage(chance *rand.Rand) log {
	anywhere := func() spot {
		c := chance.IntN(len(l))
		return spot{c, chance.IntN(len(l[c].Events))}
	}
	a, b := anywhere(), anywhere()
	switch chance.IntN(5) {
	case 0:
		if len(l) > 1 {
			return l.drop(a)
		}
	case 1:
		return l.insert(b, l.at(a))
	case 2:
		return l.swap(a, b)
	case 3:
		if a != b {
			return l.move(a, b)
		}
	case 4:
		l[a.commit], l[b.commit] = l[b.commit], l[a.commit]
	}
	return l
}
