package verify_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

var (
	sequences = flag.Int("sequences", usualSequences, "how many `sequences` of messages to try")
	sequence  = flag.Int("sequence", 0, "the `number` of the first sequence")
)

// tally counts what was tried, so that nobody takes for tried what was not.
type tally struct {
	sync.Mutex
	messages, commits, erased, forks int
	events                           map[events.Type]int
	verbs                            map[protocol.Verb]int
}

// Whatever comes in, asked for or not, in time or not, once or twice: the log is
// legal, by every rule, and the chat answers when somebody says something more.
func TestAnySequenceLeavesALegalLogAndAChatThatAnswers(t *testing.T) {
	t.Parallel()
	seen := &tally{events: make(map[events.Type]int), verbs: make(map[protocol.Verb]int)}
	var wait sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wait.Go(func() {
			for i := w; i < *sequences && !t.Failed(); i += workers {
				disorderly(t, *sequence+i, seen)
			}
		})
	}
	wait.Wait()
	t.Logf("%d sequences of %d messages gave %d commits; %d chats were erased, %d forked",
		*sequences, seen.messages, seen.commits, seen.erased, seen.forks)
	for _, e := range slices.Sorted(maps.Keys(seen.events)) {
		t.Logf("%7d %s", seen.events[e], e)
	}
	if t.Failed() || *sequences < usualSequences {
		return
	}
	for _, verb := range protocol.Verbs() {
		if seen.verbs[verb] == 0 {
			t.Errorf("no %s was tried", verb)
		}
	}
}

// disorderly drives a chat by anything, and then to a good end.
func disorderly(t *testing.T, number int, seen *tally) {
	const (
		shortest, spread = 5, 50 // messages
		folded           = 8     // every so many logs, what needs the chat's state is judged, too
		forked           = 6     // every so many chats, another one goes on from where it was
		children         = 7     // every so many chats, it works for another one
	)
	k := events.Key{Tenant: "acme", Chat: fmt.Sprintf("chat-%d", number)}
	chance := rand.New(rand.NewPCG(uint64(number), 2))
	var d *chatgen.Driver
	if number%children == 3 {
		d = chatgen.NewChildDriver(k, chance)
	} else {
		d = chatgen.NewDriver(k, chance)
	}
	problem := func(format string, args ...any) {
		t.Helper()
		t.Errorf("-sequence=%d: %s", number, fmt.Sprintf(format, args...))
	}
	defer func() {
		if r := recover(); r != nil {
			problem("panics: %v", r)
			panic(r)
		}
	}()
	furnish(d.Chat, number)
	messages := shortest + number%spread
	verbs := make(map[protocol.Verb]int)
	for range messages {
		m := d.Any()
		if c, ok := m.(chat.Command); ok && c.Body != nil {
			verbs[c.Body.Verb()]++
		}
		d.Take(m)
	}
	o := verify.Options{Idle: true, Shards: shards, SkipFold: number%folded != 0, Schema: schema}
	chance = rand.New(rand.NewPCG(uint64(number), 3))
	fork := number%forked == 0 && d.State.Exists() && !d.State.Erased()
	if fork {
		rev := 1 + chance.Uint64N(d.State.Rev())
		endsWell(d.ForkAt(events.Key{Tenant: k.Tenant, Chat: "fork-" + k.Chat}, rev), o, func(format string, args ...any) {
			t.Helper()
			problem("forked at rev %d: %s", rev, fmt.Sprintf(format, args...))
		})
	}
	endsWell(d.Chat, o, problem)
	if testing.Verbose() && *sequences == 1 {
		for _, b := range d.Bytes {
			t.Logf("%s", b)
		}
	}
	seen.Lock()
	defer seen.Unlock()
	seen.messages += messages
	seen.commits += len(d.Commits)
	if d.State.Erased() {
		seen.erased++
	}
	if fork {
		seen.forks++
	}
	for verb, n := range verbs {
		seen.verbs[verb] += n
	}
	for _, c := range d.Commits {
		for _, e := range c.Events {
			seen.events[e.EventType()]++
		}
	}
}

// endsWell has a chat's log judged, as it is, at rest, and with one more answer.
func endsWell(c *chatgen.Chat, o verify.Options, problem func(format string, args ...any)) {
	o.Blob = func(_ events.Key, digest events.Digest) ([]byte, error) { return c.Blobs[digest], nil }
	checker, judged := verify.New(o), 0
	judge := func() {
		for _, e := range entries(c, 1)[judged:] {
			checker.Add(e)
		}
		judged = len(c.Commits)
	}
	judge()
	for _, v := range checker.Violations() {
		problem("%s", v)
	}
	c.Rest()
	judge()
	if why := answersOneMore(c); why != "" {
		problem("no further answer: %s", why)
	}
	judge()
	for _, v := range checker.Finish(nil) {
		problem("at rest: %s", v)
	}
	for _, u := range checker.Unread() {
		problem("not judged: %v", u.Err)
	}
}

// furnish gives chats more and less to work with: small and large windows, and all
// kinds of tools.
func furnish(c *chatgen.Chat, number int) {
	const usual, large = 3_000, 200_000
	window := []int{0, usual, large}[number%3]
	if window > 0 {
		c.Live.Windows = map[string]chat.Window{"": {Tokens: int64(window)}, "small": {Tokens: int64(window)}}
	}
	if number%2 == 0 {
		return
	}
	tools := []string{chat.ToolAskUser, chat.ToolDelegate}
	for _, tool := range c.Live.Tools {
		tools = append(tools, tool.Name)
	}
	c.Live.Defaults.Tools = &tools
	c.Live.Defaults.ClientTools = &[]events.ClientTool{{Name: chatgen.ToolClient, Description: "The client's.", Schema: chatgen.Schema()}}
}

// answersOneMore says something more in a chat at rest, and says why that is not
// answered. A chat that is to be erased says so. One whose context is too large, for
// this or for what waits before it, answers once it was cleared. Money is no matter.
func answersOneMore(c *chatgen.Chat) string {
	const patience = 3
	if !c.State.Exists() {
		c.Create(events.Settings{})
	}
	c.Installation()
	if _, ofChat := c.State.Budgets(); ofChat.Limits() {
		c.ExtendChat(chatgen.NoBudget())
	}
	why := ""
	for range patience {
		input := c.Command(protocol.Send{
			V: protocol.Version, Parts: []events.Part{events.Text("are you there?")},
			Settings: &events.Settings{Agent: chatgen.AgentHelper, Budget: new(chatgen.NoBudget())},
		}).ID
		c.Rest()
		end := endOf(c, input)
		if _, answered := end.(events.TurnCompleted); answered == !c.State.Erased() {
			return ""
		}
		outcome, _ := c.State.Outcome(input)
		why = fmt.Sprintf("it ends with %T %+v; the input's outcome is %+v; waiting: %v", end, end, outcome, c.State.Waiting())
		if _, stopped := end.(events.TurnInterrupted); stopped {
			continue // it came along with another input, which had too little to spend
		}
		if !tooLarge(c) {
			break
		}
		c.Command(protocol.Clear{V: protocol.Version})
		c.Rest()
	}
	return why
}

// tooLarge reports whether the newest turn failed since the model can read no more.
func tooLarge(c *chatgen.Chat) bool {
	for _, commit := range slices.Backward(c.Commits) {
		for _, e := range commit.Events {
			if e, ok := e.(events.TurnFailed); ok {
				return e.Class == events.ClassContextTooLarge
			}
		}
	}
	return false
}

// endOf is the end of the turn that took an input; nil if none did, or has none.
func endOf(c *chatgen.Chat, input string) events.Event {
	turn := 0
	for _, commit := range c.Commits {
		for _, e := range commit.Events {
			switch e := e.(type) {
			case events.TurnStarted:
				if slices.Contains(e.Inputs, input) {
					turn = e.Turn
				}
			case events.InputSteered:
				if slices.Contains(e.Inputs, input) {
					turn = e.Step.Turn
				}
			case events.TurnCompleted:
				if turn != 0 && e.Turn == turn {
					return e
				}
			case events.TurnFailed:
				if turn != 0 && e.Turn == turn {
					return e
				}
			case events.TurnInterrupted:
				if turn != 0 && e.Turn == turn {
					return e
				}
			}
		}
	}
	return nil
}
