package readme

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const page = "# Title\n" +
		"```sh\nls\n```\n\nIt shows:\n\n```text\nnot what it shows: words are between\n```\n" +
		"<!-- terminal: dev, stays -->\n```sh\nserve\nfor ever\n```\n\n```text\nready\n```\n" +
		"<!-- not run: takes a while -->\n\n```sh\nmake test\n```\n" +
		"<!-- other words -->\n```go\nfunc main() {}\n```\n" +
		"<!-- shows: dev -->\n```text\ndone\n```\n<!-- ctrl-c: dev -->\n"
	want := []Block{
		{Line: 3, Terminal: MainTerminal, Text: "ls"},
		{Line: 13, Terminal: "dev", Stays: true, Text: "serve\nfor ever", Shows: "ready"},
		{Line: 23, Terminal: MainTerminal, Text: "make test", NotRun: "takes a while"},
		{Line: 31, Terminal: "dev", Shows: "done"},
		{Line: 33, Terminal: "dev", CtrlC: true},
	}
	got, err := Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{
		"a block without an end":         "```sh\nls\n",
		"commands that would be a sight": "<!-- shows: dev -->\n```sh\nls\n```\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if blocks, err := Parse(page); err == nil {
				t.Errorf("no error, but %v", blocks)
			}
		})
	}
}

func TestPattern(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, page, shown string
		same              bool
	}{
		{"the same words", "a (b)\nc\n", "a (b)\nc\n", true},
		{"spaces at the end do not count", "a  \nb", "a\nb   \n", true},
		{"other words", "a\n", "b\n", false},
		{"another id", "chat 01KB6Q3Z8V0000000000000001.", "chat 01KB9Q3Z8V00000000000000ZZ.\n", true},
		{"no id", "chat 01KB6Q3Z8V0000000000000001", "chat oslo\n", false},
		{"another time", "at 2026-11-29T12:00:00.123Z", "at 2027-01-01T00:00:00Z\n", true},
		{"another port", "nats://127.0.0.1:4222", "nats://127.0.0.1:9\n", true},
		{"anything on a line", "user:…@host", "user:secret@host\n", true},
		{"but not on two", "user:…@host", "user:\n@host\n", false},
		{"any lines", "first\n…\nlast", "first\n1\n2\nlast\n", true},
		{"no line at all", "first\n…\nlast", "first\nlast\n", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Whole(tt.page).MatchString(tt.shown); got != tt.same {
				t.Errorf("%q for %q: %v", tt.shown, tt.page, got)
			}
		})
	}
}
