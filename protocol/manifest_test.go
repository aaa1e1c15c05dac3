package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/google/go-cmp/cmp"
)

// Rule: S4.1.
func TestManifestValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*protocol.Manifest)
		want   []string // each stands in the error; none: valid
	}{
		{"with everything", func(*protocol.Manifest) {}, nil},
		{"with no more than needed", func(m *protocol.Manifest) {
			*m = protocol.Manifest{Name: "x", Group: "g", Schema: json.RawMessage(`{}`)}
		}, nil},
		{"the longest timeout", func(m *protocol.Manifest) { m.TimeoutMS = 86_400_000 }, nil},
		{"no name", func(m *protocol.Manifest) { m.Name = "" }, []string{"name:"}},
		{"a name with a dot", func(m *protocol.Manifest) { m.Name = "a.b" }, []string{"name:"}},
		{"a name with a line break at its end", func(m *protocol.Manifest) { m.Name = "ab\n" }, []string{"name:"}},
		{"a name that is too long", func(m *protocol.Manifest) { m.Name = strings.Repeat("a", 65) }, []string{"name:"}},
		{"no group", func(m *protocol.Manifest) { m.Group = "" }, []string{"group:"}},
		{"a group that is a wildcard", func(m *protocol.Manifest) { m.Group = "*" }, []string{"group:"}},
		{"a group in upper case", func(m *protocol.Manifest) { m.Group = "Files" }, []string{"group:"}},
		{"a description that is too long", func(m *protocol.Manifest) { m.Description = strings.Repeat("a", 16<<10+1) }, []string{"description:"}},
		{"no schema", func(m *protocol.Manifest) { m.Schema = nil }, []string{"schema:"}},
		{"a schema that is no JSON", func(m *protocol.Manifest) { m.Schema = json.RawMessage(`{`) }, []string{"schema:"}},
		{"a schema that is a list", func(m *protocol.Manifest) { m.Schema = json.RawMessage(`[]`) }, []string{"schema:"}},
		{"a schema that is null", func(m *protocol.Manifest) { m.Schema = json.RawMessage(`null`) }, []string{"schema:"}},
		{
			"a schema that is too long",
			func(m *protocol.Manifest) {
				m.Schema = json.RawMessage(`{"title":"` + strings.Repeat("a", 64<<10) + `"}`)
			},
			[]string{"schema:"},
		},
		{"a timeout below zero", func(m *protocol.Manifest) { m.TimeoutMS = -1 }, []string{"timeout_ms:"}},
		{"a timeout beyond a day", func(m *protocol.Manifest) { m.TimeoutMS = 86_400_001 }, []string{"timeout_ms:"}},
		{"a timeout that overflows", func(m *protocol.Manifest) { m.TimeoutMS = 1 << 62 }, []string{"timeout_ms:"}},
		{"a policy nobody knows", func(m *protocol.Manifest) { m.Policy = "maybe" }, []string{"policy:"}},
		{"several things at once", func(m *protocol.Manifest) { m.Name, m.Group, m.Policy = "", "", "?" }, []string{"name:", "group:", "policy:"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := everyManifest()
			tt.change(&m)
			err := m.Validate()
			if (err == nil) != (tt.want == nil) {
				t.Fatalf("error = %v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in: %v", want, err)
				}
			}
		})
	}
}

func TestManifestTool(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{}`)
	for _, tt := range []struct {
		name string
		m    protocol.Manifest
		want events.Tool
	}{
		{
			"a tool with effects asks, and runs alone",
			protocol.Manifest{Name: "x", Group: "g", Schema: schema},
			events.Tool{TimeoutMS: 120_000, Policy: events.PolicyAsk},
		},
		{
			"a tool that only reads is allowed, and runs beside others",
			protocol.Manifest{Name: "x", Group: "g", Schema: schema, ReadOnly: true},
			events.Tool{TimeoutMS: 120_000, Policy: events.PolicyAllow, ReadOnly: true, Parallel: true},
		},
		{
			"unless it says otherwise",
			protocol.Manifest{
				Name: "x", Group: "g", Schema: schema, ReadOnly: true, Parallel: new(false), TimeoutMS: 5, Policy: events.PolicyReview,
			},
			events.Tool{TimeoutMS: 5, Policy: events.PolicyReview, ReadOnly: true},
		},
		{
			"every flag is taken over",
			protocol.Manifest{
				Name: "x", Group: "g", Schema: schema, Idempotent: true, Exclusive: true, StopAfter: true, Parallel: new(true),
			},
			events.Tool{
				TimeoutMS: 120_000, Policy: events.PolicyAsk, Idempotent: true, Exclusive: true, StopAfter: true, Parallel: true,
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, digest := tt.m.Encode()
			if digest != events.DigestOf(b) {
				t.Errorf("digest %s is not of the bytes", digest)
			}
			tt.want.Name, tt.want.Group, tt.want.Manifest = "x", "g", digest
			if diff := cmp.Diff(tt.want, tt.m.Tool()); diff != "" {
				t.Errorf("tool (-want +got):\n%s", diff)
			}
		})
	}
}

// The digest stands in logs: the same manifest must have it in every release.
func TestManifestDigestIsFrozen(t *testing.T) {
	t.Parallel()
	const want = "sha256:80cce207ebd366139d204001236898598ad06d9d50f4307fca411fc61eab0341"
	if _, got := everyManifest().Encode(); got != want {
		t.Errorf("digest is %s, want %s", got, want)
	}
}

// A tool that sees another key for the same call would do its work twice.
func TestIdempotencyKeyIsFrozen(t *testing.T) {
	t.Parallel()
	const want = "919ba15f-8f6f-5fa5-a1f9-e69029d20fc9"
	if got := protocol.IdempotencyKey(key, call); got != want {
		t.Errorf("key is %s, want %s", got, want)
	}
	other := events.CallID{Turn: 3, Step: 21, Ordinal: 1}
	if protocol.IdempotencyKey(key, other) == want {
		t.Error("another call has the same key")
	}
}
