package chat_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// A runner is believed in what it says, and in nothing else: the log and every later
// prompt have room for what is shown only.
func TestPartsOfAResultAreCleaned(t *testing.T) {
	t.Parallel()
	digest := events.DigestOf([]byte("x"))
	image := events.Part{Type: events.PartImage, Name: "a.png", MediaType: "image/png", Bytes: 1, Blob: digest}
	with := func(p events.Part, change func(*events.Part)) events.Part { change(&p); return p }
	long := `"` + strings.Repeat("x", events.MaxResultBytes) + `"`
	for _, tt := range []struct {
		name string
		said events.Part
		want []events.Part
	}{
		{"an image that was stored", image, []events.Part{image}},
		{"data", events.Part{Type: events.PartData, JSON: `{"a":1}`}, []events.Part{{Type: events.PartData, JSON: `{"a":1}`}}},
		{"data that is none", events.Part{Type: events.PartData, JSON: `{"a":`}, []events.Part{events.Text(`{"a":`)}},
		{"data that is cut", events.Part{Type: events.PartData, JSON: long}, []events.Part{events.Text(long[:events.MaxResultBytes])}},
		{"bytes beside the digest", with(image, func(p *events.Part) { p.Opaque, p.Text, p.JSON = []byte("x"), "y", "z" }), []events.Part{image}},
		{"a name of two lines", with(image, func(p *events.Part) { p.Name = "a.png\n" }), []events.Part{image}},
		{
			"a type that is none",
			with(image, func(p *events.Part) { p.MediaType = "image/png; q=\n" }),
			[]events.Part{with(image, func(p *events.Part) { p.MediaType = "application/octet-stream" })},
		},
		{"a digest that is none", with(image, func(p *events.Part) { p.Blob = "sha256:x" }), nil},
		{"an image in its address", events.Part{Type: events.PartImage, URL: "data:image/png;base64," + strings.Repeat("A", 4<<10)}, nil},
		{"a link", events.Part{Type: events.PartSource, URL: "https://example.com"}, []events.Part{{Type: events.PartSource, URL: "https://example.com"}}},
		{"a file that is nothing", events.Part{Type: events.PartFile}, nil},
		{"what is not a tool's to say", events.Part{Type: events.PartReasoning, Text: "hm"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := creating(t)
			s.answer(call("look", "{}"))
			s.tell(claim(id(1, 1, 1), "c", 1))
			list := s.tell(chat.Result{Result: protocol.Result{
				V: 1, Call: id(1, 1, 1), Runner: "r1", Status: events.ToolOK, Parts: []events.Part{tt.said},
			}})
			if diff := cmp.Diff(tt.want, find[events.ToolCompleted](t, list).Parts); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
}
