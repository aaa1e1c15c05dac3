package main

import (
	"bufio"
	"io"
	"log/slog"
	"strings"
	"testing"
)

func TestWhatAHostWritesThatIsNoMessageIsSkippedAndTheRestIsHeard(t *testing.T) {
	t.Parallel()
	const one = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n"
	const two = `[{"jsonrpc":"2.0","id":2,"method":"ping"}]` + "\n"
	const last = `{"jsonrpc":"2.0","id":3,"method":"ping"}`
	var log strings.Builder
	h := &hostLines{
		from: bufio.NewReaderSize(strings.NewReader("not json\n"+one+"\n{}\n7\n[1\n"+two+"\"secret\n"+last), 16),
		log:  slog.New(slog.NewTextHandler(&log, nil)),
	}
	if got, err := io.ReadAll(h); err != nil || string(got) != one+two+last {
		t.Errorf("got %q, %v", got, err)
	}
	if n := strings.Count(log.String(), "is skipped"); n != 5 || strings.Contains(log.String(), "secret") {
		t.Errorf("%d lines are told of:\n%s", n, log.String())
	}
	long := &hostLines{from: bufio.NewReader(strings.NewReader(strings.Repeat("a", maxHostLineBytes+1))), log: slog.New(slog.DiscardHandler)}
	if _, err := io.ReadAll(long); err == nil || !strings.Contains(err.Error(), "more than 16 MiB") {
		t.Errorf("of a line without an end it says %v", err)
	}
}
