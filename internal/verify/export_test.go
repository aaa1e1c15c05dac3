package verify_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/verify"
)

func TestAnExportedLogComesBackByteForByte(t *testing.T) {
	t.Parallel()

	want := entries(story(t), 1)
	want = append(want,
		verify.Entry{Subject: "everturn.log.0.acme.bob", Sequence: 900, Commit: []byte("not JSON\n")},
		verify.Entry{Subject: "everturn.log.0.acme.bob", Sequence: 901, Commit: []byte(`{"spaced" : "<&>` + "\u2028" + `"}`)},
	)
	var file bytes.Buffer
	for _, e := range want {
		if err := verify.WriteEntry(&file, e); err != nil {
			t.Fatal(err)
		}
	}
	var got []verify.Entry
	for e, err := range verify.ReadEntries(&file) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if !slices.EqualFunc(want, got, func(a, b verify.Entry) bool {
		return a.Subject == b.Subject && a.Sequence == b.Sequence && bytes.Equal(a.Commit, b.Commit)
	}) {
		t.Errorf("read %d entries that differ from the %d written", len(got), len(want))
	}
}

func TestReadEntriesNamesTheLineThatIsWrong(t *testing.T) {
	t.Parallel()

	const good = `{"subject":"everturn.log.0.a.b","sequence":1,"commit":{}}` + "\n\n"
	for _, tt := range []struct{ name, file, want string }{
		{"no JSON", good + "nonsense", "line 3: "},
		{"an end in the middle of a line", good + `{"subject":"everturn.log.0.a.b","sequ`, "line 3: the file is cut off"},
		{"no subject", good + `{"sequence":1,"commit":{}}`, `line 3: no "subject"`},
		{"no sequence", good + `{"subject":"everturn.log.0.a.b","commit":{}}`, `line 3: no "sequence"`},
		{"no commit", good + `{"subject":"everturn.log.0.a.b","sequence":1}`, `line 3: no "commit"`},
		{"two commits", good + `{"subject":"s","sequence":1,"commit":{},"damaged":"AA=="}`, `line 3: both`},
		{"a line without end", good + strings.Repeat("x", 2<<20), "line 3: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var last error
			for _, err := range verify.ReadEntries(strings.NewReader(tt.file)) {
				last = err
			}
			if last == nil || !strings.HasPrefix(last.Error(), tt.want) {
				t.Errorf("error %v, want %q", last, tt.want)
			}
		})
	}
}

func TestAnExportHoldsContentAndItsEnd(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	large := verify.Content{Digest: events.DigestOf([]byte("large")), Bytes: bytes.Repeat([]byte("0123456789abcdef"), 40<<10)}
	empty := verify.Content{Digest: events.DigestOf(nil), Bytes: nil}
	end := verify.End{Tenant: "acme", Chat: "ann", Rev: 1, Hash: "00", Missing: []events.Digest{large.Digest}}
	commit := entries(story(t), 1)[0]
	for _, err := range []error{
		verify.WriteContent(&file, large), verify.WriteContent(&file, empty), verify.WriteCommit(&file, commit), verify.WriteEnd(&file, end),
		verify.WriteCommit(&file, verify.Entry{Subject: "everturn.log.0.acme.bob", Sequence: 9, Commit: []byte("not JSON\n")}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	whole := file.String()
	var lines []verify.Line
	for l, err := range verify.ReadLines(&file) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	if len(lines) != 5 {
		t.Fatalf("%d lines", len(lines))
	}
	if c := lines[0].Content; c == nil || c.Digest != large.Digest || !bytes.Equal(c.Bytes, large.Bytes) {
		t.Error("large content is another")
	}
	if c := lines[1].Content; c == nil || c.Digest != empty.Digest || len(c.Bytes) != 0 {
		t.Errorf("empty content: %+v", lines[1])
	}
	if e := lines[2].Entry; e == nil || !bytes.Equal(e.Commit, commit.Commit) || !strings.Contains(whole, "\n"+string(commit.Commit)+"\n") {
		t.Errorf("the commit: %+v", lines[2])
	}
	if e := lines[3].End; e == nil || e.Rev != 1 || e.Missing[0] != large.Digest {
		t.Errorf("the end: %+v", lines[3])
	}
	if e := lines[4].Entry; e == nil || string(e.Commit) != "not JSON\n" {
		t.Errorf("a damaged commit: %+v", lines[4])
	}
	for name, text := range map[string]string{
		"only the beginning of content": whole[:strings.IndexByte(whole, '\n')+1],
		"content that is broken off":    whole[:strings.IndexByte(whole, '\n')+1] + string(commit.Commit),
		"other content in between":      whole[:strings.IndexByte(whole, '\n')+1] + `{"content":"sha256:00","data":"AA=="}`,
	} {
		var last error
		for _, err := range verify.ReadLines(strings.NewReader(text)) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), "is missing") {
			t.Errorf("%s: error %v", name, last)
		}
	}
}
