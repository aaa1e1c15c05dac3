//go:build processes

package streams_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// smallDisk names the folder of a disk that may be filled, in the process that
// has one.
const smallDisk = "EVERTURN_TEST_SMALL_DISK"

// A disk that is full stops all writes. The server then answers nothing until it
// is started anew; what it had acknowledged is there, and new commits follow it.
//
// The disk is a small one in memory, in a namespace of the test's own: that
// needs `unshare -rm`, which some machines do not allow. There it fails.
func TestAFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(smallDisk); dir != "" {
		fillDisk(t, dir)
		return
	}
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), "unshare", "-rm", "sh", "-c",
		`mount -t tmpfs -o size=24m tmpfs "$0" && exec "$1" -test.run '^TestAFullDiskLosesNothing$'`, dir, os.Args[0])
	child.Env = append(os.Environ(), smallDisk+"="+dir)
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func fillDisk(t *testing.T, dir string) {
	t.Helper()
	const fillerBytes, bodyBytes, plenty = 8 << 20, 64 << 10, 1 << 40
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, fillerBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	o := embedded.Options{Store: filepath.Join(dir, "store"), Configure: func(o *server.Options) {
		o.JetStreamMaxStore, o.JetStreamMaxMemory = plenty, plenty // it promises more than there is
	}}
	first, err := embedded.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, mustTopology(t), clientOf(t, first), streams.ApplyOptions{})
	log := openBus(t, first).Log
	acknowledged := grow(t, log, someChat, 1)
	for err == nil {
		var sequence uint64
		a := protocol.Append{Key: someChat, Fence: acknowledged[len(acknowledged)-1], Body: make([]byte, bodyBytes)}
		if sequence, err = log.Append(t.Context(), a); err == nil {
			acknowledged = append(acknowledged, sequence)
		}
	}
	if errors.Is(err, events.ErrConflict) {
		t.Errorf("a full disk answers %v", err)
	}
	if err := errors.Join(os.Remove(filler), first.Close()); err != nil {
		t.Fatal(err)
	}
	second, err := embedded.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Close() })
	mustApply(t, mustTopology(t), clientOf(t, second), streams.ApplyOptions{}) // what was in memory
	log = openBus(t, second).Log
	newest, err := log.Last(t.Context(), someChat)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(t, log, someChat, 0, newest.Sequence)
	if err != nil || len(got) < len(acknowledged) || len(got) > len(acknowledged)+1 { // one may have been stored unheard
		t.Fatalf("%d commits are there (%v), and %d were acknowledged", len(got), err, len(acknowledged))
	}
	for i, sequence := range acknowledged {
		if got[i] != sequence {
			t.Fatalf("commit %d has sequence %d, and was acknowledged as %d", i+1, got[i], sequence)
		}
	}
	if _, err := log.Append(t.Context(), protocol.Append{Key: someChat, Fence: newest.Sequence, Body: []byte("next")}); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
