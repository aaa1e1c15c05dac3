package system

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/streams"
)

// slowly is a model that takes its time, so that much can happen meanwhile.
const slowly = `
rules:
  - when: {input: "Are you still there?"}
    answer: [{text: "I am still here."}]
  - when: {step: 1}
    answer: [{text: "let me "}, {pause: 300ms}, {text: "see"}, {call: {name: repeatable, arguments: '{"text": "seen"}'}}]
  - answer: [{text: "The tool "}, {pause: 300ms}, {text: "said: {{result}}"}]
`

// What follows from the log may go at any moment: when it has been set up again,
// every chat ends as it would have ended.
func TestDerivedStreamsMayBeDeletedWhileChatsRun(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{
		{streams.WorkStream},
		{streams.TimersStream},
		{streams.FeedStream},
		{"KV_SNAPSHOTS"},
		{streams.WorkStream, streams.TimersStream, streams.FeedStream, "KV_SNAPSHOTS"},
	} {
		name := names[0]
		if len(names) > 1 {
			name = "all of them"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := running(t, options{})
			var chats []*chat
			for range 4 {
				c := s.chat(t, scripted(t, slowly))
				c.do(send("Look."))
				chats = append(chats, c)
			}
			chats[0].until("a step was requested", func(h history) bool { return len(all[events.StepRequested](h)) > 0 })
			chats[1].until("a tool was requested", func(h history) bool { return len(all[events.ToolRequested](h)) > 0 })
			s.deleted(names)
			s.apply()
			for _, c := range chats {
				if got := c.ended(1).finalText(); got != "The tool said: seen" {
					c.Errorf("the answer is %q", got)
				}
				c.stillWorks()
			}
		})
	}
}

// deleted removes streams with all that is in them.
func (s *system) deleted(names []string) {
	s.Helper()
	js, err := jetstream.New(s.nc)
	if err != nil {
		s.Fatal(err)
	}
	for _, name := range names {
		if err := js.DeleteStream(s.Context(), name); err != nil {
			s.Fatal(err)
		}
	}
}

// apply sets the streams up as an operator does.
func (s *system) apply() {
	s.Helper()
	topology, err := streams.LoadTopology("")
	if err != nil {
		s.Fatal(err)
	}
	js, err := jetstream.New(s.nc)
	if err != nil {
		s.Fatal(err)
	}
	s.untilItWorks("apply the topology", func() error {
		_, err := topology.Apply(s.Context(), js, streams.ApplyOptions{AckWait: s.options.ackWait})
		return err
	})
}

// COMMANDS does not follow from the log: what is stored in it goes with it. But
// what comes afterwards takes effect, although the log knows higher numbers than
// a queue that is made anew would begin with.
func TestCommandsTakeEffectAfterTheirStreamWasDeleted(t *testing.T) {
	t.Parallel()
	s := newSystem(t, options{})
	s.startProjections()
	t.Cleanup(s.nothingIsLeft)
	deciding := s.startOrchestrator(nil)
	s.startRunner(nil)
	var chats []*chat
	for range 3 {
		c := s.chat(t, scripted(t, plain))
		c.stillWorks()
		chats = append(chats, c)
	}
	deciding.halt()
	s.deleted([]string{streams.CommandsStream})
	s.startOrchestrator(nil)
	for _, c := range chats {
		for range 3 {
			c.stillWorks()
		}
	}
	s.chat(t, scripted(t, plain)).stillWorks()
}
