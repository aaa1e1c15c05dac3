package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/payments"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

const (
	price = 1200

	payTimeout  = time.Minute // longer than anything takes that a test does to a call
	workTimeout = time.Hour
	workReports = time.Second
)

// pay is a tool that pays once for its call, or, where its service knows no keys,
// once for each time it is run.
func pay(name, url string, idempotent bool) toolrunner.Tool {
	return toolrunner.Func(protocol.Manifest{
		Name: name, Description: "Pays for a reference.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {"reference": {"type": "string"}},
			"required": ["reference"],
			"additionalProperties": false
		}`),
		Idempotent: idempotent, Policy: events.PolicyAllow, TimeoutMS: payTimeout.Milliseconds(),
	}, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
		var args struct {
			Reference string `json:"reference"`
		}
		if err := json.Unmarshal(c.Arguments, &args); err != nil {
			return toolrunner.Output{}, fmt.Errorf("arguments: %w", err)
		}
		receipt, err := payments.Pay(ctx, client(), url, c.Key, payments.Payment{Reference: args.Reference, Amount: price})
		if err != nil {
			return toolrunner.Output{}, err
		}
		return toolrunner.Output{Text: "Paid: " + receipt.ID}, nil
	})
}

// work is a tool that takes as long as it is told and says all the time how far it
// is. It pays when it begins and when it ends, which shows how often it was run.
func work(name, url string, idempotent bool) toolrunner.Tool {
	return toolrunner.Func(protocol.Manifest{
		Name: name, Description: "Works for a number of milliseconds.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {"reference": {"type": "string"}, "ms": {"type": "integer"}},
			"required": ["reference", "ms"],
			"additionalProperties": false
		}`),
		Idempotent: idempotent, Policy: events.PolicyAllow, TimeoutMS: workTimeout.Milliseconds(),
	}, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
		var args struct {
			Reference string `json:"reference"`
			MS        int64  `json:"ms"`
		}
		if err := json.Unmarshal(c.Arguments, &args); err != nil {
			return toolrunner.Output{}, fmt.Errorf("arguments: %w", err)
		}
		mark := func(what string) error {
			_, err := payments.Pay(ctx, client(), url, c.Key, payments.Payment{Reference: args.Reference + what, Amount: price})
			return err
		}
		if err := mark(", begun"); err != nil {
			return toolrunner.Output{}, err
		}
		if err := toil(ctx, time.Duration(args.MS)*time.Millisecond, c.Progress); err != nil {
			return toolrunner.Output{}, err
		}
		if err := mark(", done"); err != nil {
			return toolrunner.Output{}, err
		}
		return toolrunner.Output{Text: "Worked."}, nil
	})
}

// toil takes d and tells now and then how many milliseconds it has taken.
func toil(ctx context.Context, d time.Duration, progress func(string)) error {
	began := time.Now()
	done := time.NewTimer(d)
	defer done.Stop()
	tell := time.NewTicker(workReports)
	defer tell.Stop()
	for {
		select {
		case <-tell.C:
			progress(fmt.Sprint(time.Since(began).Milliseconds()))
		case <-done.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
