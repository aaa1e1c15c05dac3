package toolrunner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// A tool is a manifest and a function. The schema is strict, so that a model
// that makes up an argument is told, and the tool sees only what it knows.
func ExampleFunc() {
	shout := toolrunner.Func(protocol.Manifest{
		Name:        "shout",
		Description: "Says a text in capital letters.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {"text": {"type": "string", "maxLength": 1000}},
			"required": ["text"],
			"additionalProperties": false
		}`),
		ReadOnly:   true,
		Idempotent: true,
	}, func(_ context.Context, c toolrunner.Call) (toolrunner.Output, error) {
		var args struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(c.Arguments, &args); err != nil {
			return toolrunner.Output{}, err
		}
		return toolrunner.Output{Text: strings.ToUpper(args.Text)}, nil
	})

	out, err := shout.Run(context.Background(), toolrunner.Call{Arguments: json.RawMessage(`{"text":"hello"}`)})
	fmt.Println(out.Text, err)
	// Output: HELLO <nil>
}
