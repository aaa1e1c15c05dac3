package page

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/transcript"
)

// Arguments of some KiB that were indented to hundreds of MiB would be that large on
// each page that shows them.
func TestDeepJSONStaysAsLargeAsItIs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000),
		strings.Repeat(`{"a":`, 9_000) + "1" + strings.Repeat("}", 9_000),
		`{"a":"\\\"",` + `"b":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "}",
	} {
		if got := pretty(text); got != text {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
	}
	if got := pretty(`{"text": "` + strings.Repeat("[", 200) + `"}`); !strings.HasPrefix(got, "{\n  \"text\"") {
		t.Errorf("what stands inside of a string counts: %.40q", got)
	}
}

// Nobody approves what they cannot see: neither what a child asks for, nor what is too
// long to be shown.
func TestOnlyWhatCanBeReadIsApproved(t *testing.T) {
	t.Parallel()
	const hidden = "{\"path\":\"a\u202Etxt\"}"
	id := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	for name, tt := range map[string]struct {
		arguments string
		whole     bool
	}{
		"all of it":         {hidden, true},
		"its beginning":     {hidden[:10], false},
		"it lies elsewhere": {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.page = saidPage(3, transcript.StatusRunning, "hello")
			r.page.Children = []transcript.Child{{Awaits: []transcript.Awaited{{Chat: "c2", Call: id, Tool: "write_file", Arguments: tt.arguments, Status: transcript.CallApproval}}}}
			_, body := r.get("/c/c1")
			if strings.Contains(body, "\u202E") {
				t.Error("what stands there is not what is read")
			}
			if got := strings.Contains(body, `action="/c/c2/approve"`); got != tt.whole {
				t.Errorf("it can be approved: %v", got)
			}
			if digest := string(events.DigestOf([]byte(tt.arguments))); tt.whole && !strings.Contains(body, `name="digest" value="`+digest+`"`) {
				t.Error("what is approved is not bound to what was read")
			}
		})
	}
	t.Run("the chat's own", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.page = saidPage(3, transcript.StatusRunning, "hello", "")
		r.page.Messages[1].Parts = []transcript.Part{{
			Part:      events.Part{Type: events.PartCall, Name: "write_file", Arguments: hidden[:10], Blob: events.DigestOf([]byte(hidden))},
			Truncated: true, Call: &transcript.Call{ID: id, Status: transcript.CallApproval, Approval: &transcript.Approval{}},
		}}
		_, body := r.get("/c/c1")
		if !strings.Contains(body, "Only the beginning of the arguments") || !strings.Contains(body, "/content/"+events.DigestOf([]byte(hidden)).Hex()) {
			t.Error("nobody says where all of it can be read")
		}
		if strings.Contains(body, `name="args"`) {
			t.Error("the beginning can be edited as if it were all")
		}
	})
}
