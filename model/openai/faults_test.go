package openai_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model/internal/stage"
	"github.com/google/go-cmp/cmp"
)

// Parallel calls that the index does not tell apart.
func TestB05(t *testing.T) {
	t.Parallel()
	call := func(ordinal int, id, name, arguments string) events.Part {
		return events.Part{Type: events.PartCall, Ordinal: ordinal, Name: name, Arguments: arguments, ProviderID: id}
	}
	for _, tt := range []struct {
		name      string
		fragments []string
		want      []events.Part // nil: malformed
	}{
		{
			name: "one index, and a piece that may belong to either",
			fragments: []string{
				`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`,
				`{"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`,
				`{"index":0,"function":{"arguments":"1}"}}`,
			},
		},
		{
			name: "no index, and a piece that may belong to either",
			fragments: []string{
				`{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`,
				`{"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`,
				`{"function":{"arguments":"1}"}}`,
			},
		},
		{
			name: "indices in another order",
			fragments: []string{
				`{"index":2,"id":"c","function":{"name":"h","arguments":"{\"z\":3}"}}`,
				`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`,
				`{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}`,
			},
			want: []events.Part{call(1, "a", "f", `{"x":1}`), call(2, "b", "g", `{"y":2}`), call(3, "c", "h", `{"z":3}`)},
		},
		{
			name: "one index, but the ids tell them apart",
			fragments: []string{
				`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`,
				`{"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`,
				`{"index":0,"id":"a","function":{"arguments":"1}"}}`,
				`{"index":0,"id":"b","function":{"arguments":"2}"}}`,
			},
			want: []events.Part{call(1, "a", "f", `{"x":1}`), call(2, "b", "g", `{"y":2}`)},
		},
		{
			name: "no index, but only one can still be added to",
			fragments: []string{
				`{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`,
				`{"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`,
				`{"function":{"arguments":"2}"}}`,
			},
			want: []events.Part{call(1, "a", "f", `{"x":1}`), call(2, "b", "g", `{"y":2}`)},
		},
		{
			name: "interleaved by index, as the format has it",
			fragments: []string{
				`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`,
				`{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`,
				`{"index":0,"function":{"arguments":"1}"}}`,
				`{"index":1,"function":{"arguments":"2}"}}`,
			},
			want: []events.Part{call(1, "a", "f", `{"x":1}`), call(2, "b", "g", `{"y":2}`)},
		},
		{
			name: "one id for all",
			fragments: []string{
				`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`,
				`{"index":1,"id":"a","function":{"name":"f","arguments":"{\"x\":2}"}}`,
			},
			want: []events.Part{call(1, "a", "f", `{"x":1}`), call(2, "a", "f", `{"x":2}`)},
		},
		{
			name: "no ids and one index",
			fragments: []string{
				`{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}`,
				`{"index":0,"function":{"name":"f","arguments":"{\"x\":2}"}}`,
			},
			want: []events.Part{call(1, "", "f", `{"x":1}`), call(2, "", "f", `{"x":2}`)},
		},
		{
			name:      "a call without a name",
			fragments: []string{`{"index":0,"id":"a","function":{"arguments":"{}"}}`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var list []string
			for _, f := range tt.fragments {
				list = append(list, fragments(f))
			}
			h := answered(t, stage.Events(append(list, called, count, done)...))
			if tt.want == nil {
				if h.Err == nil || h.Err.Class != events.ClassIncomplete || !h.Err.Class.Retryable() {
					t.Fatalf("got %+v, %v", h.Answer, h.Err)
				}
				return
			}
			if h.Err != nil {
				t.Fatal(h.Err)
			}
			if diff := cmp.Diff(tt.want, h.Answer.Parts); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
}

// A chunk without choices, anywhere.
func TestB08(t *testing.T) {
	t.Parallel()
	const only = `{"id":"r1","choices":[]}`
	for name, list := range map[string][]string{
		"first":       {count, first, north, globe, ended, done},
		"in between":  {first, north, count, globe, ended, done},
		"last":        {first, north, globe, ended, count, done},
		"everywhere":  {only, count, only, first, north, count, only, globe, ended, count, only, done},
		"null":        {first, north, globe, ended, strings.Replace(count, `"choices":[]`, `"choices":null`, 1), done},
		"then zeroes": {first, north, globe, ended, count, `{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}`, done},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := answered(t, stage.Events(list...))
			if h.Err != nil {
				t.Fatal(h.Err)
			}
			if diff := cmp.Diff([]events.Part{events.Text("北 🌍é")}, h.Answer.Parts); diff != "" || h.Answer.Usage != counted {
				t.Errorf("usage %+v, parts (-want +got):\n%s", h.Answer.Usage, diff)
			}
		})
	}
}

// One answer, cut in two at each byte.
func TestB09(t *testing.T) {
	t.Parallel()
	call := []string{
		fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"city\":\"北🌍\\u00e9"}}`),
		fragments(`{"index":0,"function":{"arguments":"\"}"}}`),
	}
	stream := stage.Events(first, north, globe, call[0], call[1], called, count, done)
	stream = strings.ReplaceAll(stream, "\n", "\r\n")
	want := answered(t, stream)
	if want.Err != nil || len(want.Answer.Parts) != 2 || want.Answer.Parts[1].Arguments != `{"city":"北🌍\u00e9"}` {
		t.Fatalf("in one piece: %+v, %v", want.Answer, want.Err)
	}
	var replies []stage.Reply
	for cut := 1; cut < len(stream); cut++ {
		replies = append(replies, stage.Reply{Pieces: []string{stream[:cut], stream[cut:]}})
	}
	m := at(t, stage.New(t, replies...).URL)
	for cut := 1; cut < len(stream); cut++ {
		got := stage.Hear(t.Context(), t, m, asked)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("cut after %d bytes (-want +got):\n%s", cut, diff)
		}
	}
}

// One very long line.
func TestB10(t *testing.T) {
	t.Parallel()
	for _, size := range []int{70 << 10, 1100 << 10} {
		text := strings.Repeat("x", size)
		h := answered(t, stage.Events(first, fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":\"`+text+`\"}"}}`), called, done))
		if h.Err != nil || len(h.Answer.Parts) != 1 || h.Answer.Parts[0].Arguments != `{"x":"`+text+`"}` {
			t.Errorf("%d bytes: %v", size, h.Err)
		}
	}
	h := answered(t, stage.Events(first, fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"`+strings.Repeat("x", 17<<20)+`"}}`), called, done))
	if h.Err == nil || h.Err.Class.Retryable() || !strings.Contains(h.Err.Message, "16777216") {
		t.Errorf("17 MiB: %+v, %v", h.Answer, h.Err)
	}
}

// The connection closes before the end.
func TestB13(t *testing.T) {
	t.Parallel()
	call := fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1"}}`)
	for _, tt := range []struct {
		name     string
		reply    stage.Reply
		complete bool
	}{
		{"no reason to stop", stage.Reply{Pieces: []string{stage.Events(first, north, globe)}}, false},
		{"half of a call", stage.Reply{Pieces: []string{stage.Events(first, north, call)}}, false},
		{"half of the reason to stop", stage.Reply{Pieces: []string{stage.Events(first, north), "data: " + ended[:len(ended)-20]}}, false},
		{"half of the end", stage.Reply{Pieces: []string{stage.Events(first, north), "data: [DO"}}, false},
		{"a reset", stage.Reply{Pieces: []string{stage.Events(first, north)}, Abort: true}, false},
		{"nothing at all", stage.Reply{}, false},
		{"a reason to stop, and no end", stage.Reply{Pieces: []string{stage.Events(first, north, globe, ended)}}, true},
		{"a reason to stop, and a reset", stage.Reply{Pieces: []string{stage.Events(first, north, globe, ended)}, Abort: true}, true},
		{"an end, and no reason to stop", stage.Reply{Pieces: []string{stage.Events(first, north, globe, done)}}, true},
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

// An error inside of a stream that began well. The cases of overload and of
// rate limits are synthetic: nobody has recorded one that tells as much.
func TestB14(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		reply stage.Reply
		want  events.ErrorClass
	}{
		{"synthetic: overloaded, after text", stage.Reply{Pieces: []string{stage.Events(first, north, globe, `{"error":{"type":"overloaded_error","message":"busy"}}`)}}, events.ClassOverloaded},
		{"synthetic: as the first event", stage.Reply{Pieces: []string{stage.Events(`{"error":{"type":"overloaded_error","message":"busy"}}`)}}, events.ClassOverloaded},
		{"synthetic: invalid request", stage.Reply{Pieces: []string{stage.Events(first, `{"error":{"type":"invalid_request_error","message":"no"}}`)}}, events.ClassInvalidRequest},
		{"synthetic: with a name", stage.Reply{Pieces: []string{stage.Events(first) + "event: error\ndata: {\"message\":\"no\",\"code\":429}\n\n"}}, events.ClassRateLimit},
		{"synthetic: beside a reason to stop", stage.Reply{Pieces: []string{stage.Events(`{"choices":[{"index":0,"delta":{},"finish_reason":"error"}],"error":{"code":502,"message":"gone"}}`, done)}}, events.ClassTimeout},
		{"synthetic: a status of 529", stage.Reply{Status: 529, Pieces: []string{`{"error":{"message":"busy"}}`}}, events.ClassOverloaded},
		{"synthetic: a rate limit", stage.Reply{Status: 429, Pieces: []string{`{"error":{"message":"slow","type":"requests","code":"rate_limit_exceeded"}}`}}, events.ClassRateLimit},
		{"synthetic: a status of 529 with a page", stage.Reply{Status: 529, Header: map[string]string{"Content-Type": "text/html"}, Pieces: []string{"<html>"}}, events.ClassOverloaded},
		{"synthetic: a good status with an error and no stream", stage.Reply{Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Pieces: []string{`{"error":{"code":503,"message":"busy"}}`}}, events.ClassTimeout},
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
