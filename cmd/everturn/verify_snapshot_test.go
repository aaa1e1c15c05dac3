package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/streams"
)

// snapshot waits for the snapshot of a chat's newest commit.
func (b books) snapshot(k events.Key) []byte {
	b.Helper()
	list := b.entries(k)
	last := events.Hash(list[len(list)-1].Commit)
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		content, err := b.bus.Snapshots.Get(ctx, k, chat.FoldVersion)
		if plain, bad := s2.Decode(nil, content); err == nil && bad == nil && strings.Contains(string(plain), last) {
			return content
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			b.Fatal("there is no snapshot")
		}
	}
}

// lying is a snapshot in which a word of the state is another, under a checksum
// that fits: orchestrators believe it.
func lying(t *testing.T, content []byte, word, by string) []byte {
	t.Helper()
	plain, err := s2.Decode(nil, content)
	if err != nil {
		t.Fatal(err)
	}
	var envelope struct {
		Seq         uint64          `json:"seq"`
		Rev         uint64          `json:"rev"`
		Hash        string          `json:"hash"`
		Rules       int             `json:"rules"`
		PromptRules int             `json:"prompt_rules"`
		Sum         uint32          `json:"sum"`
		State       json.RawMessage `json:"state"`
	}
	if err := json.Unmarshal(plain, &envelope); err != nil {
		t.Fatal(err)
	}
	state := strings.Replace(string(envelope.State), word, by, 1)
	if state == string(envelope.State) {
		t.Fatalf("no %s in %s", word, state)
	}
	head := fmt.Sprintf("%d %d %s %d %d ", envelope.Seq, envelope.Rev, envelope.Hash, envelope.Rules, envelope.PromptRules)
	envelope.State, envelope.Sum = json.RawMessage(state), crc32.Checksum([]byte(head+state), crc32.MakeTable(crc32.Castagnoli))
	plain, err = json.Marshal(envelope)
	if err != nil {
		t.Fatal(err)
	}
	return s2.Encode(nil, plain)
}

// A snapshot that orchestrators would believe is held against the log. One that
// they would not harms nobody, and neither does it if there is none.
func TestVerifyComparesSnapshotsWithTheLog(t *testing.T) {
	t.Parallel()

	b := openBooks(t)
	k := events.Key{Tenant: "default", Chat: "c1"}
	b.turn(k, "hello")
	stored := b.snapshot(k)
	put := func(content []byte) {
		t.Helper()
		if err := b.bus.Snapshots.Put(t.Context(), k, chat.FoldVersion, content); err != nil {
			t.Fatal(err)
		}
	}
	good := func(what string) {
		t.Helper()
		if r := b.command("", "verify", "--idle"); r.code != 0 {
			t.Errorf("%s: code %d, says %q: %v", what, r.code, r.out, r.failure)
		}
	}
	good("as it was stored")

	put(lying(t, stored, `"archived":false`, `"archived":true`))
	r := b.command("", "verify", "c1")
	says(t, "verify", r.out, "I19 default.c1 rev ")
	says(t, "verify", r.out, "the snapshot is not the state that the log gives")
	if r.code != 9 {
		t.Errorf("a lie: code %d: %v", r.code, r.failure)
	}

	put(stored[:len(stored)/2])
	good("half of one")
	js, err := jetstream.New(b.nc)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), "KV_"+streams.SnapshotsBucket); err != nil {
		t.Fatal(err)
	}
	good("none at all")
}
