package events_test

import (
	"testing"

	"github.com/everturn/everturn/events"
)

// Whoever approves a call reads what will run, in the order in which it will.
func TestWhatNobodySeesIsShown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"pay ann 5", "pay ann 5"},
		{"two\nlines", "two\nlines"},
		{"\x1b[2J", events.Replacement + "[2J"},
		{"rm \u202etxt.exe", "rm <U+202E>txt.exe"},
		{"a\u2066b\u2069", "a<U+2066>b<U+2069>"},
		{"a\u200bb\ufeff\u2060", "a<U+200B>b<U+FEFF><U+2060>"},
		{"a\u200db", "a<U+200D>b"},
		{"a\U000e0041\u3164", "a<U+E0041><U+3164>"},
		{"soft\u00adhyphen\u2028", "soft<U+00AD>hyphen<U+2028>"},
		{"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"},
		{"\u2764\ufe0f", "\u2764\ufe0f"},
		{"\u2764\ufe0f\ufe0f", "\u2764\ufe0f<U+FE0F>"},
	} {
		if got := events.VisibleText(tt.text); got != tt.want {
			t.Errorf("VisibleText(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}
