package events_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// plainCommit is a commit written and read step by step with encoding/json: the
// slow way that nobody can get wrong, and that all bytes were written with before
// there was a fast one.
type plainCommit struct {
	V      int          `json:"v"`
	ID     string       `json:"id"`
	Tenant string       `json:"tenant"`
	Chat   string       `json:"chat"`
	Rev    uint64       `json:"rev"`
	Prev   string       `json:"prev"`
	At     events.Time  `json:"at"`
	Cause  events.Cause `json:"cause"`
	Events []plainEvent `json:"events"`
}

type plainEvent struct {
	Type events.Type     `json:"type"`
	Data json.RawMessage `json:"data"`
}

func plainEncode(c events.Commit) ([]byte, error) {
	p := plainCommit{
		V: events.CommitVersion, ID: c.ID, Tenant: c.Key.Tenant, Chat: c.Key.Chat, Rev: c.Rev, Prev: c.Prev, At: c.At, Cause: c.Cause,
	}
	for _, e := range c.Events {
		data, err := plainMarshal(e)
		if err != nil {
			return nil, err
		}
		p.Events = append(p.Events, plainEvent{Type: e.EventType(), Data: data})
	}
	return plainMarshal(p)
}

func plainMarshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func plainDecode(b []byte) (events.Commit, error) {
	var version struct{ V int }
	if json.Unmarshal(b, &version) == nil && version.V > events.CommitVersion {
		return events.Commit{}, &events.VersionError{What: "commit", Name: fmt.Sprint(version.V)}
	}
	var p plainCommit
	if err := json.Unmarshal(b, &p); err != nil {
		return events.Commit{}, err
	}
	if p.V != events.CommitVersion || len(p.Events) == 0 {
		return events.Commit{}, errors.New("no version, or no events")
	}
	c := events.Commit{
		ID: p.ID, Key: events.Key{Tenant: p.Tenant, Chat: p.Chat}, Rev: p.Rev, Prev: p.Prev, At: p.At, Cause: p.Cause,
	}
	types := events.Types()
	for _, e := range p.Events {
		zero, known := types[e.Type]
		if !known {
			return events.Commit{}, &events.VersionError{What: "event", Name: string(e.Type)}
		}
		data := reflect.New(reflect.TypeOf(zero))
		if err := json.Unmarshal(e.Data, data.Interface()); err != nil {
			return events.Commit{}, err
		}
		c.Events = append(c.Events, data.Elem().Interface().(events.Event))
	}
	return c, nil
}

// sameAsPlain compares both ways on anything. What is read must be what the
// plain way reads. What is refused and the plain way reads must be something
// that is never written: written anew it is read. And where either way tells of
// a newer release, so does the other.
func sameAsPlain(t rapid.TB, b []byte) {
	t.Helper()
	got, err := events.Decode(b)
	want, plainErr := plainDecode(b)
	if newer, ok := errors.AsType[*events.VersionError](err); ok && !hasForeignNames(b) {
		plain, ok := errors.AsType[*events.VersionError](plainErr)
		if !ok || plain.What != newer.What || !strings.HasPrefix(plain.Name, strings.TrimSuffix(newer.Name, "…")) {
			t.Errorf("error %v, plain: %v", err, plainErr)
		}
	}
	switch {
	case plainErr != nil:
		if err == nil && !hasForeignNames(b) {
			t.Errorf("read %+v, plain: %v", got, plainErr)
		}
	case err == nil:
		if diff := cmp.Diff(want, got); diff != "" && !hasForeignNames(b) {
			t.Errorf("read (-plain +fast):\n%s", diff)
		}
		sameBytesAsPlain(t, got)
	default:
		written := sameBytesAsPlain(t, want)
		again, err := events.Decode(written)
		if diff := cmp.Diff(want, again, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("written anew, and read (-plain +fast): %v\n%s", err, diff)
		}
	}
}

func sameBytesAsPlain(t rapid.TB, c events.Commit) []byte {
	t.Helper()
	got, err := events.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	want, err := plainEncode(c)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("written (-plain +fast):\n%s", diff)
	}
	return got
}

// hasForeignNames reports names of fields that the plain way may take for one of
// ours though they are spelled otherwise.
func hasForeignNames(b []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(b))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return false
		}
		kind, n := d.StackIndex(d.StackDepth())
		if kind == jsontext.KindBeginObject && n%2 == 1 && strings.Trim(token.String(), "abcdefghijklmnopqrstuvwxyz_") != "" {
			return true
		}
	}
}

func TestFixturesAreReadAsThePlainWayReadsThem(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"testdata/wire/commit.*.json", "testdata/wire/bad/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal("no files", pattern, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sameAsPlain(t, b)
		}
	}
	for _, e := range examples() {
		for _, list := range [][]events.Event{{e.full}, {e.minimal}, {e.full, e.minimal}} {
			c := fullCommit()
			c.Events = list
			sameAsPlain(t, sameBytesAsPlain(t, c))
		}
	}
	for _, set := range everyGrown() {
		for _, e := range set {
			c := fullCommit()
			c.Events = []events.Event{e}
			sameAsPlain(t, sameBytesAsPlain(t, c))
		}
	}
}

type spelling struct {
	name, body string
	read       bool
}

// unusualSpellings are bytes that are not what Encode writes of a commit, whether
// or not they are JSON of one.
func unusualSpellings() []spelling {
	const head = `"id":"i","tenant":"t","chat":"c","rev":1,"prev":"","at":"2026-11-29T12:00:00.123Z","cause":{"kind":"command","id":"x"}`
	return []spelling{
		{"white space", `{ "v" : 1 , ` + head + ` , "events" : [ { "type" : "chat.titled.v1" , "data" : { "title" : "a" } } ] }` + "\n", true},
		{"data before its type", `{"v":1,` + head + `,"events":[{"data":{"title":"a"},"type":"chat.titled.v1"}]}`, true},
		{"data before a type nobody knows", `{"v":1,` + head + `,"events":[{"data":{"title":"a"},"type":"chat.titled.v9"}]}`, false},
		{"data before its type, of another shape", `{"v":1,` + head + `,"events":[{"data":{"title":[]},"type":"chat.titled.v1"}]}`, false},
		{"the version at the end", `{` + head + `,"events":[{"type":"chat.titled.v1","data":{"title":"a"}}],"v":1}`, true},
		{"a newer version at the end", `{` + head + `,"events":[{"type":"chat.titled.v1","data":{"title":7}}],"v":2}`, false},
		{"fields nobody knows", `{"v":1,"x":{"y":[1]},` + head + `,"events":[{"x":1,"type":"chat.titled.v1","y":[],"data":{"title":"a","z":null}}]}`, true},
		{"escapes", `{"\u0076":1,` + head + `,"events":[{"t\u0079pe":"ch\u0061t.titled.v1","d\u0061ta":{"t\u0069tle":"\ud83d\ude00\/"}}]}`, true},
		{"null for a field", `{"v":1,` + head + `,"events":[{"type":"step.completed.v1","data":{"step":"1.1","attempt":1,"parts":null,"stop":null}}]}`, true},
		{"null for data", `{"v":1,` + head + `,"events":[{"type":"chat.archived.v1","data":null}]}`, true},
		{"a type missing", `{"v":1,` + head + `,"events":[{"data":{}}]}`, false},
		{"an event that is null", `{"v":1,` + head + `,"events":[null]}`, false},
		{"an event that is a number", `{"v":1,` + head + `,"events":[7]}`, false},
		{"half an event", `{"v":1,` + head + `,"events":[{"type":"chat.archived.v1","data":{}`, false},
		{"half an event nobody knows", `{"v":1,` + head + `,"events":[{"type":"chat.exploded.v1","data":{}`, false},
		{"a name twice", `{"v":1,` + head + `,"events":[{"type":"chat.titled.v1","data":{"title":"a","title":"b"}}]}`, false},
		{"an event with two sets of data", `{"v":1,` + head + `,"events":[{"type":"chat.titled.v1","data":{},"data":{}}]}`, false},
		{"text that is no UTF-8", `{"v":1,` + head + `,"events":[{"type":"chat.titled.v1","data":{"title":"` + "\xff" + `"}}]}`, false},
		{"half a surrogate pair", `{"v":1,` + head + `,"events":[{"type":"chat.titled.v1","data":{"title":"\ud83d"}}]}`, false},
	}
}

func TestUnusualSpelling(t *testing.T) {
	t.Parallel()
	for _, tt := range unusualSpellings() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := events.Decode([]byte(tt.body)); (err == nil) != tt.read {
				t.Errorf("error %v", err)
			}
			sameAsPlain(t, []byte(tt.body))
		})
	}
}

// drawn lets rapid make a generator's choices.
type drawn struct{ t *rapid.T }

func (d drawn) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "choice") }

func TestHistoriesAreReadAsThePlainWayReadsThem(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[<>&"\\/\x00-\x1f\x7f\x{2028}\x{2029}\x{fffd}a]*`),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(rt *rapid.T) {
		c := chatgen.Log(events.Key{Tenant: "acme", Chat: "c"}, drawn{rt}, rapid.IntRange(1, 30).Draw(rt, "messages"))
		for i, commit := range c.Commits {
			sameAsPlain(rt, c.Bytes[i])
			for j, e := range commit.Events {
				if parts := events.Parts(e); len(parts) > 0 {
					said := text.Draw(rt, "text")
					part := events.Part{Type: events.PartCall, Text: said, Arguments: said, Name: said, Opaque: []byte(said)}
					commit.Events[j] = events.WithParts(e, []events.Part{part})
				}
			}
			sameAsPlain(rt, sameBytesAsPlain(rt, commit))
		}
	})
}

// What is written by hand as plain must be nothing else.
func TestAPartOfWhichMoreIsSaidIsNotPlain(t *testing.T) {
	t.Parallel()
	look := events.Part{Type: events.PartCall, Ordinal: 1, Arguments: "{}", ProviderID: "id", Name: "look"}
	for _, tt := range []struct {
		of   string
		part events.Part
		is   func(*events.Part) bool
		own  []string
	}{
		{"text", events.Text("text"), (*events.Part).IsPlainText, []string{"Text"}},
		{"call", look, (*events.Part).IsPlainCall, []string{"Ordinal", "Arguments", "ProviderID", "Name"}},
	} {
		if !tt.is(&tt.part) {
			t.Errorf("a plain %s is not plain", tt.of)
		}
		for i := range reflect.TypeFor[events.Part]().NumField() {
			name := reflect.TypeFor[events.Part]().Field(i).Name
			own := slices.Contains(tt.own, name)
			for _, zero := range []bool{false, true} {
				p := tt.part
				field := reflect.ValueOf(&p).Elem().Field(i)
				switch {
				case zero:
					field.SetZero()
				case field.Kind() == reflect.String:
					field.SetString("else")
				case field.Kind() == reflect.Slice:
					field.SetBytes([]byte("else"))
				default:
					field.SetInt(2)
				}
				// Its own fields must be there, whatever they say; the others must not.
				if want := own != zero && name != "Type"; tt.is(&p) != want {
					t.Errorf("%s with another %s (none: %v): plain is %v", tt.of, name, zero, tt.is(&p))
				}
			}
		}
	}
}
