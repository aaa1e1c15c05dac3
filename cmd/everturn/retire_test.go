package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
)

// refused runs a command that must end with that code and say those words.
func (b *laptop) refused(code int, words string, args ...string) {
	b.Helper()
	r := b.command("", args...)
	if r.code != code || r.failure == nil || !strings.Contains(r.failure.Error(), words) {
		b.Errorf("%v: code %d: %v, want %d: %s", args, r.code, r.failure, code, words)
	}
}

// erased waits until nothing but the tombstone is left of a chat.
func (b *laptop) erased(chat string) {
	b.Helper()
	for !strings.Contains(b.must("log", chat, "--json").out, `"chat.erased.v1"`) {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-b.Context().Done():
			b.Fatalf("%s is not erased", chat)
		}
	}
}

// Everybody who asks for an erased chat is told what has become of it.
func TestAChatIsErased(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.say("c1", "hello")
	b.refused(cli.ExitUsage, "--yes", "erase", "c1")
	b.must("fork", "c1", "--id", "kept")
	if r := b.must("erase", "c1", "--yes"); r.out != "c1\n" {
		t.Errorf("erase prints %q", r.out)
	}
	b.erased("c1")
	for _, args := range [][]string{
		{"send", "--chat", "c1", "late"},
		{"transcript", "c1"},
		{"transcript", "c1", "--at", "1"},
		{"export", "c1"},
		{"prompt", "c1", "1.1"},
		{"diff", "c1", "0", "1"},
		{"why", "c1", "turn:1"},
		{"fork", "c1"},
		{"tail", "c1"},
		{"erase", "c1", "--yes"},
	} {
		b.refused(cli.ExitNotFound, "erased", args...)
	}
	says(t, "verify", b.must("verify").out, "2 chats, no rule broken")
	says(t, "replay", b.must("replay").out, "2 chats", "no difference")
	b.say("kept", "and you?")
	says(t, "transcript of the fork", b.must("transcript", "kept").out, "you said: hello", "you said: and you?")
}

// Chats go into files and out of the installation, and only whole. What was broken off
// goes on where it was.
func TestChatsAreRetired(t *testing.T) {
	t.Parallel()
	b := dev(t)
	dir := t.TempDir()
	file := func(chat string) string { return filepath.Join(dir, "default."+chat+".jsonl") }
	for _, chat := range []string{"first", "exported", "cut", "taken"} {
		b.say(chat, "hello from "+chat)
	}
	b.must("send", "--chat", "open", "wait")
	b.refused(cli.ExitUsage, "either", "retire", "--to", dir)
	b.refused(cli.ExitUsage, `"-1h" is negative`, "retire", "--older-than", "-1h", "--to", dir)
	b.refused(cli.ExitUsage, `"-90d" is negative`, "retire", "--older-than=-90d", "--to", dir)
	b.refused(cli.ExitUsage, `"0h" is no age`, "retire", "--older-than", "0h", "--to", dir)
	b.refused(cli.ExitUsage, "expected age value", "retire", "--older-than", "--to", dir)
	b.refused(cli.ExitConflict, "something is open", "retire", "open", "--to", dir)
	if r := b.must("retire", "--older-than", "90d", "--to", dir); r.out != "" {
		t.Errorf("nothing is old, and retire prints %q", r.out)
	}
	if r := b.must("retire", "first", "--to", dir); !strings.HasPrefix(r.out, "default.first rev ") || !strings.Contains(r.out, " hash ") {
		t.Errorf("retire prints %q", r.out)
	}

	// As if it had been killed: behind the export, in the middle of it, and one file has
	// another chat in it.
	b.must("export", "exported", "--out", file("exported"))
	b.must("export", "cut", "--out", file("cut"))
	whole, err := os.ReadFile(file("cut"))
	if err == nil {
		err = os.WriteFile(file("cut"), whole[:len(whole)/2], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.must("export", "exported", "--out", file("taken"))
	r := b.command("", "retire", "--older-than", "1ms", "--to", dir)
	if r.code == 0 || !strings.Contains(r.failure.Error(), "has chat default.exported in it") {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	says(t, "retire", r.out, "default.exported rev ", "default.cut rev ")
	says(t, "retire", r.err, "default.open left as it is: something is open", "default.first left as it is: it is erased already")
	for _, chat := range []string{"first", "exported", "cut"} {
		b.erased(chat)
		if r := offline(t, "verify", "--idle", "--file", file(chat)); r.code != 0 {
			t.Errorf("the file of %s: %v\n%s", chat, r.failure, r.out)
		}
	}
	says(t, "transcript", b.must("transcript", "taken").out, "you said: hello from taken")
	if err := os.Symlink("/dev/null", file("open")); err != nil {
		t.Fatal(err)
	}
	b.must("interrupt", "open")
	b.must("tail", "open", "--until-idle")
	b.refused(cli.ExitUsage, "is no file", "retire", "open", "--to", dir)
	if r := b.must("export", "open", "--out", "-"); !strings.HasPrefix(r.out, "{") {
		t.Errorf("export --out - prints %q", r.out)
	}
	b.must("import", file("cut"), "--id", "back")
	says(t, "transcript of what came back", b.must("transcript", "back").out, "you said: hello from cut")
}

// A chat comes through a pipe as from a file, says what of its content was lost, and
// takes no id that was erased: no is the answer at once, not the end of the waiting.
func TestAChatIsImportedFromStandardInput(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.say("c1", strings.Repeat("long ", events.MaxInlineBytes/4))
	exported := b.must("export", "c1").out
	lines := strings.SplitAfter(exported, "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, `{"content":`) })
	digest := strings.Split(lines[at], `"`)[3]
	lost := strings.Replace(strings.Join(slices.Delete(slices.Clone(lines), at, at+1), ""), `"hash":`, `"missing":["`+digest+`"],"hash":`, 1)
	if r := b.command(exported, "import", "-", "--id", "whole"); r.code != 0 || strings.Contains(r.err, "lost") {
		t.Errorf("code %d: %v\n%s", r.code, r.failure, r.err)
	}
	if r := b.command(lost, "import", "-", "--id", "rest"); r.code != 0 || !strings.Contains(r.err, "content "+digest+" was lost before the export") {
		t.Errorf("code %d: %v\n%s", r.code, r.failure, r.err)
	}
	b.must("erase", "whole", "--yes")
	b.erased("whole")
	r := b.command(exported, "import", "-", "--id", "whole", "--wait", "1h")
	if r.code != cli.ExitNotFound || !strings.Contains(r.failure.Error(), "was erased") {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
}
