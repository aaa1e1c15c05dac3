package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everturn/everturn/protocol/listing"
)

// What is asked across chats, at the command line: everything in one process keeps an
// index by itself.
func TestChatsAtTheCommandLine(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.must("send", "--chat", "c1", "--by", "user:ann", "hello zebra")
	b.must("tail", "c1", "--until-idle")
	b.must("send", "--chat", "c2", "--by", "user:bob", "hello quagga")
	b.must("tail", "c2", "--until-idle")
	b.must("rename", "c2", "About quaggas")
	for { // the list is a moment behind
		if shown := b.must("chats", "--json", "--limit", "1").out; strings.Contains(shown, "About quaggas") {
			break
		}
	}
	shown := b.must("chats").out
	says(t, "the list", shown, "CHAT", "c1", "hello zebra", "c2", "About quaggas", "user:ann", "idle")
	if strings.Index(shown, "c2") > strings.Index(shown, "c1") {
		t.Errorf("the one that changed last is not the first:\n%s", shown)
	}
	if shown := b.must("chats", "--owner", "user:ann").out; strings.Contains(shown, "c2") || !strings.Contains(shown, "c1") {
		t.Errorf("the chats of one owner:\n%s", shown)
	}
	says(t, "what was found", b.must("search", "quagga").out, "c2", "user", "hello quagga")
	says(t, "what was found in one", b.must("search", "hello", "--in", "c1", "--kind", "user").out, "hello zebra")
	var hit listing.Hit
	if err := json.Unmarshal([]byte(b.must("search", "zebra", "--kind", "user", "--json").out), &hit); err != nil || hit.Chat != "c1" {
		t.Errorf("hit %+v, %v", hit, err)
	}
	says(t, "usage", b.must("usage", "--per", "chat").out, "c1", "c2", "total", "unknown")
	says(t, "what waits", b.must("open").out, "WHAT")
	for _, args := range [][]string{
		{"chats", "--status", "asleep"},
		{"chats", "--limit", "-1"},
		{"search", "?!"},
		{"search", "x", "--kind", "nobody"},
		{"usage", "--per", "moon"},
		{"usage", "--from", "yesterday"},
		{"open", "--kinds", "lunch"},
		{"projections", "rebuild", "nothing", "--store", t.TempDir()},
		{"projections", "rebuild", "index"},
	} {
		if r := b.command("", args...); r.code != 2 {
			t.Errorf("%v: code %d, want 2: %v", args, r.code, r.failure)
		}
	}
	store := t.TempDir()
	says(t, "a rebuild", b.must("projections", "rebuild", "index", "--store", store).out, "index is built")
	if files, err := filepath.Glob(filepath.Join(store, "index", "index-1.db")); err != nil || len(files) != 1 {
		t.Errorf("built as %v, %v", files, err)
	}
}
