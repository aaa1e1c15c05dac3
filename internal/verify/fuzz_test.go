package verify_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
)

// FuzzExport reads any text as an exported log and judges what is in it. A log
// that a program wrote is read as it was.
func FuzzExport(f *testing.F) {
	k := events.Key{Tenant: "acme", Chat: "fuzzed"}
	for i := range uint64(3) {
		var whole, bare bytes.Buffer
		c := chatgen.Log(k, rand.New(rand.NewPCG(i, 3)), 6)
		for n, b := range c.Bytes {
			if err := verify.WriteEntry(&whole, verify.Entry{Subject: c.Subject(4), Sequence: uint64(n + 1), Commit: b}); err != nil {
				f.Fatal(err)
			}
			bare.Write(append(b, '\n'))
		}
		f.Add(whole.Bytes())
		f.Add(bare.Bytes())
	}
	f.Add([]byte(`{"subject":"everturn.log.0.acme.a","sequence":1,"damaged":"AAE="}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		checker := verify.New(verify.Options{Idle: true})
		var again bytes.Buffer
		var read []verify.Entry
		for e, err := range verify.ReadEntries(bytes.NewReader(file)) {
			if err != nil {
				break
			}
			read = append(read, verify.Entry{Subject: e.Subject, Sequence: e.Sequence, Commit: bytes.Clone(e.Commit)})
			if err := verify.WriteEntry(&again, e); err != nil {
				t.Fatalf("read, and cannot be written: %v", err)
			}
			checker.Add(e)
		}
		checker.Finish(nil)
		n := 0
		for e, err := range verify.ReadEntries(&again) {
			if err != nil || n >= len(read) {
				t.Fatalf("entry %d written, and cannot be read: %v", n+1, err)
			}
			if e.Subject != read[n].Subject || e.Sequence != read[n].Sequence || !bytes.Equal(e.Commit, read[n].Commit) {
				t.Fatalf("entry %d is another one after writing:\n%+v\n%+v", n+1, read[n], e)
			}
			n++
		}
		if n != len(read) {
			t.Fatalf("%d entries, and %d after writing", len(read), n)
		}
	})
}
