package events_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
)

// toolTurns is a chat of that many turns, each of a call and of texts of 1 KiB.
func toolTurns(turns int) *chatgen.Chat {
	c := chatgen.New(events.Key{Tenant: "acme", Chat: "01KB6Q3Z8V0000000000000000"})
	kb := strings.Repeat("A line of text, \"quoted\" here and there, as most answers are.\n", 16)
	c.Create(events.Settings{})
	for n := range turns {
		call := events.CallID{Turn: n + 1, Step: 1, Ordinal: 1}
		c.Send(kb)
		c.Answer(events.Text(kb), chatgen.Call(chatgen.ToolCount, chatgen.ArgumentsValid))
		c.Result(call, events.ToolOK, kb)
		c.Answer(events.Text(kb))
	}
	return c
}

// perEvent reports the pace of a benchmark that goes through all commits.
func perEvent(b *testing.B, commits []events.Commit) {
	b.Helper()
	list := 0
	for _, c := range commits {
		list += len(c.Events)
	}
	b.ReportMetric(float64(list)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkEncode(b *testing.B) {
	c := toolTurns(50)
	b.ReportAllocs()
	for b.Loop() {
		for _, commit := range c.Commits {
			if _, err := events.Encode(commit); err != nil {
				b.Fatal(err)
			}
		}
	}
	perEvent(b, c.Commits)
}

func BenchmarkDecode(b *testing.B) {
	c := toolTurns(50)
	b.ReportAllocs()
	for b.Loop() {
		for _, bytes := range c.Bytes {
			if _, err := events.Decode(bytes); err != nil {
				b.Fatal(err)
			}
		}
	}
	perEvent(b, c.Commits)
}
