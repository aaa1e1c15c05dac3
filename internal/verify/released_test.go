package verify_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// Logs that v0.1.0 wrote, which denied each call that needed a person.
func TestLogsOfTheFirstReleaseAreLegal(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../replay/testdata/v0.1.0.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	checker := verify.New(verify.Options{Shards: shards, Schema: schema})
	for i, line := range bytes.Split(bytes.TrimSpace(b), []byte("\n")) {
		c, err := events.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		checker.Add(verify.Entry{Subject: protocol.LogSubject(protocol.Shard(c.Key, shards), c.Key), Sequence: uint64(i + 1), Commit: line})
	}
	for _, v := range checker.Finish(nil) {
		t.Errorf("%s", v)
	}
}
