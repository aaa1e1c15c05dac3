//go:build processes

package runners

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// bothTools is a turn that calls both tools at once.
const bothTools = `
rules:
  - when: {input: "which tools"}
    answer: [{text: "None is needed."}]
  - when: {step: 1}
    answer:
      - call: {name: save_note, arguments: '{"text": "{{input}}", "seconds": 2}'}
      - call: {name: add_to_journal, arguments: '{"text": "{{input}}", "seconds": 2}'}
  - answer: [{text: "Done: {{input}}"}]
`

const (
	turnsAtOnce = 12
	heldAtOnce  = 2 // calls that a runner has begun when it is killed
)

// Runners in several languages serve one group. One is killed in the middle of its
// calls: those that may run again do so elsewhere, the others are known to be
// unknown, and nothing happens twice.
func TestRunnersOfSeveralLanguagesShareAGroup(t *testing.T) {
	t.Parallel()
	others := languages(t)
	for _, killed := range others {
		t.Run(killed, func(t *testing.T) {
			t.Parallel()
			in := install(t, bothTools)
			in.runner("go", manifests)
			var victim *process
			for _, language := range others {
				if p := in.runner(language, manifests); language == killed {
					victim = p
				}
			}
			in.toolsOnOffer()
			var chats []events.Key
			for n := range turnsAtOnce {
				chats = append(chats, in.say(fmt.Sprint("number ", n)))
			}
			in.until("calls in hand of the one to be killed", func() bool { return in.inHand(chats, killed) >= heldAtOnce })
			in.kill(victim)
			for _, k := range chats {
				in.until("the end of a turn", func() bool { return ended(in.read(k)) })
			}
			in.judge(chats, killed)
			in.verify()
		})
	}
}

// by reports whether a process has a runner of that language in it.
func by(process, language string) bool { return strings.HasPrefix(process, group+"."+language+"-") }

// inHand is how many calls a runner of that language has begun and not reported.
func (in *installation) inHand(chats []events.Key, language string) int {
	in.t.Helper()
	n := 0
	for _, k := range chats {
		all := in.read(k)
		for _, e := range every[events.ToolStarted](all) {
			if by(e.Runner, language) && len(every[events.ToolCompleted](all)) == 0 {
				n++
			}
		}
	}
	return n
}

// judge compares results with effects, after a runner of a language was killed.
func (in *installation) judge(chats []events.Key, killed string) {
	in.t.Helper()
	journal, again, unknown := in.journal(), 0, 0
	reported := map[string]int{}
	for _, k := range chats {
		all := in.read(k)
		requested := map[events.CallID]events.ToolRequested{}
		started := map[events.CallID]events.ToolStarted{}
		for _, e := range every[events.ToolRequested](all) {
			requested[e.Call] = e
		}
		for _, e := range every[events.ToolStarted](all) {
			started[e.Call] = e
		}
		for _, e := range every[events.ToolCompleted](all) {
			asked := requested[e.Call]
			language, _, named := strings.Cut(strings.TrimPrefix(e.Runner, group+"."), "-")
			if !named {
				language = "go"
			}
			reported[language]++
			switch {
			case asked.Tool == "save_note" && e.Status != events.ToolOK:
				in.t.Errorf("%s: a note that may be saved again is %s", k, e.Status)
			case asked.Tool == "save_note":
				if _, err := os.Stat(in.path("notes/" + asked.Key + ".txt")); err != nil {
					in.t.Errorf("%s: a note is said to be saved: %v", k, err)
				}
				if _, twice := started[e.Call]; twice {
					again++
				}
			case e.Status == events.ToolOK && journal[asked.Key] != 1:
				in.t.Errorf("%s: a line that is said to be in the journal is there %d times", k, journal[asked.Key])
			case e.Status == events.ToolUnknown && by(started[e.Call].Runner, killed):
				unknown++
			case e.Status != events.ToolOK:
				in.t.Errorf("%s: a line of the journal, begun by %s, is %s", k, started[e.Call].Runner, e.Status)
			}
		}
	}
	for key, lines := range journal {
		if lines > 1 {
			in.t.Errorf("the line of %s is in the journal %d times", key, lines)
		}
	}
	if unknown == 0 || again == 0 {
		in.t.Errorf("%d calls are unknown and %d ran again: the kill hit nothing", unknown, again)
	}
	in.t.Logf("%d turns, results by %v, ran again %d, unknown %d", len(chats), reported, again, unknown)
}

// longCalls is a turn whose call would take a minute.
const longCalls = `
rules:
  - when: {input: "which tools"}
    answer: [{text: "None is needed."}]
  - when: {input: "long", step: 1}
    answer:
      - call: {name: add_to_journal, arguments: '{"text": "{{input}}", "seconds": 60}'}
  - when: {step: 1}
    answer:
      - call: {name: save_note, arguments: '{"text": "{{input}}", "seconds": 1}'}
  - answer: [{text: "Done: {{result}}"}]
`

// cancelTime is from an interrupt to the result of a call that is told to stop.
// Without a word from its runner the turn would end after [events.Grant] and
// [events.Skew].
const cancelTime = 2 * time.Second

// An interrupt reaches a running call, the runner says what became of it, and goes
// on with others; told to end, it finishes what it has.
func TestARunnerInAnotherLanguageStopsWhenToldTo(t *testing.T) {
	t.Parallel()
	for _, language := range languages(t) {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			in := install(t, longCalls)
			p := in.runner(language, manifests)
			in.toolsOnOffer()
			k := in.say("a long one")
			in.until("its line", func() bool { return len(in.journal()) == 1 })
			began := time.Now()
			if _, err := in.cl.Interrupt(in.patient(), k.Chat, 0, "not wanted"); err != nil {
				t.Fatal(err)
			}
			in.until("the end of the turn", func() bool { return ended(in.read(k)) })
			took := time.Since(began)
			done := every[events.ToolCompleted](in.read(k))
			if len(done) != 1 || done[0].Status != events.ToolUnknown || !by(done[0].Runner, language) || took > cancelTime {
				t.Errorf("after %v the call is %+v, want unknown from its runner within %v", took, done, cancelTime)
			}
			t.Logf("the turn has ended %v after the interrupt", took)

			k = in.say("a short one")
			in.until("a call in hand", func() bool { return len(every[events.ToolRequested](in.read(k))) == 1 })
			in.until("a delivery", func() bool { return in.queue().NumAckPending == 1 })
			in.terminate(p)
			in.until("the end of the turn", func() bool { return ended(in.read(k)) })
			if done := every[events.ToolCompleted](in.read(k)); len(done) != 1 || done[0].Status != events.ToolOK || !by(done[0].Runner, language) {
				t.Errorf("the call that was in hand is %+v, want it finished", done)
			}
			in.verify()
		})
	}
}

// queue is the state of the group's queue.
func (in *installation) queue() *jetstream.ConsumerInfo {
	in.t.Helper()
	js, err := jetstream.New(in.connect("operator"))
	if err != nil {
		in.t.Fatal(err)
	}
	c, err := js.Consumer(in.patient(), streams.WorkStream, streams.ToolConsumer(group))
	if err != nil {
		in.t.Fatal(err)
	}
	return c.CachedInfo()
}

// A runner with another manifest than the turn was begun with leaves the call to one
// that has it.
func TestARunnerInAnotherLanguageLeavesWhatItDoesNotHave(t *testing.T) {
	t.Parallel()
	for _, language := range languages(t) {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			in := install(t, longCalls)
			known := in.runner("go", manifests)
			in.toolsOnOffer()
			in.terminate(known)
			k := in.say("a short one")
			in.until("the call", func() bool { return len(every[events.ToolRequested](in.read(k))) == 1 })

			other := in.runner(language, in.changed())
			in.until("the call given back", func() bool { return in.queue().NumRedelivered > 0 })
			if done := every[events.ToolCompleted](in.read(k)); len(done) > 0 {
				t.Errorf("it was answered: %+v", done)
			}
			in.runner("go", manifests)
			in.until("the end of the turn", func() bool { return ended(in.read(k)) })
			if done := every[events.ToolCompleted](in.read(k)); len(done) != 1 || done[0].Status != events.ToolOK || by(done[0].Runner, language) {
				t.Errorf("the call is %+v, want it done by the one that has its manifest", done)
			}
			in.terminate(other)
			in.verify()
		})
	}
}

// changed is a file of manifests with other descriptions.
func (in *installation) changed() string {
	in.t.Helper()
	content, err := os.ReadFile(manifests)
	if err != nil {
		in.t.Fatal(err)
	}
	var all []protocol.Manifest
	if err := json.Unmarshal(content, &all); err != nil {
		in.t.Fatal(err)
	}
	for i := range all {
		all[i].Description += " Now better."
	}
	content, err = json.Marshal(all)
	if err != nil {
		in.t.Fatal(err)
	}
	file := filepath.Join(in.dir, "changed.json")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		in.t.Fatal(err)
	}
	return file
}
