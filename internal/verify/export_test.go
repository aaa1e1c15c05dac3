package verify_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

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
