package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// books are an installation into whose logs a test writes what should not be there.
type books struct{ office }

func openBooks(t *testing.T) books {
	t.Helper()
	return books{newOffice(t)}
}

// turn has a turn in a chat and waits for its end.
func (b books) turn(k events.Key, said string) {
	b.Helper()
	for _, args := range [][]string{{"send", "--chat", k.Chat, said}, {"tail", k.Chat, "--until-idle"}} {
		if r := b.command("", append(args, "--tenant", k.Tenant)...); r.code != 0 {
			b.Fatalf("%s: code %d: %v", args[0], r.code, r.failure)
		}
	}
}

// entries are a chat's commits.
func (b books) entries(k events.Key) []verify.Entry {
	b.Helper()
	last, err := b.bus.Log.Last(b.Context(), k)
	if err != nil {
		b.Fatal(err)
	}
	var list []verify.Entry
	for m, err := range b.bus.Log.Read(b.Context(), k, 0, last.Sequence) {
		if err != nil {
			b.Fatal(err)
		}
		list = append(list, verify.Entry{Subject: m.Subject, Sequence: m.Sequence, Commit: m.Body})
	}
	return list
}

// forge puts the last commit of a chat behind it once more.
func (b books) forge(k events.Key) {
	b.Helper()
	list := b.entries(k)
	last := list[len(list)-1]
	if _, err := b.bus.Log.Append(b.Context(), protocol.Append{Key: k, Fence: last.Sequence, Body: last.Commit}); err != nil {
		b.Fatal(err)
	}
}

// onEachShard is one chat of each tenant on each shard.
func onEachShard(shards int, tenants ...string) []events.Key {
	var keys []events.Key
	for _, tenant := range tenants {
		for shard := range shards {
			k := events.Key{Tenant: tenant}
			for n := 0; k.Chat == "" || protocol.Shard(k, shards) != shard; n++ {
				k.Chat = fmt.Sprintf("c%d", n)
			}
			keys = append(keys, k)
		}
	}
	return keys
}

func TestVerifyLooksAtEveryChatOfEveryTenantOnEveryShard(t *testing.T) {
	t.Parallel()

	b := openBooks(t)
	keys := onEachShard(b.bus.Log.Shards(), "default", "acme")
	for _, k := range keys {
		b.turn(k, "hello")
	}
	r := b.command("", "verify", "--idle")
	if want := fmt.Sprintf("%d chats, no rule broken\n", len(keys)); r.code != 0 || r.out != want {
		t.Errorf("code %d, says %q, want %q: %v", r.code, r.out, want, r.failure)
	}
	for _, k := range keys {
		b.forge(k)
	}
	r = b.command("", "verify")
	for _, k := range keys {
		says(t, "verify", r.out, "I1 "+k.String()+" rev ")
	}
	if r.code != 9 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
}

func TestVerifyOfOneChatLooksAtNoOther(t *testing.T) {
	t.Parallel()

	b := openBooks(t)
	good, bad := events.Key{Tenant: "default", Chat: "good"}, events.Key{Tenant: "acme", Chat: "bad"}
	b.turn(good, "hello")
	b.turn(bad, "hello")
	b.forge(bad)
	if r := b.command("", "verify", "good"); r.code != 0 || r.out != "1 chat, no rule broken\n" {
		t.Errorf("code %d, says %q: %v", r.code, r.out, r.failure)
	}
	if r := b.command("", "verify", "bad", "--tenant", "acme"); r.code != 9 {
		t.Errorf("code %d, says %q: %v", r.code, r.out, r.failure)
	}
}

// What a program gets names the place, and the one that it clashes with.
func TestVerifyNamesBothPlaces(t *testing.T) {
	t.Parallel()

	b := openBooks(t)
	k := events.Key{Tenant: "default", Chat: "c1"}
	b.turn(k, "hello")
	b.forge(k)
	list := b.entries(k)
	first, again := list[len(list)-2], list[len(list)-1]
	r := b.command("", "verify", "--json")
	lines := objects(t, "verify", r.out)
	place := func(of map[string]any) string {
		return fmt.Sprint(of["rule"], of["tenant"], of["chat"], of["rev"], of["sequence"], of["clash"])
	}
	rev := len(list) - 1
	want := fmt.Sprint("I2", "default", "c1", rev, again.Sequence, map[string]any{"rev": rev, "sequence": first.Sequence})
	if r.code != 9 || len(lines) < 2 || place(lines[0]) != want {
		t.Errorf("code %d, first %v, want %s", r.code, lines, want)
	}
}

func TestVerifyLooksAtContent(t *testing.T) {
	t.Parallel()

	b := openBooks(t)
	k := events.Key{Tenant: "default", Chat: "c1"}
	b.turn(k, strings.Repeat("long ", events.MaxInlineBytes/4))
	if r := b.command("", "verify"); r.code != 0 {
		t.Fatalf("code %d: %s%v", r.code, r.out, r.failure)
	}
	js, err := jetstream.New(b.nc)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := js.Stream(t.Context(), "OBJ_"+streams.BlobsStore)
	if err != nil {
		t.Fatal(err)
	}
	if err := blobs.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := b.command("", "verify")
	says(t, "verify", r.out, "I18 default.c1 rev ", "not found")
	if r.code != 9 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
}

// A command that was decided and is still stored would be decided again after a
// loss of memory; one that nobody has decided yet is nobody's fault.
func TestVerifyAtRestLooksAtStoredCommands(t *testing.T) {
	t.Parallel()

	b := openBooks(t)
	k := events.Key{Tenant: "default", Chat: "c1"}
	b.turn(k, "hello")
	l := b.entries(k)
	last, err := events.Decode(l[len(l)-1].Commit)
	if err != nil {
		t.Fatal(err)
	}
	// The log says that the newest command was decided, and names one that is to come.
	next, err := events.Encode(events.Commit{
		ID: "01K00000000000000000000000", Key: k, Rev: last.Rev + 1, Prev: events.Hash(l[len(l)-1].Commit), At: last.At,
		Cause:  events.Cause{Kind: events.CausedByCommand, ID: "01K00000000000000000000001", Verb: "rename", Sequence: 1 << 40},
		Events: []events.Event{events.ChatTitled{Title: "a title"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.bus.Log.Append(t.Context(), protocol.Append{Key: k, Fence: l[len(l)-1].Sequence, Body: next}); err != nil {
		t.Fatal(err)
	}
	if r := b.command("", "verify", "--idle"); r.code != 0 {
		t.Fatalf("code %d: %s%v", r.code, r.out, r.failure)
	}
	js, err := jetstream.New(b.nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.PauseConsumer(t.Context(), streams.CommandsStream, streams.CommandsConsumer, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	m := &nats.Msg{Subject: protocol.CommandSubject(k, "rename"), Header: nats.Header{}, Data: []byte("{}")}
	m.Header.Set(protocol.HeaderID, "01K00000000000000000000001")
	if _, err := js.PublishMsg(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	r := b.command("", "verify", "--idle")
	says(t, "verify", r.out, "I2 default.c1 rev ", "is still stored")
	if r.code != 9 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	if r := b.command("", "verify"); r.code != 0 {
		t.Errorf("not at rest: code %d: %v", r.code, r.failure)
	}
}

// exported writes commits into a file, as they lie in the log.
func exported(t *testing.T, list []verify.Entry) string {
	t.Helper()
	var file bytes.Buffer
	for _, e := range list {
		if err := verify.WriteEntry(&file, e); err != nil {
			t.Fatal(err)
		}
	}
	return written(t, "log.jsonl", file.String())
}

func TestVerifyOfFiles(t *testing.T) {
	t.Parallel()

	b := openBooks(t)
	one, two := events.Key{Tenant: "default", Chat: "c1"}, events.Key{Tenant: "acme", Chat: "c2"}
	b.turn(one, "hello")
	b.turn(two, "hello")
	l1, l2 := b.entries(one), b.entries(two)
	half := len(l1) / 2
	commits := written(t, "commits.jsonl", b.command("", "log", "c1", "--json").out)
	changed := written(t, "changed.jsonl", strings.Replace(b.command("", "log", "c1", "--json").out, "hello", "hallo", 1))
	for _, tt := range []struct {
		name  string
		files []string
		code  int
		says  string
	}{
		{"a chat", []string{exported(t, l1)}, 0, "1 chat, no rule broken"},
		{"two chats in a file", []string{exported(t, slices.Concat(l1, l2))}, 0, "2 chats, no rule broken"},
		{"two chats in two files", []string{exported(t, l1), exported(t, l2)}, 0, "2 chats, no rule broken"},
		{"a chat in two files", []string{exported(t, l1[:half]), exported(t, l1[half:])}, 0, "1 chat, no rule broken"},
		{"the end of a chat", []string{exported(t, l1[half:])}, 9, "the log begins at rev"},
		{"its files in the wrong order", []string{exported(t, l1[half:]), exported(t, l1[:half])}, 9, "I1 default.c1"},
		{"what log prints", []string{commits}, 0, "1 chat, no rule broken"},
		{"what log printed, changed", []string{changed}, 9, "prev is not the hash"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"verify", "--idle"}
			for _, name := range tt.files {
				args = append(args, "--file", name)
			}
			r := command(t, strings.NewReader(""), nil, args...)
			says(t, "verify", r.out, tt.says)
			if r.code != tt.code {
				t.Errorf("code %d, want %d: %v", r.code, tt.code, r.failure)
			}
		})
	}
}

func TestVerifyListsItsRules(t *testing.T) {
	t.Parallel()

	r := command(t, strings.NewReader(""), nil, "verify", "--rules")
	if r.code != 0 || strings.Count(r.out, "\n") != 20 {
		t.Errorf("code %d: %v\n%s", r.code, r.failure, r.out)
	}
	says(t, "verify --rules", r.out, "I1  checked", "I10 checked", "I20 checked")
	r = command(t, strings.NewReader(""), nil, "verify", "--rules", "--json")
	lines := objects(t, "verify --rules --json", r.out)
	if b, err := json.Marshal(lines); len(lines) != 20 || err != nil || lines[16]["judged"] != true {
		t.Errorf("prints %s: %v", b, err)
	}
}
