package recordings_test

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/internal/recordings"
	"github.com/everturn/everturn/internal/recordings/oracle"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// runner is a runner that leaves nothing: no connection, no goroutine.
func runner(t *testing.T) *recordings.Runner {
	t.Helper()
	before := goleak.IgnoreCurrent()
	server := recordings.NewServer()
	transport := &http.Transport{MaxIdleConnsPerHost: idleConnections}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close() // waits for all that is open
		if n := server.Open(); n > 0 {
			t.Errorf("%d connections are still open", n)
		}
		if err := goleak.Find(before); err != nil {
			t.Error(err)
		}
	})
	return &recordings.Runner{Server: server, Transport: transport}
}

const idleConnections = 16

// play plays recordings, and fails for whatever must never happen.
func play(t *testing.T, list []recordings.Recording) recordings.Report {
	t.Helper()
	report := runner(t).Run(t.Context(), list, 2*runtime.GOMAXPROCS(0))
	for _, v := range report.Violations {
		t.Errorf("must not be: %s", v)
	}
	return report
}

// small is the set in testdata: written by hand, of every kind of thing that a
// stream can hold. Its files are named format-what.sse.
func small(t *testing.T) []recordings.Recording {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "*.sse"))
	if err != nil {
		t.Fatal(err)
	}
	var list []recordings.Recording
	for _, name := range names {
		body, err := os.ReadFile(filepath.Clean(name))
		if err != nil {
			t.Fatal(err)
		}
		id := strings.TrimSuffix(filepath.Base(name), ".sse")
		format, _, _ := strings.Cut(id, "-")
		list = append(list, recordings.Recording{ID: id, Kind: format + "-stream", Status: http.StatusOK, Body: string(body)})
	}
	return list
}

// The small set, in every way of delivery.
func TestSmallSet(t *testing.T) { //nolint:paralleltest // it looks for goroutines that are left
	list := small(t)
	if len(list) < len(readings) {
		t.Fatalf("only %d streams", len(list))
	}
	report := play(t, list)
	for _, d := range report.Disagreements {
		t.Errorf("otherwise than the oracle: %s", d)
	}
	for way, tally := range maps.All(report.Tallies) {
		if tally.Plays == 0 {
			t.Errorf("nothing was played %s", way)
		}
	}
}

// readings are what the oracle has to say of the small set: it is judged, too.
var readings = map[string]oracle.Reading{
	"anthropic-text": {
		Whole: true, Reports: []string{`{"input_tokens":20,"output_tokens":1,"cache_read_input_tokens":5,"cache_creation_input_tokens":3}`, `{"output_tokens":9}`}, Text: "Grüße aus 北京 🌍.", Stop: "end_turn", Usage: oracle.Usage{Input: 20, Output: 9, CacheRead: 5, CacheWrite: 3},
	},
	"anthropic-calls": {
		Whole: true, Reports: []string{`{"input_tokens":31,"output_tokens":1}`, `{"output_tokens":44,"output_tokens_details":{"thinking_tokens":12}}`}, Thought: "Two looks will do.", Text: "Let me see.", Stop: "tool_use", Usage: oracle.Usage{Input: 31, Output: 44, Thought: 12},
		Calls: []oracle.Call{
			{ID: "toolu_01", Name: "look", Arguments: `{"place": "roof", "deep": true}`},
			{ID: "toolu_02", Name: "wait", Arguments: `{}`},
		},
	},
	"anthropic-redacted": {Whole: true, Reports: []string{`{"input_tokens":7,"output_tokens":1}`, `{"output_tokens":2}`}, Text: "Done.", Stop: "stop_sequence", Usage: oracle.Usage{Input: 7, Output: 2}},
	"anthropic-again": {
		Whole: true, Reports: []string{`{"input_tokens":4,"output_tokens":1}`, `{"output_tokens":6}`}, Stop: "tool_use", Usage: oracle.Usage{Input: 4, Output: 6},
		Calls: []oracle.Call{{ID: "toolu_b", Name: "look", Arguments: `{"n":2}`}},
	},
	"anthropic-search":     {Whole: true, Reports: []string{`{"input_tokens":11,"output_tokens":1}`, `{"output_tokens":21}`}, Text: "It rains.", Stop: "pause_turn", Usage: oracle.Usage{Input: 11, Output: 21}},
	"anthropic-overloaded": {Failed: true},
	"chat-text": {
		Whole: true, Reports: []string{`{"prompt_tokens":20,"completion_tokens":9,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":14}}`}, Text: "Grüße aus 北京 🌍.", Stop: "stop", Usage: oracle.Usage{Input: 6, Output: 9, CacheRead: 14},
	},
	"chat-calls": {
		Whole: true, Reports: []string{`{"prompt_tokens":30,"completion_tokens":32,"total_tokens":74,"completion_tokens_details":{"reasoning_tokens":12}}`}, Thought: "Two looks will do.", Stop: "tool_calls", Usage: oracle.Usage{Input: 30, Output: 44, Thought: 12},
		Calls: []oracle.Call{
			{ID: "call_a", Name: "look", Arguments: `{"place": "roof"}`},
			{ID: "call_b", Name: "wait", Arguments: `{}`},
		},
	},
	"chat-onlydone":   {Whole: true, Text: "No reason is given."},
	"chat-onlyfinish": {Whole: true, Reports: []string{`{"prompt_tokens":3,"completion_tokens":3,"total_tokens":6}`}, Text: "No end is", Stop: "length", Usage: oracle.Usage{Input: 3, Output: 3}},
	"chat-pieces":     {Whole: true, Reports: []string{`{"prompt_tokens":8,"completion_tokens":10,"total_tokens":18,"completion_tokens_details":{"reasoning_tokens":4}}`}, Thought: "Hm.", Text: "Said in pieces.", Stop: "stop", Usage: oracle.Usage{Input: 8, Output: 10, Thought: 4}},
	"chat-failed":     {Failed: true},
}

func TestOracle(t *testing.T) {
	t.Parallel()
	got := make(map[string]oracle.Reading)
	for _, one := range small(t) {
		reading := recordings.Oracle(one.Format(), one.Body)
		if reading.Failed {
			reading = oracle.Reading{Failed: true} // what came before does not count
		}
		got[one.ID] = reading
	}
	if diff := cmp.Diff(readings, got); diff != "" {
		t.Errorf("readings (-want +got):\n%s", diff)
	}
}

func TestFilesWithSeveralResponsesAreSplit(t *testing.T) {
	t.Parallel()
	one := `data: {"type":"message_start"}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
	again := `data: {"type": "message_start"}` + "\n\n" + `data: {"type": "message_start"}` + "\n\n" + `data: {"type": "message_stop"}` + "\n\n"
	r := recordings.Recording{ID: "r1", Kind: recordings.AnthropicStream, Body: one + again + one}
	var bodies, ids []string
	for _, response := range r.Responses() {
		bodies, ids = append(bodies, response.Body), append(ids, response.ID)
	}
	if !slices.Equal(bodies, []string{one, again, one}) || !slices.Equal(ids, []string{"r1", "r1.2", "r1.3"}) {
		t.Errorf("got %q, %q", ids, bodies)
	}
}
