package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// Times of the ledger tool.
const (
	ledgerTimeout   = 5 * time.Second
	maxLedgerWaitMS = 60_000
)

// LedgerLine is what one effect leaves.
type LedgerLine struct {
	Tenant string        `json:"tenant"`
	Chat   string        `json:"chat"`
	Call   events.CallID `json:"call"`
	Key    string        `json:"key"`
	Text   string        `json:"text"`
}

// AppendLedger is a tool for tests: it appends a line to the file at path, and
// a second line if it is run twice. Its manifest says that this must not
// happen, so the file shows whether everybody kept to that. The delays leave
// time to kill a process right before the effect, or right after it.
func AppendLedger(path string) toolrunner.Tool {
	return toolrunner.Func(protocol.Manifest{
		Name:        "append_ledger",
		Description: "Appends a line to the ledger. Meant for tests: each run leaves exactly one line.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"text": {"type": "string", "maxLength": 10000, "description": "What to write."},
				"delay_ms": {"type": "integer", "minimum": 0, "maximum": 60000, "description": "Wait before writing."},
				"linger_ms": {"type": "integer", "minimum": 0, "maximum": 60000, "description": "Wait after writing."}
			},
			"required": ["text"],
			"additionalProperties": false
		}`),
		Policy: events.PolicyAllow, TimeoutMS: ledgerTimeout.Milliseconds(),
	}, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
		var args struct {
			Text     string `json:"text"`
			DelayMS  int64  `json:"delay_ms"`
			LingerMS int64  `json:"linger_ms"`
		}
		if err := parse(c.Arguments, &args); err != nil {
			return toolrunner.Output{}, err
		}
		if min(args.DelayMS, args.LingerMS) < 0 || max(args.DelayMS, args.LingerMS) > maxLedgerWaitMS {
			return toolrunner.Output{}, fmt.Errorf("delay_ms and linger_ms go from 0 to %d", maxLedgerWaitMS)
		}
		if err := wait(ctx, args.DelayMS); err != nil {
			return toolrunner.Output{}, err
		}
		line := LedgerLine{Tenant: c.Chat.Tenant, Chat: c.Chat.Chat, Call: c.ID, Key: c.Key, Text: args.Text}
		if err := appendLine(path, line); err != nil {
			return toolrunner.Output{}, err
		}
		c.Progress("written")
		if err := wait(ctx, args.LingerMS); err != nil {
			return toolrunner.Output{}, err
		}
		return toolrunner.Output{Text: "Written to the ledger."}, nil
	})
}

func wait(ctx context.Context, ms int64) error {
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// appendLine writes the line with one write, so that lines of several processes
// do not mix, and returns when it is on the disk.
func appendLine(path string, line LedgerLine) (err error) {
	b, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// ReadLedger gives the lines of the ledger at path, none if there is no file.
// A line that a crash cut short is an error.
func ReadLedger(path string) ([]LedgerLine, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	var lines []LedgerLine
	for b := range bytes.Lines(content) {
		var line LedgerLine
		if err := json.Unmarshal(b, &line); err != nil {
			return nil, fmt.Errorf("ledger: line %d: %w", len(lines)+1, err)
		}
		lines = append(lines, line)
	}
	return lines, nil
}
