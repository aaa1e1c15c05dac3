package protocol_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

// Bodies that every replica of this release refuses for ever.
func TestBadCommands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, verb, body string
		code             events.Code
	}{
		{"no body", "send", "", events.CodeBadCommand},
		{"no JSON", "send", "hello", events.CodeBadCommand},
		{"cut off", "send", `{"v":1,"parts":[{"type":"te`, events.CodeBadCommand},
		{"null", "send", "null", events.CodeBadCommand},
		{"a list", "send", `[{"v":1}]`, events.CodeBadCommand},
		{"a number", "send", "1", events.CodeBadCommand},
		{"two values", "rename", `{"v":1,"title":"a"}{"v":1,"title":"b"}`, events.CodeBadCommand},
		{"something after the value", "rename", `{"v":1,"title":"a"} x`, events.CodeBadCommand},
		{"no version", "archive", `{}`, events.CodeBadCommand},
		{"version null", "archive", `{"v":null}`, events.CodeBadCommand},
		{"version as text", "archive", `{"v":"1"}`, events.CodeBadCommand},
		{"version of tomorrow", "archive", `{"v":2}`, events.CodeBadCommand},
		{"version 0", "archive", `{"v":0}`, events.CodeBadCommand},
		{"a field of another verb", "archive", `{"v":1,"title":"a"}`, events.CodeBadCommand},
		{"an unknown field", "send", `{"v":1,"parts":[],"urgent":true}`, events.CodeBadCommand},
		{"an unknown field deep inside", "send", `{"v":1,"parts":[{"type":"text","text":"a","bold":true}]}`, events.CodeBadCommand},
		{"an unknown setting", "create", `{"v":1,"settings":{"temprature":1}}`, events.CodeBadCommand},
		{"text where a number belongs", "interrupt", `{"v":1,"turn":"3"}`, events.CodeBadCommand},
		{"a number where text belongs", "rename", `{"v":1,"title":7}`, events.CodeBadCommand},
		{"half a number", "interrupt", `{"v":1,"turn":1.5}`, events.CodeBadCommand},
		{"a number beyond all bounds", "interrupt", `{"v":1,"turn":1e99}`, events.CodeBadCommand},
		{"a comment", "archive", `{"v":1} // please`, events.CodeBadCommand},
		{"a byte order mark", "archive", "\xef\xbb\xbf{\"v\":1}", events.CodeBadCommand},
		{"nested without end", "send", `{"v":1,"parts":` + strings.Repeat("[", 100_000), events.CodeBadCommand},
		{"a verb nobody knows", "explode", `{"v":1}`, events.CodeUnknownVerb},
		{"a verb of a later release", "summarize", `{"v":1}`, events.CodeUnknownVerb},
		{"a verb in upper case", "Send", `{"v":1,"parts":[]}`, events.CodeUnknownVerb},
		{"no verb", "", `{"v":1}`, events.CodeUnknownVerb},
		{"too large", "send", strings.Repeat(" ", protocol.MaxCommandBytes+1), events.CodeTooLarge},
		{"too large for a verb nobody knows", "explode", strings.Repeat(" ", protocol.MaxCommandBytes+1), events.CodeTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			body, err := protocol.DecodeCommand(tt.verb, []byte(tt.body))
			refused, ok := errors.AsType[*protocol.RefusedError](err)
			if !ok || refused.Code != tt.code {
				t.Fatalf("body = %v, error = %v; want code %s", body, err, tt.code)
			}
			if body != nil {
				t.Errorf("a body came back with the error: %v", body)
			}
		})
	}
}

func TestRefusalsAreShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 100_000)
	for _, err := range []error{
		second(protocol.DecodeCommand(long, []byte(`{"v":1}`))),
		second(protocol.DecodeCommand("archive", []byte(`{"v":1,"`+long+`":1}`))),
	} {
		if err == nil || len(err.Error()) > events.MaxErrorChars {
			t.Errorf("refused with %.40v… of %d bytes", err, len(err.Error()))
		}
	}
}

func second(_ protocol.Body, err error) error { return err }

func TestLargestCommandIsTaken(t *testing.T) {
	t.Parallel()
	const head, tail = `{"v":1,"title":"`, `"}`
	body := head + strings.Repeat("a", protocol.MaxCommandBytes-len(head)-len(tail)) + tail
	if _, err := protocol.DecodeCommand("rename", []byte(body)); err != nil {
		t.Error(err)
	}
}

// Decoding never panics, and every error is a refusal that can be answered.
func TestDecodeCommandOfAnything(t *testing.T) {
	t.Parallel()
	bodies := rapid.OneOf(
		rapid.SliceOf(rapid.Byte()),
		rapid.Map(rapid.StringMatching(`\{"v":1(,"(turn|title|parts|settings|mode)":(1|""|null|\[\]|\{\})){0,3}\}`),
			func(s string) []byte { return []byte(s) }),
	)
	names := append(verbs(t), "", "other")
	rapid.Check(t, func(t *rapid.T) {
		verb := rapid.SampledFrom(names).Draw(t, "verb")
		body, err := protocol.DecodeCommand(verb, bodies.Draw(t, "body"))
		if err == nil {
			if string(body.Verb()) != verb {
				t.Errorf("a %s decodes to %T", verb, body)
			}
			return
		}
		refused, ok := errors.AsType[*protocol.RefusedError](err)
		if !ok || !slices.Contains([]events.Code{events.CodeBadCommand, events.CodeUnknownVerb}, refused.Code) {
			t.Errorf("error = %v", err)
		}
	})
}

func TestCommandID(t *testing.T) {
	t.Parallel()
	stored := time.Date(2026, 11, 29, 12, 0, 0, 123456789, time.UTC)
	for _, tt := range []struct {
		name, header string
		want         string // empty: refused
	}{
		{"the sender's", ulidOfCommand, ulidOfCommand},
		{"none: derived from time and sequence", "", "01M8KJT9KV000000000000007B"},
		{"lower case is another spelling of the same id", strings.ToLower(ulidOfCommand), ""},
		{"too short", ulidOfCommand[1:], ""},
		{"too long", ulidOfCommand + "0", ""},
		{"a UUID", "3b6f3a52-8f0e-5d3b-9a64-2c1f7f3f9a11", ""},
		{"a letter that is not used", strings.Replace(ulidOfCommand, "1", "U", 1), ""},
		{"more than 128 bits", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", ""},
		{"a wildcard", "*", ""},
		{"spaces around it", " " + ulidOfCommand[2:] + " ", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := protocol.CommandID(tt.header, stored, 235)
			if tt.want != "" {
				if err != nil || got != tt.want {
					t.Errorf("got %s, %v; want %s", got, err, tt.want)
				}
				return
			}
			refused, ok := errors.AsType[*protocol.RefusedError](err)
			if !ok || refused.Code != events.CodeBadCommand || got != "" {
				t.Errorf("got %q, error %v", got, err)
			}
		})
	}
}

// Every delivery of a stored command has the same id, and no two commands have one.
func TestDerivedCommandID(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(0, 1<<47).Draw(t, "ms")
		sequence := rapid.Uint64().Draw(t, "sequence")
		id := protocol.DerivedCommandID(time.UnixMilli(ms), sequence)

		parsed, err := ulid.ParseStrict(id)
		if err != nil || parsed.String() != id {
			t.Fatalf("%s is no ULID: %v", id, err)
		}
		if parsed.Time() != uint64(ms) {
			t.Errorf("%s was stored at %d, not %d", id, parsed.Time(), ms)
		}
		var low uint64
		for i, b := range parsed.Entropy() {
			if i < 2 && b != 0 {
				t.Errorf("%s: the highest bits are %x", id, parsed.Entropy())
			}
			low = low<<8 | uint64(b)
		}
		if low != sequence {
			t.Errorf("%s holds sequence %d, not %d", id, low, sequence)
		}
		if taken, err := protocol.CommandID(id, time.Time{}, 0); err != nil || taken != id {
			t.Errorf("a derived id is not accepted in a header: %v", err)
		}
	})
}
