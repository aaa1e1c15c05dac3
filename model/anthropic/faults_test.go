package anthropic_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model/internal/stage"
	"github.com/google/go-cmp/cmp"
)

// One answer, cut in two at each byte.
func TestB09(t *testing.T) {
	t.Parallel()
	whole := stream(start) + text(0, "北🌍\\u00e9") + call(1, "toolu_1", "look", `{"city":"北🌍`, `"}`) + ended("tool_use")
	whole = strings.ReplaceAll(whole, "\n", "\r\n")
	want := answered(t, whole)
	if want.Err != nil || want.Answer.Parts[1].Arguments != `{"city":"北🌍"}` {
		t.Fatalf("in one piece: %+v, %v", want.Answer, want.Err)
	}
	var replies []stage.Reply
	for cut := 1; cut < len(whole); cut++ {
		replies = append(replies, stage.Reply{Pieces: []string{whole[:cut], whole[cut:]}})
	}
	m := at(t, stage.New(t, replies...).URL)
	for cut := 1; cut < len(whole); cut++ {
		if diff := cmp.Diff(want, stage.Hear(t.Context(), t, m, asked)); diff != "" {
			t.Fatalf("cut after %d bytes (-want +got):\n%s", cut, diff)
		}
	}
}

// One very long line.
func TestB10(t *testing.T) {
	t.Parallel()
	for _, size := range []int{70 << 10, 1100 << 10} {
		long := strings.Repeat("x", size)
		h := answered(t, stream(start), call(0, "toolu_1", "look", `{"x":"`+long+`"}`), ended("tool_use"))
		if h.Err != nil || h.Answer.Parts[0].Arguments != `{"x":"`+long+`"}` {
			t.Errorf("%d bytes: %v", size, h.Err)
		}
	}
	h := answered(t, stream(start), call(0, "toolu_1", "look", strings.Repeat("x", 17<<20)), ended("tool_use"))
	if h.Err == nil || h.Err.Class.Retryable() || !strings.Contains(h.Err.Message, "16777216") {
		t.Errorf("17 MiB: %+v, %v", h.Answer, h.Err)
	}
}

// The connection closes before the end.
func TestB13(t *testing.T) {
	t.Parallel()
	begun := stream(start) + text(0, "so", " far")
	half := begun + stream(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"look","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"n\":1"}}`)
	all := begun + ended("end_turn")
	for _, tt := range []struct {
		name     string
		reply    stage.Reply
		complete bool
	}{
		{"no end", stage.Reply{Pieces: []string{begun}}, false},
		{"half of a call", stage.Reply{Pieces: []string{half}}, false},
		{"a reason to stop, and no end", stage.Reply{Pieces: []string{strings.TrimSuffix(all, stream(stop))}}, false},
		{"half of the end", stage.Reply{Pieces: []string{all[:len(all)-8]}}, false},
		{"a reset", stage.Reply{Pieces: []string{begun}, Abort: true}, false},
		{"nothing at all", stage.Reply{}, false},
		{"an end, and a reset", stage.Reply{Pieces: []string{all}, Abort: true}, true},
		{"an end without its empty line", stage.Reply{Pieces: []string{strings.TrimSpace(all)}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := stage.Hear(t.Context(), t, at(t, stage.New(t, tt.reply).URL), asked)
			switch {
			case tt.complete && h.Err != nil:
				t.Errorf("got %v (%v)", h.Err, h.Err.Err)
			case !tt.complete && (h.Err == nil || h.Err.Class != events.ClassIncomplete):
				t.Errorf("got %+v, %v", h.Answer, h.Err)
			}
		})
	}
}

// An error inside of a stream that began well. The cases of overload are
// synthetic: nobody has recorded one.
func TestB14(t *testing.T) {
	t.Parallel()
	begun := stream(start) + text(0, "so", " far", "!")
	const (
		overloaded = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
		invalid    = `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`
	)
	for _, tt := range []struct {
		name  string
		reply stage.Reply
		want  events.ErrorClass
	}{
		{"synthetic: overloaded, after text", stage.Reply{Pieces: []string{begun, stream(overloaded)}}, events.ClassOverloaded},
		{"synthetic: overloaded, as the first event", stage.Reply{Pieces: []string{stream(overloaded)}}, events.ClassOverloaded},
		{"synthetic: overloaded, in an event without a name", stage.Reply{Pieces: []string{begun, "data: " + overloaded + "\n\n"}}, events.ClassOverloaded},
		{"synthetic: overloaded, but without the outer type", stage.Reply{Pieces: []string{begun, "event: error\ndata: {\"error\":{\"type\":\"overloaded_error\"}}\n\n"}}, events.ClassOverloaded},
		{"synthetic: an error that is no JSON", stage.Reply{Pieces: []string{begun, "event: error\ndata: overloaded\n\n"}}, events.ClassUnknown},
		{"synthetic: a status of 529 with a page", stage.Reply{Status: 529, Header: map[string]string{"Content-Type": "text/html"}, Pieces: []string{"<html>"}}, events.ClassOverloaded},
		{"synthetic: a status of 529", stage.Reply{Status: 529, Pieces: []string{overloaded}}, events.ClassOverloaded},
		{"synthetic: a rate limit", stage.Reply{Status: 429, Pieces: []string{`{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`}}, events.ClassRateLimit},
		{"an invalid request", stage.Reply{Pieces: []string{begun, stream(invalid)}}, events.ClassInvalidRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := stage.Hear(t.Context(), t, at(t, stage.New(t, tt.reply).URL), asked)
			if h.Err == nil || h.Err.Class != tt.want {
				t.Errorf("got %+v, %v, want %s", h.Answer, h.Err, tt.want)
			}
		})
	}
}

// Overload at every place of an answer: synthetic.
func TestOverloadAtEveryEvent(t *testing.T) {
	t.Parallel()
	whole := stream(start, ping) + thinking(0, "hm", "s") + text(1, "a", "b") + call(2, "toolu_1", "look", `{"n":`, `1}`) + ended("tool_use")
	list := strings.SplitAfter(whole, "\n\n")
	for n := range len(list) - 2 { // behind the end nothing is listened to
		h := answered(t, strings.Join(list[:n], "")+stream(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`))
		if h.Err == nil || h.Err.Class != events.ClassOverloaded {
			t.Errorf("after %d events: %+v, %v", n, h.Answer, h.Err)
		}
	}
}
