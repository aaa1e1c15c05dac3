package events_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/google/go-cmp/cmp"
)

func TestDetachAndAttach(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("x", 1000)
	for _, tt := range []struct {
		name string
		part events.Part
		want string
	}{
		{"text", events.Text(long), long},
		{"the arguments of a call", events.Part{Type: events.PartCall, Ordinal: 1, Name: "f", Arguments: long}, long},
		{"data", events.Part{Type: events.PartData, JSON: long}, long},
		{"reasoning in words", events.Part{Type: events.PartReasoning, Text: long, Opaque: []byte("sig")}, long},
		{"reasoning in words only", events.Part{Type: events.PartReasoning, Text: long}, long},
		{"reasoning that is opaque", events.Part{Type: events.PartReasoning, Text: "short", Opaque: []byte(long)}, long},
		{"reasoning that is opaque only", events.Part{Type: events.PartReasoning, Opaque: []byte(long)}, long},
		{"what a provider did", events.Part{Type: events.PartProviderCall, Opaque: []byte(long)}, long},
		{"a source has no content", events.Part{Type: events.PartSource, URL: "https://example.com"}, ""},
		{"an empty text has none", events.Text(""), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			detached, content := tt.part.Detach()
			if string(content) != tt.want {
				t.Fatalf("content of %d bytes, want %d", len(content), len(tt.want))
			}
			if tt.want == "" {
				if diff := cmp.Diff(tt.part, detached); diff != "" {
					t.Errorf("part without content changed (-want +got):\n%s", diff)
				}
				return
			}
			if detached.Blob != events.DigestOf(content) || detached.Bytes != int64(len(content)) || detached.ContentBytes() != 0 {
				t.Errorf("detached part is %+v", detached)
			}
			if diff := cmp.Diff(tt.part, detached.Attach(content)); diff != "" {
				t.Errorf("attached again (-want +got):\n%s", diff)
			}
		})
	}
}
