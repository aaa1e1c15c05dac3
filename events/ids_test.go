package events_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"pgregory.net/rapid"
)

func TestKeyValidate(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for _, tt := range []struct {
		name         string
		tenant, chat string
		ok           bool
	}{
		{"a ULID", "default", "01KB6Q3Z8V0000000000000001", true},
		{"a UUID", "acme-2", "3b6f3a52-8f0e-5d3b-9a64-2c1f7f3f9a11", true},
		{"the longest", long, long, true},
		{"tenant too long", long + "a", "c", false},
		{"chat too long", "t", long + "a", false},
		{"no tenant", "", "c", false},
		{"no chat", "t", "", false},
		{"upper case in a tenant", "Acme", "c", false},
		{"a dot would be another subject", "a.b", "c", false},
		{"a dot in a chat too", "a", "c.d", false},
		{"a wildcard", "*", "c", false},
		{"a full wildcard", "t", ">", false},
		{"a space", "t", "c d", false},
		{"a line break", "t", "c\n", false},
		{"a NUL", "t", "c\x00", false},
		{"a slash would be another blob", "t", "c/d", false},
		{"letters of other scripts", "t", "ç", false},
		{"broken UTF-8", "t", "\xff", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := events.Key{Tenant: tt.tenant, Chat: tt.chat}.Validate()
			if (err == nil) != tt.ok {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestKeyErrorIsShort(t *testing.T) {
	t.Parallel()
	err := events.Key{Tenant: strings.Repeat("A", 1<<20), Chat: "c"}.Validate()
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("error of %d bytes", len(err.Error()))
	}
}

func TestIDsAsText(t *testing.T) {
	t.Parallel()
	if got := step.String() + " " + step.Token(); got != "3.2 3-2" {
		t.Errorf("step is %s", got)
	}
	if got := call.String() + " " + call.Token(); got != "3.2.1 3-2-1" {
		t.Errorf("call is %s", got)
	}
	if call.StepID() != step {
		t.Errorf("step of %v is %v", call, call.StepID())
	}
}

func TestIDsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", ".", "3", "3.", ".3", "3.2.1.4", "3-2", "3.-2", "3.+2", "3. 2", "3.2 ", "03.2", "3.02", "a.b", "3.2e1",
		"3.99999999999999999999", "٣.٢", strings.Repeat("9", 1000) + ".1",
	} {
		if err := new(events.StepID).UnmarshalText([]byte(s)); err == nil {
			t.Errorf("%.40q is taken for a step", s)
		} else if len(err.Error()) > 200 {
			t.Errorf("the error repeats %d bytes", len(err.Error()))
		}
		if err := new(events.CallID).UnmarshalText([]byte(s + ".1")); s != "3" && s != "3.2" && err == nil {
			t.Errorf("%.40q is taken for a call", s+".1")
		}
	}
}

func TestIDsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := events.CallID{
			Turn:    rapid.IntRange(0, 1<<31).Draw(t, "turn"),
			Step:    rapid.IntRange(0, 1<<31).Draw(t, "step"),
			Ordinal: rapid.IntRange(0, 1<<31).Draw(t, "ordinal"),
		}
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got events.CallID
		if err := json.Unmarshal(b, &got); err != nil || got != want {
			t.Errorf("%s decodes to %v, %v", b, got, err)
		}
		if got, err := events.ParseCallID(want.Token(), "-"); err != nil || got != want {
			t.Errorf("token of %v parses to %v, %v", want, got, err)
		}
		var gotStep events.StepID
		if err := gotStep.UnmarshalText([]byte(want.StepID().String())); err != nil || gotStep != want.StepID() {
			t.Errorf("step of %v parses to %v, %v", want, gotStep, err)
		}
	})
}

// Only one spelling of an id is accepted: two would be two subjects for one call.
func TestParsedIDsSpellTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[-+0-9. ]{1,12}`).Draw(t, "s")
		if id, err := events.ParseCallID(s, "."); err == nil && id.String() != s {
			t.Errorf("%q parses to %v", s, id)
		}
	})
}

func TestDigest(t *testing.T) {
	t.Parallel()
	const want = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	d := events.DigestOf(nil)
	if d != want || !d.Valid() || d.Hex() != strings.TrimPrefix(want, "sha256:") {
		t.Errorf("digest of nothing is %s", d)
	}
	for _, bad := range []events.Digest{
		"", "sha256:", events.Digest(d.Hex()), events.Digest("md5:" + d.Hex()), d[:len(d)-1], d + "0",
		events.Digest(strings.ToUpper(string(d))), events.Digest("sha256:" + strings.ToUpper(d.Hex())),
		events.Digest("sha256:" + strings.Repeat("g", 64)), events.Digest("sha256:../" + d.Hex()[3:]),
	} {
		if bad.Valid() {
			t.Errorf("%q is taken for a digest", bad)
		}
	}
}
