package replay_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/replay"
)

// Logs that v0.1.0 wrote, which denied each call that needed a person: what it
// decided is decided again, except where a turn begins today by other rules.
func TestLogsOfTheFirstReleaseReplayWithoutDifference(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/v0.1.0.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	chats := map[events.Key]*replay.History{}
	denied := 0
	for line := range bytes.SplitSeq(bytes.TrimSpace(b), []byte("\n")) {
		c, err := events.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range c.Events {
			if result, ok := e.(events.ToolCompleted); ok && result.Status == events.ToolDenied {
				denied++
			}
		}
		if chats[c.Key] == nil {
			chats[c.Key] = replay.New(replay.Options{})
		}
		chats[c.Key].Add(c.Rev, line)
	}
	for k, h := range chats {
		if h.Difference() != nil || h.Newer() != nil {
			t.Errorf("%s: difference %v, newer %v", k, h.Difference(), h.Newer())
		}
		if n := h.Counts(); n.Believed*2 > n.Commits {
			t.Errorf("%s: %d of %d commits are only believed", k, n.Believed, n.Commits)
		}
	}
	if len(chats) < 2 || denied < 2 {
		t.Errorf("%d chats, %d calls denied", len(chats), denied)
	}
}
