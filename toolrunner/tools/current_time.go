package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// CurrentTime tells the time of a clock, in any time zone the machine knows.
func CurrentTime(clock func() time.Time) toolrunner.Tool {
	return toolrunner.Func(protocol.Manifest{
		Name:        "current_time",
		Description: "Tells the current date and time. Use it whenever an answer depends on what day or time it is.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"zone": {
					"type": "string", "maxLength": 64,
					"description": "IANA name of the time zone, for example Europe/Berlin. Default: UTC."
				}
			},
			"additionalProperties": false
		}`),
		ReadOnly: true, Idempotent: true, Policy: events.PolicyAllow, TimeoutMS: readTimeout.Milliseconds(),
	}, func(_ context.Context, c toolrunner.Call) (toolrunner.Output, error) {
		var args struct {
			Zone string `json:"zone"`
		}
		if err := parse(c.Arguments, &args); err != nil {
			return toolrunner.Output{}, err
		}
		place, err := time.LoadLocation(args.Zone) // of "" it makes UTC
		if err != nil || args.Zone == "Local" {    // where the machine stands is nobody's business
			return toolrunner.Output{}, fmt.Errorf("zone %.64q is not known; use an IANA name such as Europe/Berlin", args.Zone)
		}
		now := clock().In(place)
		return toolrunner.Output{Text: now.Format("Monday, 2006-01-02T15:04:05Z07:00 (MST)")}, nil
	})
}
