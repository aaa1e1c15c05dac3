package system

import (
	"slices"

	"github.com/everturn/everturn/events"
)

// badAnswers are calls that cannot be run as the model wrote them.
func badAnswers() []badInput {
	return []badInput{
		{
			name:   "an unknown tool",
			script: toolThenText("      - call: {name: no_such_tool}"),
			bring: func(c *chat) {
				h := c.turn("go")
				says(c.T, "result", c.results(h, events.ToolNotFound), `no tool named "no_such_tool"`)
				says(c.T, "answer", h.finalText(), "no_such_tool") // the model was told
				c.notRun(h)
			},
		},
		{
			name:   "arguments that are empty",
			script: toolThenText("      - call: {name: ping, arguments: \"\"}\n      - call: {name: echo, arguments: \"\"}"),
			bring: func(c *chat) {
				h := c.turn("go")
				c.results(h, events.ToolInvalid, events.ToolOK) // by rule at once, then the runner's
				says(c.T, "result", textOf(all[events.ToolCompleted](h)[0].Parts), "missing property", "text")
				if ran := c.s.tools.of(c.key); len(ran) != 1 || ran[0].tool != "ping" || ran[0].arguments != "{}" {
					c.Errorf("ran: %+v", ran)
				}
			},
		},
		{
			name: "arguments that are cut off",
			script: toolThenText("      - call: {name: echo, arguments: '{\"text\": \"ab'}\n" +
				"      - call: {name: echo, arguments: '{\"text\": \"whole\"}'}\n      - stop: length"),
			bring: func(c *chat) {
				h := c.turn("go")
				says(c.T, "result", c.results(h, events.ToolInvalid, events.ToolInvalid), "cut off")
				c.notRun(h)
			},
		},
		{
			name:   "arguments that are no JSON",
			script: toolThenText("      - call: {name: echo, arguments: 'text=hello'}"),
			bring: func(c *chat) {
				h := c.turn("go")
				says(c.T, "result", c.results(h, events.ToolInvalid), "not valid JSON")
				c.notRun(h)
			},
		},
		{
			name: "arguments of a wrong type",
			script: toolThenText("      - call: {name: echo, arguments: '{\"text\": 7}'}\n" +
				"      - call: {name: echo, arguments: '[\"text\"]'}\n      - call: {name: echo, arguments: '{\"text\": \"a\", \"more\": 1}'}"),
			bring: func(c *chat) {
				h := c.turn("go")
				c.results(h, events.ToolInvalid, events.ToolInvalid, events.ToolInvalid)
				for i, words := range []string{"want string", "want object", "more"} {
					says(c.T, "result", textOf(all[events.ToolCompleted](h)[i].Parts), words)
				}
				c.notRun(h)
			},
		},
		{
			name:   "500 calls in a step",
			script: toolThenText("      - call: {name: ping, count: 500}"),
			bring: func(c *chat) {
				h := c.turn("go")
				failed := all[events.TurnFailed](h)
				if len(failed) != 1 || failed[0].Class != events.ClassTooManyCalls {
					c.Fatalf("turn failed %+v; the log is\n%s", failed, h)
				}
				says(c.T, "message", failed[0].Message, "500 calls", "128")
				c.results(h)
				c.notRun(h)
			},
		},
		{
			name: "call ids that repeat",
			script: toolThenText("      - call: {name: echo, id: same, arguments: '{\"text\": \"one\"}'}\n" +
				"      - call: {name: echo, id: same, arguments: '{\"text\": \"two\"}'}"),
			bring: func(c *chat) { c.bothRun() },
		},
		{
			name: "call ids that are missing",
			script: toolThenText("      - call: {name: echo, id: \"\", arguments: '{\"text\": \"one\"}'}\n" +
				"      - call: {name: echo, id: \"\", arguments: '{\"text\": \"two\"}'}"),
			bring: func(c *chat) { c.bothRun() },
		},
	}
}

// bothRun wants two calls of one step to run once each, and the model to see
// each result where it belongs.
func (c *chat) bothRun() {
	c.Helper()
	h := c.turn("go")
	c.results(h, events.ToolOK, events.ToolOK)
	if got, want := h.finalText(), "The tool said: one\ntwo"; got != want {
		c.Errorf("answer %q, want %q", got, want)
	}
	var arguments []string
	for _, r := range c.s.tools.of(c.key) {
		arguments = append(arguments, r.arguments)
	}
	slices.Sort(arguments)
	if want := []string{`{"text":"one"}`, `{"text":"two"}`}; !slices.Equal(arguments, want) {
		c.Errorf("ran with %q, want %q", arguments, want)
	}
}
