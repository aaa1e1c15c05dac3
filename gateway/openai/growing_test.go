package openai

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
)

// delta is a piece of an attempt.
type delta struct {
	attempt, i int
	text       string
}

func TestWhatWasSentIsGoneOnWith(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		deltas []delta
		whole  string // as it was committed
		sent   string
	}{
		{"piece by piece", []delta{{1, 0, "Hel"}, {1, 1, "lo"}}, "Hello", "Hello"},
		{"the end comes with the commit", []delta{{1, 0, "Hel"}}, "Hello", "Hello"},
		{"no piece came", nil, "Hello", "Hello"},
		{"a piece comes twice", []delta{{1, 0, "Hel"}, {1, 0, "Hel"}, {1, 1, "lo"}}, "Hello", "Hello"},
		{"a piece is missing", []delta{{1, 0, "He"}, {1, 2, "o"}}, "Hello", "Hello"},
		{"another attempt says the same", []delta{{1, 0, "Hel"}, {2, 0, "He"}, {2, 1, "llo"}}, "Hello", "Hello"},
		{"another attempt says something else", []delta{{1, 0, "Hel"}, {2, 0, "Good"}, {2, 1, "bye"}}, "Goodbye", "Hel\n\nGoodbye"},
		{"an attempt that is over still speaks", []delta{{1, 0, "Hel"}, {2, 0, "Hello"}, {1, 1, "p!"}}, "Hello", "Hello"},
		{"a later attempt without its beginning", []delta{{1, 0, "Hel"}, {2, 1, "lo"}}, "Hello", "Hello"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var g growing
			var sent strings.Builder
			for _, d := range tt.deltas {
				sent.WriteString(g.add(d.attempt, d.i, d.text))
			}
			sent.WriteString(g.set(tt.whole))
			if sent.String() != tt.sent {
				t.Errorf("sent %q, want %q", sent.String(), tt.sent)
			}
		})
	}
}

func TestACallsNameSaysWhereItIs(t *testing.T) {
	t.Parallel()
	for _, chat := range []string{"oslo", "openai-0123_4-5", "01KB6Q3Z8V0000000000000001", "a_1-1-1"} {
		want := events.CallID{Turn: 3, Step: 2, Ordinal: 1}
		got, call, ok := callOf(callName(chat, want))
		if !ok || got != chat || call != want {
			t.Errorf("%s becomes %s %v %v", chat, got, call, ok)
		}
	}
	for _, bad := range []string{"", "call_", "call_x", "x_1-1-1", "call_x_1-1", "call_x_01-1-1"} {
		if _, _, ok := callOf(bad); ok {
			t.Errorf("%q is taken for a call", bad)
		}
	}
}

func TestNoticesAreNobodysWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Hello":                             "Hello",
		"a[Everturn: x; chat c]b":           "ab",
		"[Everturn: x]a[Everturn: y]":       "a",
		"[Everturn: not ended":              "[Everturn: not ended",
		"I write.\n\n[Everturn: z]\n\nDone": "I write.\n\n\n\nDone",
	} {
		if got := withoutNotices(text); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
