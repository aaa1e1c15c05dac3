package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
)

// Who comes to a chat that waits for a yes is asked.
//
// Rule: S7.
func TestAChatThatWaitsForAYesAsksWhoComes(t *testing.T) {
	t.Parallel()
	b := watched(t)
	if r := b.command("note\n", "chat", "--chat", "c1"); r.code != 8 {
		t.Fatalf("code %d: %v", r.code, r.failure)
	}
	r := b.command("", "chat", "--chat", "c1")
	if r.code != 8 {
		t.Errorf("with nothing to say: code %d: %v", r.code, r.failure)
	}
	says(t, "the question", r.err, "call 2.1.1 wants to run: append_ledger", "as the model wrote it")
	says(t, "the error", r.failure.Error(), "everturn approve c1 2.1.1")
	tail := b.watch("tail", "c1")
	tail.out.await(t.Context(), "waits for approval as 2.1.1: everturn approve c1 2.1.1")
	asJSON := b.watch("tail", "c1", "--json")
	asJSON.out.await(t.Context(), `{"open":[{`)
	r = b.command("y\nhello\n", "chat", "--chat", "c1")
	if r.code != 0 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	says(t, "what is shown", r.out, "2.1.1: approved by user", "Written to the ledger.", "you said: hello")
	tail.out.await(t.Context(), "2.1.1: approved by user")
}

// Who comes to a chat that asks something answers in place, and loses no answer.
//
// Rule: S8.
func TestAChatThatAsksAsksWhoComes(t *testing.T) {
	t.Parallel()
	b := devAsking(t)
	r := b.command("choose\n2\n", "chat", "--chat", "c1", "--tools", "ask_user")
	if r.code != 8 {
		t.Fatalf("code %d: %v", r.code, r.failure)
	}
	says(t, "the error", r.failure.Error(), "call 1.1.1 asks somebody", "everturn answer c1 1.1.1 color=blue size=...")
	says(t, "the transcript", b.must("transcript", "c1").out, "Color: Which color?  [color]",
		".. call 1.1.1 waits for an answer: everturn answer c1 1.1.1 color=... size=...")
	tail := b.watch("tail", "c1")
	tail.out.await(t.Context(), "everturn answer c1 1.1.1 color=... size=...")
	r = b.command("2\n1\n", "chat", "--chat", "c1")
	if r.code != 0 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	says(t, "what is shown", r.out, "? Color: Which color?", "= color: blue", "the tool said")
	if r := b.command("choose\n/quit\n", "chat", "--chat", "c1", "--tools", "ask_user"); r.code != 8 {
		t.Errorf("/quit in a question: code %d: %v", r.code, r.failure)
	}
	b.must("interrupt", "c1")
	b.must("tail", "c1", "--until-idle")
}

// A call of the client's own tools names what is to be typed.
//
// Rule: S4.7.
func TestAChatThatWaitsForItsClientSaysSo(t *testing.T) {
	t.Parallel()
	b := devAsking(t)
	file := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(file, []byte(`[{"name":"show_map","description":"Shows a map.","schema":{"type":"object"}}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	const line = "everturn client-result c1 1.1.1 TEXT"
	r := b.command("map\n", "chat", "--chat", "c1", "--client-tools", file)
	if r.code != 8 {
		t.Fatalf("code %d: %v", r.code, r.failure)
	}
	says(t, "the error", r.failure.Error(), "call 1.1.1 is the client's to run", line)
	says(t, "what is said at once", r.err, line)
	says(t, "the transcript", b.must("transcript", "c1").out, line)
	if r := b.command("/quit\n", "chat", "--chat", "c1"); r.code != 8 {
		t.Errorf("/quit: code %d: %v", r.code, r.failure)
	}
	tail := b.watch("tail", "c1")
	tail.out.await(t.Context(), line)
	r = b.command("\xff\xfe\x00", "client-result", "c1", "1.1.1", "-")
	if r.code != 2 {
		t.Errorf("what is no text: code %d: %v", r.code, r.failure)
	}
	b.must("client-result", "c1", "1.1.1", "a map of Oslo")
	tail.out.await(t.Context(), "the tool said: a map of Oslo")
}

// A word that lacks its text is not unknown.
func TestALineThatLacksItsText(t *testing.T) {
	t.Parallel()
	r := dev(t).command("/steer\n/nothing\n", "chat")
	says(t, "the chat", r.err, "/steer wants a text behind it", "there is no /nothing")
}

// watching is a command that runs until the test ends.
type watching struct{ out *buffer }

// watch runs a command until the test ends.
func (b *laptop) watch(args ...string) watching {
	b.Helper()
	w := watching{out: &buffer{written: make(chan struct{}, 1)}}
	var running sync.WaitGroup
	running.Go(func() { commandInto(b.T, w.out, &buffer{}, nil, nil, append(args, "--server", b.url)...) })
	b.Cleanup(running.Wait) // the test's context has ended by then
	return w
}

// Whoever approves a call sees all of what will run: nothing hides, and nothing is
// turned around.
func TestNothingHidesBesideAnApproval(t *testing.T) {
	t.Parallel()
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	var q approving
	q.see(client.Sight{Commit: &events.Commit{Events: []events.Event{
		events.StepCompleted{Step: events.StepID{Turn: 1, Step: 1}, Parts: []events.Part{
			{Type: events.PartCall, Name: "pay", Ordinal: 1, Arguments: "{\"to\":\"a\u202eb\u200bc\"," + strings.Repeat(" ", 300) + "\"sum\":900}"},
		}},
		events.ApprovalRequested{Call: call, Tool: "pay"},
	}}})
	says(t, "the question", q.text(), "a<U+202E>b<U+200B>c", `"sum":900`)
	var out buffer
	view := &liveView{out: &out}
	for _, piece := range []string{"a\u202e", "\u0645", "\u200c", "\u062e"} {
		view.printf("%s", piece)
	}
	if got, want := out.String(), "a<U+202E>\u0645\u200c\u062e"; got != want {
		t.Errorf("shown: %q, want %q", got, want)
	}
}
