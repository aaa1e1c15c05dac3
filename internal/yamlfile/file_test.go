package yamlfile_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/internal/yamlfile"
)

type settings struct {
	Name  string        `yaml:"name"`
	Times int           `yaml:"times"`
	Wait  time.Duration `yaml:"wait"`
	Parts []struct {
		Text string `yaml:"text"`
	} `yaml:"parts"`
}

func TestWhatCannotBeReadIsToldWithItsLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, file, want string }{
		{"an unknown key", "name: a\ntime: 2\n", "f.yaml:2:1: unknown field \"time\"\n  2 | time: 2\n    | ^"},
		{"a key given twice", "name: a\nname: b\n", "f.yaml:2:1: "},
		{"no number", "times: often\n", "f.yaml:1:8: want a whole number\n  1 | times: often\n    |        ^"},
		{"no duration", "wait: a while\n", "f.yaml: time: invalid duration "},
		{"a text for a list", "parts: one\n", "f.yaml:1:8: want a list, and this is a text\n"},
		{"keys for a list", "parts: {text: a}\n", "f.yaml:1:8: want a list, and this is keys and values\n"},
		{"a list for keys", "- name: a\n", "f.yaml:1:1: want keys and values, and this is a list\n"},
		{"a number for keys", "parts: [7]\n", "f.yaml:1:9: want keys and values, and this is one value\n"},
		{"no YAML", "parts: [\n", "f.yaml:1:8: "},
		{"a tag of nobody's", "name: !secret: hush\n", "f.yaml:1:7: this tag is not known"},
		{"a tag in a list", "parts:\n  - text: !x b\n", "f.yaml:2:11: this tag is not known"},
		{"an anchor that hides a key", "name: &secret: hush\n", "f.yaml:1:7: the name of an anchor"},
		{"what the library panics on", "parts: !!str ( ", "f.yaml: this is no YAML"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var s settings
			_, err := yamlfile.Read("f.yaml", []byte(tt.file), &s, nil)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestEveryUnknownKeyIsToldAndWhatElseIsWrong(t *testing.T) {
	t.Parallel()
	const source = "nme: a\nparts:\n  - text: b\n    txt: c\n    size: {more: 1}\n  - &d {next: e}\n  - *d\n"
	const unknown = "f.yaml:1:1: unknown field \"nme\"\n  1 | nme: a\n    | ^\n" +
		"f.yaml:4:5: unknown field \"txt\"\n  4 |     txt: c\n    |     ^\n" +
		"f.yaml:5:5: unknown field \"size\"\n  5 |     size: {more: 1}\n    |     ^\n" +
		"f.yaml:6:9: unknown field \"next\"\n  6 |   - &d {next: e}\n    |         ^"
	var s settings
	if _, err := yamlfile.Read("f.yaml", []byte(source), &s, nil); err == nil || err.Error() != unknown {
		t.Errorf("got\n%v\nwant\n%s", err, unknown)
	}
	f, err := yamlfile.ReadOn("f.yaml", []byte(source), &s, nil)
	if err != nil || len(s.Parts) != 3 || s.Parts[0].Text != "b" {
		t.Fatalf("%v, read %+v", err, s)
	}
	f.Wrong("$.parts[0].text", "no b")
	if err := f.Err(); err == nil || !strings.Contains(err.Error(), "f.yaml:3:11: no b") || !strings.Contains(err.Error(), "f.yaml:4:5: ") {
		t.Errorf("got\n%v", err)
	}
	if _, err := yamlfile.Read("f.yaml", []byte("nme: a\ntimes: often\n"), &s, nil); err == nil || !strings.Contains(err.Error(), "nme") || !strings.Contains(err.Error(), "whole number") {
		t.Errorf("got\n%v", err)
	}
}

func TestTagsAndAnchorsOfYAMLAreTaken(t *testing.T) {
	t.Parallel()
	var s settings
	if _, err := yamlfile.Read("f.yaml", []byte("name: !!str 1\nparts: [{text: &same b}, {text: *same}]\n"), &s, nil); err != nil {
		t.Fatal(err)
	}
	if s.Name != "1" || len(s.Parts) != 2 || s.Parts[1].Text != "b" {
		t.Errorf("read %+v", s)
	}
}

func TestProblemsComeInTheOrderOfTheFile(t *testing.T) {
	t.Parallel()
	var s settings
	f, err := yamlfile.Read("f.yaml", []byte("name: a\nparts:\n  - text: b\n  - text: c\n"), &s, nil)
	if err != nil || f.Err() != nil {
		t.Fatal(err, f.Err())
	}
	f.Wrong("$.parts[1].text", "no %s", "c")
	f.Wrong("$.parts[0].number", "its part") // there is none: the part itself
	f.Wrong("$.name", "no a")
	bad, _ := errors.AsType[*yamlfile.Error](f.Err())
	want := "f.yaml:1:7: no a\n  1 | name: a\n    |       ^\n" +
		"f.yaml:3:5: its part\n  3 |   - text: b\n    |     ^\n" +
		"f.yaml:4:11: no c\n  4 |   - text: c\n    |           ^"
	if bad == nil || bad.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", bad, want)
	}
}

func TestAnEmptyFileIsAZeroValue(t *testing.T) {
	t.Parallel()
	var s settings
	f, err := yamlfile.Read("f.yaml", nil, &s, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Wrong("$.parts", "there are none")
	if err := f.Err(); err == nil || err.Error() != "f.yaml:1:1: there are none" {
		t.Error(err)
	}
}

func TestALineIsShownAsItMayBe(t *testing.T) {
	t.Parallel()
	var s settings
	_, err := yamlfile.Read("f.yaml", []byte("secret: hush\n"), &s, func(line string) string {
		return strings.ReplaceAll(line, "hush", "…")
	})
	if err == nil || !strings.Contains(err.Error(), "secret: …") || strings.Contains(err.Error(), "hush") {
		t.Error(err)
	}
}
