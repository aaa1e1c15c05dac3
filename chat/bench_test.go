package chat_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// longStory is a chat of that many one-tool turns of 4 KiB each.
func longStory(b *testing.B, turns int) *story {
	b.Helper()
	s := &story{t: b, at: noon}
	kb := strings.Repeat("0123456789abcdef", 64)
	s.command(protocol.Create{V: 1})
	for n := 1; n <= turns; n++ {
		s.send(kb)
		s.answer(events.Text(kb), call("look", "{}"))
		s.bareResult(id(n, 1, 1), events.ToolOK, kb)
		s.answer(events.Text(kb))
	}
	return s
}

// BenchmarkDecideSend is the cost of a decision that shows the model a long
// chat: its prompt is hashed.
func BenchmarkDecideSend(b *testing.B) {
	for _, turns := range []int{2, 200} {
		b.Run(map[int]string{2: "turn=2", 200: "turn=200"}[turns], func(b *testing.B) {
			s := longStory(b, turns)
			m := chat.Command{ID: "next", Sequence: 1 << 20, Body: protocol.Send{V: 1, Parts: []events.Part{events.Text("hi")}}}
			l := live()
			b.ReportAllocs()
			for b.Loop() {
				if d := chat.Handle(s.state, m, noon, l); len(d.Events) != 3 {
					b.Fatalf("events %v", types(d.Events))
				}
			}
		})
	}
}

// BenchmarkFold is the cost of making the state of a chat of one-tool turns from
// the bytes of its log.
func BenchmarkFold(b *testing.B) {
	s := longStory(b, 250)
	encoded := make([][]byte, len(s.log))
	list := 0
	for i, c := range s.log {
		bytes, err := events.Encode(c)
		if err != nil {
			b.Fatal(err)
		}
		encoded[i] = bytes
		list += len(c.Events)
	}
	b.ReportAllocs()
	for b.Loop() {
		var state chat.State
		for _, bytes := range encoded {
			c, err := events.Decode(bytes)
			if err != nil {
				b.Fatal(err)
			}
			state = state.Apply(c, events.Hash(bytes))
		}
	}
	b.ReportMetric(float64(list)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkSnapshot is the cost of keeping a state and of getting it back.
func BenchmarkSnapshot(b *testing.B) {
	s := longStory(b, 250).state
	encoded, err := chat.Encode(s)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(encoded)))
		for b.Loop() {
			if _, err := chat.Encode(s); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(encoded)))
		for b.Loop() {
			if _, err := chat.Decode(encoded); err != nil {
				b.Fatal(err)
			}
		}
	})
}
