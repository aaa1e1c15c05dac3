package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// maxWaitMS bounds one wait.
const maxWaitMS = 60_000

// Wait is a tool for tests: it does nothing for a while, which leaves time to
// kill a process in the middle of a call that may run again.
func Wait() toolrunner.Tool {
	return toolrunner.Func(protocol.Manifest{
		Name:        "wait",
		Description: "Does nothing for a number of milliseconds. Meant for tests.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {"ms": {"type": "integer", "minimum": 0, "maximum": 60000, "description": "How long."}},
			"required": ["ms"],
			"additionalProperties": false
		}`),
		ReadOnly: true, Idempotent: true, Policy: events.PolicyAllow,
	}, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
		var args struct {
			MS int64 `json:"ms"`
		}
		if err := parse(c.Arguments, &args); err != nil {
			return toolrunner.Output{}, err
		}
		if args.MS < 0 || args.MS > maxWaitMS {
			return toolrunner.Output{}, fmt.Errorf("ms goes from 0 to %d", maxWaitMS)
		}
		if err := wait(ctx, args.MS); err != nil {
			return toolrunner.Output{}, err
		}
		return toolrunner.Output{Text: fmt.Sprintf("Waited %d ms.", args.MS)}, nil
	})
}
