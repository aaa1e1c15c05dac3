package events_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/everturn/everturn/events"
	"pgregory.net/rapid"
)

func TestRepairText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"plain text stays", "Hello, world.\n\tbye", "Hello, world.\n\tbye"},
		{"other scripts stay", "Grüße 你好 👩‍👩‍👧 e\u0301", "Grüße 你好 👩‍👩‍👧 e\u0301"},
		{"a line break of Windows stays", "a\r\nb", "a\r\nb"},
		{"a lone carriage return becomes a line break", "10%\r20%\r", "10%\n20%\n"},
		{"NUL", "a\x00b", "a\uFFFDb"},
		{"a byte that is no UTF-8", "a\xffb", "a\uFFFDb"},
		{"a sequence cut off", "a\xe2\x82", "a\uFFFD\uFFFD"},
		{"a lone surrogate", "a\xed\xa0\x80b", "a\uFFFD\uFFFD\uFFFDb"},
		{"an overlong form", "\xc0\xaf", "\uFFFD\uFFFD"},
		{"a terminal is not cleared", "\x1b[2J", "\uFFFD[2J"},
		{"nor its title set", "\x1b]0;root\x07", "\uFFFD]0;root\uFFFD"},
		{"nor by the single-byte forms", "\u009b2J", "\uFFFD2J"},
		{"backspace and delete", "a\bb\x7f", "a\uFFFDb\uFFFD"},
		{"the sign for a lost character stays one", "a\uFFFDb", "a\uFFFDb"},
		{"output of a command that is no text", "\xe2\x4d\xff\x00\x1b\x5b\x32\x4a", "\uFFFDM\uFFFD\uFFFD\uFFFD[2J"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := events.RepairText(tt.in); got != tt.want {
				t.Errorf("RepairText(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestRepairedText(t *testing.T) {
	t.Parallel()
	texts := rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.StringMatching(`[\r\n\ta]*`),
	)
	rapid.Check(t, func(t *rapid.T) {
		in := texts.Draw(t, "in")
		out := events.RepairText(in)
		if again := events.RepairText(out); again != out {
			t.Errorf("repaired twice: %q, then %q", out, again)
		}
		if !utf8.ValidString(out) {
			t.Errorf("no UTF-8: %q", out)
		}
		for _, r := range out {
			if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
				t.Errorf("control %U is left in %q", r, out)
			}
		}
		// What was repaired comes back from JSON as it went in.
		b, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		var back string
		if err := json.Unmarshal(b, &back); err != nil || back != out {
			t.Errorf("JSON gives %q, %v for %q", back, err, out)
		}
	})
}

func TestRepairOfCleanTextAllocatesNothing(t *testing.T) {
	clean := "a line of ordinary output, größer als nötig\n"
	if n := testing.AllocsPerRun(100, func() { _ = events.RepairText(clean) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestCutText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in    string
		limit int
		want  string
	}{
		{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"aé", 2, "a"}, {"🌍", 3, ""}, {"", 0, ""}, {"abc", 0, ""},
	} {
		if got := events.CutText(tt.in, tt.limit); got != tt.want {
			t.Errorf("CutText(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.want)
		}
	}
}

func TestCutMiddle(t *testing.T) {
	t.Parallel()
	marker := func(gone int) string { return fmt.Sprintf("[%d]", gone) }
	for _, tt := range []struct {
		in    string
		limit int
		want  string
	}{
		{"abcdefghijkl", 12, "abcdefghijkl"},
		{"abcdefghijklm", 10, "abcd[7]lm"},
		{"ééééééé", 10, "éé[8]é"},
		{"abcdefghijkl", 4, "abcd"},
		{"", 0, ""},
	} {
		if got := events.CutMiddle(tt.in, tt.limit, marker); got != tt.want {
			t.Errorf("CutMiddle(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.want)
		}
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "", "äöü": "äöü", "äöüß": "äö…"} {
		if got := events.Shorten(in, 3); got != want {
			t.Errorf("Shorten(%q, 3) = %q, want %q", in, got, want)
		}
	}
}

func TestIsObject(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		`{}`: true, " \n{\"a\":[1]}\t": true,
		``: false, `null`: false, `[]`: false, `"{}"`: false, `{"a":1`: false, `{}{}`: false, `{} x`: false, "\u00a0{}": false,
	} {
		if got := events.IsObject(in); got != want {
			t.Errorf("IsObject(%q) = %v", in, got)
		}
	}
}
