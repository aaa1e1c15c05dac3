package system

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// A chat whose model is being asked is forked at two places. The forks go on in
// another process, which has to read what they go on from; and so does a fork of
// a fork.
//
// Rule: S13.
func TestForksGoOnWhereNothingIsRemembered(t *testing.T) {
	t.Parallel()
	s := newSystem(t, options{})
	s.startProjections()
	first := s.startOrchestrator(nil)
	c := s.chat(t, scripted(t, plain))
	long := strings.Repeat("long ", events.MaxInlineBytes/4)
	c.turn(long)
	ended := uint64(len(c.read().commits))
	c.turn("two")

	fork := func(of *chat, rev uint64) *chat {
		t.Helper()
		f := s.again(t, "fork-"+of.key.Chat+"-"+map[bool]string{true: "early", false: "late"}[rev > 0], scripted(t, plain))
		f.do(protocol.Fork{V: protocol.Version, Chat: of.key.Chat, Rev: rev})
		f.do(protocol.Configure{V: protocol.Version, Settings: events.Settings{Model: f.key.Chat}})
		return f
	}
	early, late := fork(c, ended), fork(c, 0)
	first.halt()
	s.purged("KV_SNAPSHOTS", "$KV.SNAPSHOTS.>")
	s.startOrchestrator(nil)
	second := fork(late, 0)
	for _, f := range []*chat{early, late, second} {
		turn := f.do(send("and now?")).Turn
		f.until("its turn has ended", func(h history) bool { // those before it are not in its own log
			ends := all[events.TurnCompleted](h)
			return len(ends) > 0 && ends[len(ends)-1].Turn == turn
		})
		f.judge()
	}
	for f, messages := range map[*chat]int{early: 4, late: 6, second: 6} {
		got := f.transcript()
		if n := len(got.Messages); n != messages || got.Messages[0].Parts[0].Text != long || got.Messages[n-1].Parts[0].Text != "You wrote: and now?" {
			t.Errorf("chat %s has %d messages, want %d", f.key.Chat, n, messages)
		}
	}
	c.turn("three")
	c.judge()
}
