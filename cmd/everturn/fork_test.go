package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
)

// must runs a command that has to succeed.
func (b *laptop) must(args ...string) ran {
	b.Helper()
	r := b.command("", args...)
	if r.code != 0 {
		b.Fatalf("%v: code %d: %v\n%s%s", args, r.code, r.failure, r.out, r.err)
	}
	return r
}

// say has a turn in a chat and waits for its end.
func (b *laptop) say(chat, text string) {
	b.Helper()
	b.must("send", "--chat", chat, text)
	b.must("tail", chat, "--until-idle")
}

// A chat whose model is being asked is forked, and so is the fork. The fork of the
// fork moves to another installation and goes on there.
func TestAChatIsForkedExportedAndImported(t *testing.T) {
	t.Parallel()
	b := dev(t)
	long := strings.Repeat("long ", events.MaxInlineBytes/4)
	b.say("c1", long)
	b.say("c1", "hello")
	b.must("send", "--chat", "c1", "wait")
	b.must("send", "--chat", "c1", "later")
	before := b.must("log", "c1", "--json").out

	if r := b.must("fork", "c1", "--id", "c2", "--title", "Another"); r.out != "c2\n" {
		t.Errorf("fork prints %q", r.out)
	}
	shown := b.must("transcript", "c2").out
	says(t, "transcript of the fork", shown, "Another", "you said: hello", "interrupted")
	b.say("c2", "and now?")
	says(t, "transcript of the fork", b.must("transcript", "c2").out, "you said: and now?", long[:100])
	says(t, "diff", b.must("diff", "c2", "0", "2").out, "chat.created.v2  rev ", "input.withdrawn.v1", "turn.started.v1  turn 4")
	says(t, "prompt", b.must("prompt", "c2", "4.1", "--full").out, "you said: hello", "and now?", long[:100])
	says(t, "why", b.must("why", "c2", "step:4.1").out, "2.1", "(send)")
	if after := b.must("log", "c1", "--json").out; !strings.HasPrefix(after, before) || strings.Contains(after[len(before):], "interrupted") {
		t.Error("the fork has changed the chat it was made of")
	}
	b.must("fork", "c1", "--at", "3", "--id", "c3")
	if shown := b.must("transcript", "c3").out; strings.Contains(shown, "hello") {
		t.Errorf("a fork at an earlier rev shows what came later:\n%s", shown)
	}

	b.must("fork", "c2", "--id", "c4")
	b.say("c4", "third")
	file := filepath.Join(t.TempDir(), "c4.jsonl")
	b.must("export", "c4", "--out", file)
	says(t, "verify", b.must("verify").out, "4 chats, no rule broken")
	says(t, "replay", b.must("replay", "--all").out, "4 chats", "no difference")
	for _, command := range []string{"verify", "replay"} {
		if r := offline(t, command, "--file", file); r.code != 0 || strings.Contains(r.out, "not judged") {
			t.Errorf("%s of the file: code %d, %s: %v", command, r.code, r.out, r.failure)
		}
	}

	other := dev(t)
	other.say("busy", "so that commands have other numbers here")
	other.must("import", file, "--id", "moved")
	shown = other.must("transcript", "moved").out
	says(t, "transcript of what was imported", shown, "you said: third", "you said: hello", long[:100])
	other.say("moved", "here")
	says(t, "transcript of what was imported", other.must("transcript", "moved").out, "you said: here")
	other.must("fork", "moved", "--id", "again")
	says(t, "verify", other.must("verify").out, "3 chats, no rule broken")
	says(t, "replay", other.must("replay", "--all").out, "3 chats", "no difference")
	if r := other.command("", "import", file, "--id", "moved"); r.code != 4 {
		t.Errorf("import over a chat: code %d: %v", r.code, r.failure)
	}
}

// offline runs a command that needs no server.
func offline(t *testing.T, args ...string) ran {
	t.Helper()
	return command(t, strings.NewReader(""), nil, args...)
}

func TestForksThatCannotBe(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.say("c1", "hello")
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"fork", "none"}, 3, "unknown_chat: there is no chat none"},
		{[]string{"fork", "c1", "--at", "99"}, 2, "bad_command: rev: chat c1 has"},
		{[]string{"fork", "c1", "--id", "c1"}, 4, "exists: "},
		{[]string{"fork", "c1", "--tenant", "acme"}, 3, "unknown_chat: "},
		{[]string{"fork", "c1", "--title", strings.Repeat("x", 300)}, 2, "bad_command: title: "},
		{[]string{"export", "none"}, 3, "does not exist"},
	} {
		r := b.command("", tt.args...)
		if r.code != tt.code || r.failure == nil || !strings.Contains(r.failure.Error(), tt.says) {
			t.Errorf("%v: code %d, want %d: %v", tt.args, r.code, tt.code, r.failure)
		}
	}
}

// A file that is not what export wrote becomes no chat, and nothing of it is sent.
func TestFilesThatAreNoExportAreNotImported(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.say("c1", strings.Repeat("long ", events.MaxInlineBytes/4))
	b.say("c2", "hello")
	whole := b.must("export", "c1").out
	lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
	last := len(lines) - 1
	without := func(n int) string { return strings.Join(lines[:n], "") + strings.Join(lines[n+1:], "") }
	content := strings.Index(whole, `"data":"`) + len(`"data":"`)
	for _, tt := range []struct {
		name, file string
		code       int
		says       string
	}{
		{"nothing", "", 9, "it does not say where the chat ends"},
		{"no JSON", "hello", 2, "line 1: "},
		{"half of it", whole[:len(whole)/2], 9, "cut off"},
		{"without its last line", strings.Join(lines[:last], ""), 9, "it does not say where the chat ends"},
		{"what log prints", b.must("log", "c1", "--json").out, 9, "it does not say where the chat ends"},
		{"without its last commit", without(last - 1), 9, "does not end with the commit it was exported with"},
		{"without a commit", without(2), 9, "rev 3 stands where 2 should"},
		{"without content", without(1), 9, "content sha256:"},
		{"with other content", whole[:content] + "AAAA" + whole[content+4:], 9, "has the digest"},
		{"with another byte", strings.Replace(whole, `"mode":"queue"`, `"mode":"reject"`, 1), 9, "does not follow"},
		{"two chats", whole + b.must("export", "c2").out, 2, "more than one chat"},
		{"of a newer release", strings.ReplaceAll(whole, `"turn.started.v1"`, `"turn.started.v9"`), 1, "a newer one wrote it"},
	} {
		name := written(t, "export.jsonl", tt.file)
		r := b.command("", "import", name, "--id", "new")
		if r.code != tt.code || r.failure == nil || !strings.Contains(r.failure.Error(), tt.says) {
			t.Errorf("%s: code %d, want %d: %v", tt.name, r.code, tt.code, r.failure)
		}
	}
	if r := b.command("", "transcript", "new"); r.code != 3 {
		t.Errorf("there is a chat now: code %d: %s", r.code, r.out)
	}
	b.must("import", written(t, "export.jsonl", whole), "--id", "new")
}

func TestAnExportIsWholeOrNotThere(t *testing.T) {
	t.Parallel()
	b := dev(t)
	dir := t.TempDir()
	name := filepath.Join(dir, "c1.jsonl")
	if r := b.command("", "export", "c1", "--out", name); r.code != 3 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("something is left: %v, %v", left, err)
	}
	b.say("c1", "hello")
	r := b.must("export", "c1", "--out", name)
	says(t, "export", r.err, "chat c1, rev ", "hash ")
	file, err := os.ReadFile(name)
	if err != nil || !strings.HasPrefix(string(file), b.must("log", "c1", "--json").out) {
		t.Errorf("the commits are not in the file as they are stored: %v", err)
	}
}
