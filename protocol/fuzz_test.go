package protocol_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// FuzzNames reads any text as a subject and as the name of a timer. What is taken
// is spelt exactly so.
func FuzzNames(f *testing.F) {
	k := events.Key{Tenant: "acme", Chat: "01K"}
	for _, s := range []string{
		protocol.CommandSubject(k, "send"), protocol.LogSubject(3, k), protocol.ClaimSubject(k), "everturn.log.03.acme.a",
		"retry-3-2-1", "deadline-3-2-1", "end-3", "end-03", "retry-3-2-", "everturn.cmd.*.>.x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := protocol.ParseTimerName(s); err == nil && n.String() != s {
			t.Errorf("timer %q is spelt %q", s, n)
		}
		if k, verb, err := protocol.ParseCommandSubject(s); err == nil && protocol.CommandSubject(k, verb) != s {
			t.Errorf("command %q is spelt %q", s, protocol.CommandSubject(k, verb))
		}
		if shard, k, err := protocol.ParseLogSubject(s); err == nil && protocol.LogSubject(shard, k) != s {
			t.Errorf("log %q is spelt %q", s, protocol.LogSubject(shard, k))
		}
		if k, err := protocol.ParseChatSubject(s); err == nil && k.Validate() != nil {
			t.Errorf("%q names %v", s, k)
		}
	})
}

// FuzzManifest reads any bytes as the manifest of a tool. What is valid has a
// digest, and the same one when it was stored and read.
func FuzzManifest(f *testing.F) {
	files, err := filepath.Glob("testdata/wire/manifest.*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m protocol.Manifest
		if json.Unmarshal(b, &m) != nil || m.Validate() != nil {
			return
		}
		stored, digest := m.Encode()
		var back protocol.Manifest
		if err := json.Unmarshal(stored, &back); err != nil {
			t.Fatalf("stored, and cannot be read: %v", err)
		}
		if err := back.Validate(); err != nil {
			t.Errorf("valid until it was stored: %v", err)
		}
		if again := back.Tool().Manifest; again != digest {
			t.Errorf("its digest is %s, and %s when it was stored", digest, again)
		}
		if back.Tool().TimeoutMS <= 0 {
			t.Errorf("a timeout of %d ms", back.Tool().TimeoutMS)
		}
	})
}
