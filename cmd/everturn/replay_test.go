package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli/clitest"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// rewritten is a file with the log that `everturn log --json` printed of c1, after
// each commit went through change, in a chain that fits.
func rewritten(t *testing.T, log string, change func(*events.Commit)) string {
	t.Helper()
	var file bytes.Buffer
	var sequence uint64
	prev := ""
	for line := range strings.Lines(log) {
		c, err := events.Decode([]byte(strings.TrimSpace(line)))
		if err != nil {
			t.Fatal(err)
		}
		change(&c)
		c.Prev = prev
		b, err := events.Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		prev = events.Hash(b)
		sequence++
		subject := protocol.LogSubject(protocol.Shard(c.Key, 4), c.Key)
		if err := verify.WriteEntry(&file, verify.Entry{Subject: subject, Sequence: sequence, Commit: b}); err != nil {
			t.Fatal(err)
		}
	}
	return written(t, "log.jsonl", file.String())
}

// talked is a laptop with two chats, in c1 a turn that failed.
func talked(t *testing.T) *laptop {
	t.Helper()
	b := dev(t)
	for _, said := range [][]string{{"c1", "hello"}, {"c1", "fail"}, {"c2", "hello"}} {
		b.command("", "send", "--chat", said[0], said[1])
		b.command("", "tail", said[0], "--until-idle")
	}
	return b
}

func TestReplay(t *testing.T) {
	t.Parallel()
	b := talked(t)
	log := b.command("", "log", "c1", "--json").out
	whole := rewritten(t, log, func(*events.Commit) {})
	legal := rewritten(t, log, func(c *events.Commit) { // a turn that failed for another reason than its step did
		for i, e := range c.Events {
			if failed, ok := e.(events.TurnFailed); ok {
				failed.Class = events.ClassAuth
				c.Events[i] = failed
			}
		}
	})
	printed := written(t, "printed.jsonl", b.command("", "log", "c2", "--json").out)
	for _, tt := range []struct {
		name string
		code int
		args []string
		says []string
	}{
		{"what log prints", 0, []string{"replay", "--file", printed}, []string{"1 chat, 3 commits, "}},
		{"several files", 0, []string{"replay", "--file", whole, "--file", printed}, []string{"2 chats, "}},
		{"one chat", 0, []string{"replay", "c1"}, []string{"1 chat, ", "no difference"}},
		{"the tenant's", 0, []string{"replay"}, []string{"2 chats, "}},
		{"every tenant's", 0, []string{"replay", "--all"}, []string{"2 chats, "}},
		{"another tenant's", 0, []string{"replay", "--tenant", "nobody"}, []string{"0 chats, "}},
		{"a file", 0, []string{"replay", "--file", whole}, []string{"1 chat, "}},
		{"a chat in a file", 0, []string{"replay", "c1", "--file", whole}, []string{"1 chat, "}},
		{"no such chat", 3, []string{"replay", "nobody"}, nil},
		{"no such chat in a file", 3, []string{"replay", "nobody", "--file", whole}, nil},
		{"a difference", 9, []string{"replay", "--file", legal}, []string{
			"default.c1 rev 5 sequence 5, event 2 turn.failed.v1, class", `the log has "auth"`, `today it would be "invalid_request"`,
		}},
		{"a difference as JSON", 9, []string{"replay", "--file", legal, "--json"}, []string{
			`"rev":5`, `"event":2`, `"type":"turn.failed.v1"`, `"field":"class"`, `"logged":"\"auth\""`, `"different":1`,
		}},
		{"no difference as JSON", 0, []string{"replay", "--json"}, []string{`"chats":2`, `"believed":0`, `"different":0`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := b.command("", tt.args...)
			if r.code != tt.code {
				t.Errorf("code %d, want %d: %v", r.code, tt.code, r.failure)
			}
			says(t, tt.name, r.out, tt.says...)
			if slices.Contains(tt.args, "--json") {
				objects(t, tt.name, r.out)
			}
		})
	}
}

// What one command prints another can read without a file between them.
func TestLogsAreReadFromStandardInput(t *testing.T) {
	t.Parallel()
	log := talked(t).command("", "log", "c1", "--json").out
	for _, tt := range []struct {
		stdin string
		code  int
		args  []string
		says  string
	}{
		{log, 0, []string{"verify"}, "1 chat, no rule broken"},
		{log, 0, []string{"replay"}, "1 chat, "},
		{log, 0, []string{"prompt", "c1", "2.1"}, "you said: hello"},
		{log, 0, []string{"why", "c1", "turn:2"}, "turn.failed.v1"},
		{"", 0, []string{"verify"}, "0 chats"},
		{log[:len(log)-9], 9, []string{"verify"}, "standard input: "},
		{log, 3, []string{"replay", "nobody"}, "standard input has no chat default.nobody"},
	} {
		r := command(t, strings.NewReader(tt.stdin), nil, append(tt.args, "--file", "-")...)
		said := r.out
		if r.failure != nil {
			said += r.failure.Error()
		}
		if r.code != tt.code || !strings.Contains(said, tt.says) {
			t.Errorf("%v: code %d, want %d: %s", tt.args, r.code, tt.code, said)
		}
	}
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	b := talked(t)
	r := b.command("", "prompt", "c1", "2.1")
	says(t, "prompt", r.out, `"text": "hello"`, `"text": "you said: hello"`, `"text": "fail"`)
	says(t, "prompt", r.err, "step 2.1, attempt 1, rev 4", "sha256:")
	if r = b.command("", "prompt", "c1", "1.1", "--json", "--full"); r.code != 0 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	shown := objects(t, "prompt --json", r.out)
	if len(shown) != 1 || shown[0]["same"] != true || shown[0]["recorded"] != shown[0]["digest"] || strings.Contains(r.out, "you said") {
		t.Errorf("shown: %v", shown)
	}
	other := rewritten(t, b.command("", "log", "c1", "--json").out, func(c *events.Commit) {
		for i, e := range c.Events {
			if asked, ok := e.(events.StepRequested); ok {
				asked.Prompt = events.DigestOf(nil)
				c.Events[i] = asked
			}
		}
	})
	for _, tt := range []struct {
		code int
		args []string
	}{
		{9, []string{"prompt", "c1", "1.1", "--file", other}},
		{2, []string{"prompt", "c1", "1.1", "--file", other, "--full"}},
		{3, []string{"prompt", "c1", "9.1"}},
		{3, []string{"prompt", "c1", "1.1", "--attempt", "2"}},
		{3, []string{"prompt", "nobody", "1.1"}},
	} {
		if r := b.command("", tt.args...); r.code != tt.code {
			t.Errorf("%v: code %d, want %d: %v", tt.args, r.code, tt.code, r.failure)
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	b := talked(t)
	r := b.command("", "diff", "c1", "2", "3")
	says(t, "diff", r.out, "3.1  step.completed.v1  step 1.1, attempt 1: end", "3.2  turn.completed.v1", "- current ", "+ past ", "~ rev  2 -> 3")
	if r = b.command("", "diff", "c1", "3", "2", "--json"); r.code != 0 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	says(t, "diff --json", r.out, `{"path":"rev","old":3,"new":2}`, `"type":"turn.completed.v1"`)
	objects(t, "diff --json", r.out)
	if r = b.command("", "diff", "c1", "3", "3"); r.code != 0 || r.out != "" {
		t.Errorf("a rev and itself: code %d, %s", r.code, r.out)
	}
	for _, args := range [][]string{{"diff", "c1", "0", "99"}, {"diff", "nobody", "0", "1"}} {
		if r := b.command("", args...); r.code != 3 {
			t.Errorf("%v: code %d: %v", args, r.code, r.failure)
		}
	}
}

func TestWhy(t *testing.T) {
	t.Parallel()
	b := talked(t)
	r := b.command("", "why", "c1", "turn:2")
	says(t, "why", r.out,
		"5.2 ", "turn.failed.v1  turn 2: invalid_request", "followed in the same commit from",
		"5.1 ", "brought by attempt 2.1-1", "4.2 ", "4.1 ", "brought by command ", "(send")
	if r = b.command("", "why", "c1", "5.2", "--json"); r.code != 0 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	if chain := objects(t, "why --json", r.out); len(chain) != 5 || chain[0]["cause"] != nil || chain[4]["cause"] == nil {
		t.Errorf("chain: %v", chain)
	}
	for _, args := range [][]string{{"why", "c1", "9.9"}, {"why", "c1", "1.1.1"}, {"why", "nobody", "1"}} {
		if r := b.command("", args...); r.code != 3 {
			t.Errorf("%v: code %d: %v", args, r.code, r.failure)
		}
	}
}

func TestBadUsageOfHistories(t *testing.T) {
	t.Parallel()
	text := written(t, "text.jsonl", "no log")
	clitest.BadUsage(t, launched, [][]string{
		{"replay", "a.b"},
		{"replay", "c1", "--all"},
		{"replay", "--file", text + ".none"},
		{"replay", "--file", text},
		{"prompt", "c1"},
		{"prompt", "c1", "one"},
		{"prompt", "c1", "1.1", "--file", text},
		{"diff", "c1", "1"},
		{"diff", "c1", "1", "two"},
		{"diff", "c1", "--", "-1", "2"},
		{"why", "c1"},
		{"why", "c1", "turn:x"},
		{"why", "c1", "0"},
		{"why", "a.b", "1"},
	})
}
