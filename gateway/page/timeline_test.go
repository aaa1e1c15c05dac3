package page

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/transcript"
)

// At a rev of a long chat stands what was said last before it, and the commit that is
// looked at in whole; of the others only what kind they are.
func TestATimelineShowsTheEndOfALongChat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.page = saidPage(3, transcript.StatusIdle, append(slices.Repeat([]string{"hello"}, 3*showFirst), "the newest")...)
	commits := transcript.Commits{Chat: "c1", Rev: 3}
	for rev, title := range []string{"first", "second", "third"} {
		c := events.Commit{ID: "x", Key: events.Key{Tenant: "acme", Chat: "c1"}, Rev: uint64(rev + 1), At: 1, Cause: events.Cause{Kind: events.CausedByCommand, ID: "x"}, Events: []events.Event{events.ChatTitled{Title: title}}}
		b, err := events.Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		commits.Commits = append(commits.Commits, b)
	}
	commits.Commits[2] = json.RawMessage(`{"v":99}`) // of a newer release
	r.answers[transcript.QueryCommits] = commits
	resp, body := r.get("/c/c1/timeline?rev=2")
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, "the newest") || strings.Contains(body, `id="m-1"`) {
		t.Errorf("got %d without the end, or with the beginning", resp.StatusCode)
	}
	if !strings.Contains(body, "second") || strings.Contains(body, "first") || strings.Count(body, "chat.titled.v1") != 3 {
		t.Error("another commit is looked at")
	}
	for _, link := range []string{"rev=1\"", "rev=3\""} {
		if !strings.Contains(body, "/c/c1/timeline?look=chat&amp;"+link) {
			t.Errorf("nothing leads to %s", link)
		}
	}
}
