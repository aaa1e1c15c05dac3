package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asks is a model that asks the person it talks to.
const asks = `
rules:
  - when: {input: choose, step: 1}
    answer:
      - call:
          name: ask_user
          arguments: >-
            {"questions":[
            {"id":"color","header":"Color","text":"Which color?","options":[{"label":"red","description":"like a rose"},{"label":"blue","description":"like the sea"}]},
            {"id":"size","header":"Size","text":"Which size?","options":[{"label":"small","description":"fits anywhere"},{"label":"large","description":"fits all"}]}]}
  - when: {input: map, step: 1}
    answer: [{call: {name: show_map, arguments: '{"place":"Oslo"}'}}]
  - answer: [{text: "the tool said: {{result}}"}]
`

func devAsking(t *testing.T) *laptop {
	t.Helper()
	script := filepath.Join(t.TempDir(), "asks.yaml")
	if err := os.WriteFile(script, []byte(asks), 0o600); err != nil {
		t.Fatal(err)
	}
	return devWith(t, "--script", script)
}

// Rule: S8.
func TestChatAsksInPlace(t *testing.T) {
	t.Parallel()
	b := devAsking(t)
	r := b.command("choose\n2\n as large as can be \n/quit\n", "chat", "--chat", "c1", "--tools", "ask_user", "--by", "user:ann")
	if r.code != 0 {
		t.Fatalf("code %d: %v\n%s", r.code, r.failure, r.err)
	}
	says(t, "the chat", r.out, "? Color: Which color?  [color]", "2. blue: like the sea", "= color: blue (user:ann)",
		"= size: as large as can be", `"text":"blue"`)
	says(t, "the transcript", b.command("", "transcript", "c1").out,
		"Size: Which size?", "- large: fits all", "= as large as can be", "(answered by user:ann)", "[1.1.1 ok]")
	says(t, "the log", b.log("c1"), `"question.asked.v1"`, `"question.answered.v1"`)

	r = b.command("choose\n\n\n", "chat", "--chat", "c2", "--tools", "ask_user")
	says(t, "nothing said to a question", r.out, "= color: red", "= size: small") // the first option of each
}

// A question can be answered, and held, from anywhere else.
//
// Rule: S8.
func TestAnswerOfAQuestion(t *testing.T) {
	t.Parallel()
	b := devAsking(t)
	talk := converse(b, "c2")
	if _, err := talk.lines.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	talk.out.await(t.Context(), "the tool said")
	b.must("configure", "c2", "--tools", "ask_user")
	if _, err := talk.lines.Write([]byte("choose\n")); err != nil {
		t.Fatal(err)
	}
	talk.out.await(t.Context(), "? Size")

	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"2.1.1", "--hold"}, 0, ""},
		{[]string{"2.1.1", "--release"}, 0, ""},
		{[]string{"2.1.1"}, 2, "want either"},
		{[]string{"2.1.1", "--hold", "color=red"}, 2, "want either"},
		{[]string{"2.1.1", "red"}, 2, "as in color=red"},
		{[]string{"2.1", "color=red"}, 2, "call"},
		{[]string{"2.1.1", "color=red"}, 2, "invalid_answer"},
		{[]string{"2.1.1", "color=red", "shape=round"}, 3, "unknown_question"},
		{[]string{"2.1.7", "color=red"}, 3, "unknown_call"},
		{[]string{"2.1.1", "color=red", "size=my own = words"}, 0, ""},
		{[]string{"2.1.1", "color=red", "size=late"}, 4, "already_resolved"},
	} {
		r := b.command("", append([]string{"answer", "c2"}, tt.args...)...)
		if r.code != tt.code || r.code != 0 && !strings.Contains(r.failure.Error(), tt.says) {
			t.Errorf("answer %v: code %d (%v), want %d with %q", tt.args, r.code, r.failure, tt.code, tt.says)
		}
	}
	talk.out.await(t.Context(), "my own = words")
	if err := talk.lines.Close(); err != nil {
		t.Fatal(err)
	}
	if r := <-talk.ended; r.code != 0 {
		t.Errorf("chat: code %d: %v", r.code, r.failure)
	}
}

// Rule: S4.7.
func TestAClientRunsItsOwnTool(t *testing.T) {
	t.Parallel()
	b := devAsking(t)
	file := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(file, []byte(`[{"name":"show_map","description":"Shows a map.","schema":{"type":"object"}}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	talk := converse(b, "c1")
	if _, err := talk.lines.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	talk.out.await(t.Context(), "the tool said")
	b.must("configure", "c1", "--client-tools", file)
	if _, err := talk.lines.Write([]byte("map\n")); err != nil {
		t.Fatal(err)
	}
	talk.out.await(t.Context(), "is the client's to run")
	says(t, "the transcript", b.command("", "transcript", "c1").out, "[2.1.1 client]")
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"2.1.2", "a map"}, 3, "unknown_call"},
		{[]string{"2.1.1", "a map of Oslo", "--error"}, 0, ""},
		{[]string{"2.1.1", "late"}, 4, "already_resolved"},
	} {
		r := b.command("", append([]string{"client-result", "c1"}, tt.args...)...)
		if r.code != tt.code || r.code != 0 && !strings.Contains(r.failure.Error(), tt.says) {
			t.Errorf("client-result %v: code %d (%v), want %d with %q", tt.args, r.code, r.failure, tt.code, tt.says)
		}
	}
	talk.out.await(t.Context(), "the tool said: a map of Oslo")
	if err := talk.lines.Close(); err != nil {
		t.Fatal(err)
	}
	if r := <-talk.ended; r.code != 0 {
		t.Errorf("chat: code %d: %v", r.code, r.failure)
	}
	for name, text := range map[string]string{"none": "", "nothing": "null", "no list": "{}"} {
		bad := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := b.command("", "configure", "c1", "--client-tools", bad); r.code != 2 {
			t.Errorf("%s: code %d: %v", name, r.code, r.failure)
		}
	}
}
