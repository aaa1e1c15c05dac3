package system

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// ugly is a NUL, bytes that are no UTF-8, and the order that clears a terminal;
// mended is what is kept of it.
const (
	ugly   = "a\x00b\xe2M\xff\x1b[2Jc"
	mended = "a\uFFFDb\uFFFDM\uFFFD\uFFFD[2Jc"
)

// badBytes are NUL and broken UTF-8 wherever text can be.
func badBytes() []badInput {
	return []badInput{
		{name: "NUL and broken UTF-8 in a user's text", bring: func(c *chat) {
			// JSON has a way to write NUL; broken bytes stand in it as they are.
			body := `{"v":1,"parts":[{"type":"text","text":"a\u0000b` + "\xe2M\xff" + `\u001b[2Jc"}]}`
			_, outcome := c.raw("send", nil, []byte(body))
			c.ended(outcome().Turn)
			c.reads(mended, "You wrote: "+mended)
		}},
		{
			name:   "NUL and broken UTF-8 in a model's text",
			script: fmt.Sprintf("rules:\n  - answer:\n      - reasoning_hex: %q\n      - text_hex: %q\n", digits(ugly), digits(ugly)),
			bring: func(c *chat) {
				c.turn("go")
				c.reads("go", mended)
			},
		},
		{
			name:   "NUL and broken UTF-8 in a tool's result",
			script: toolThenText("      - call: {name: bytes, arguments: '{\"text\": \"" + digits(ugly) + "\"}'}"),
			bring: func(c *chat) {
				says(c.T, "result", c.results(c.turn("go"), events.ToolOK), mended)
				c.reads("go", "", "The tool said: "+mended)
			},
		},
		{
			name: "NUL and broken UTF-8 in arguments",
			script: toolThenText("      - call: {name: echo, arguments_hex: \"" + digits(`{"text": "`+ugly+`"}`) + "\"}\n" +
				"      - call: {name: echo, arguments: '{\"text\": \"a\\u0000b\"}'}\n" +
				"      - call: {name: echo, arguments_hex: \"" + digits("{\"text\": \"M\xff\"}") + "\"}"),
			bring: func(c *chat) {
				h := c.turn("go")
				// Raw control characters are no JSON. Written as JSON writes them
				// they are the tool's to judge. Broken UTF-8 was mended before.
				c.results(h, events.ToolInvalid, events.ToolOK, events.ToolOK)
				says(c.T, "answer", h.finalText(), "not valid JSON", "a\uFFFDb", "M\uFFFD")
			},
		},
		{
			name: "NUL and broken UTF-8 in a JSON key",
			script: toolThenText("      - call: {name: echo, arguments: '{\"text\": \"a\", \"k\\u0000y\": 1}'}\n" +
				"      - call: {name: echo, arguments_hex: \"" + digits("{\"text\": \"a\", \"k\xffy\": 1}") + "\"}"),
			bring: func(c *chat) {
				c.answered("rename", nil, `{"v":1,"title":"a","k\u0000y":1}`, events.CodeBadCommand, "unknown field")
				c.answered("rename", nil, "{\"v\":1,\"title\":\"a\",\"k\xffy\":1}", events.CodeBadCommand, "unknown field")
				h := c.turn("go")
				says(c.T, "result", c.results(h, events.ToolInvalid, events.ToolInvalid), "k\uFFFDy")
				c.notRun(h)
			},
		},
		{name: "NUL and broken UTF-8 in a title", bring: func(c *chat) {
			_, outcome := c.raw("rename", nil, []byte(`{"v":1,"title":"a\u0000b`+"\xff"+`"}`))
			if r := outcome(); !r.OK {
				c.Errorf("reply %+v", r)
			}
			if got, want := c.transcript().Title, "a\uFFFDb\uFFFD"; got != want {
				c.Errorf("title %q, want %q", got, want)
			}
		}},
		{name: "NUL and broken UTF-8 in the header By", bring: func(c *chat) {
			by := nats.Header{protocol.HeaderBy: {"user:\x00\xff"}}
			_, outcome := c.raw("rename", by, []byte(`{"v":1,"title":"a"}`))
			if r := outcome(); !r.OK {
				c.Errorf("reply %+v", r)
			}
			titled := all[events.ChatTitled](c.read())
			if got, want := titled[len(titled)-1].By, "user:\uFFFD\uFFFD"; got != want {
				c.Errorf("by %q, want %q", got, want)
			}
			long := nats.Header{protocol.HeaderBy: {strings.Repeat("a", 257)}}
			c.answered("rename", long, `{"v":1,"title":"b"}`, events.CodeBadCommand, "at most 256 bytes")
		}},
	}
}

// digits are bytes as a script writes them.
func digits(raw string) string { return hex.EncodeToString([]byte(raw)) }

// reads wants a transcript of these messages, in the same words as the log.
func (c *chat) reads(want ...string) {
	c.Helper()
	messages := c.transcript().Messages
	if len(messages) != len(want) {
		c.Fatalf("%d messages, want %d", len(messages), len(want))
	}
	for i, m := range messages {
		var text strings.Builder
		for _, p := range m.Parts {
			if p.Type == events.PartText {
				text.WriteString(p.Text)
			}
		}
		if text.String() != want[i] {
			c.Errorf("message %d is %q, want %q", m.N, text.String(), want[i])
		}
	}
}
