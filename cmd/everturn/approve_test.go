package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/tools"
)

// watched is a chat with one turn behind it, in which every call that has an effect
// needs somebody; and a tool runner that has such a tool.
func watched(t *testing.T) *laptop {
	t.Helper()
	b := dev(t)
	nc, err := nats.Connect(b.url)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		ledger := tools.AppendLedger(filepath.Join(t.TempDir(), "ledger"))
		cfg := toolrunner.Config{Log: slog.New(slog.DiscardHandler)}
		if err := parts.RunTools(ctx, nc, cfg, []toolrunner.Tool{ledger}); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait(); nc.Close() })
	for strings.Contains(b.command("note\n", "chat").out, "There is no tool") {
		continue // it has not been offered yet
	}
	if r := b.command("hello\n", "chat", "--chat", "c1"); r.code != 0 {
		t.Fatal(r.failure)
	}
	if r := b.command("", "set-mode", "c1", "ask"); r.code != 0 {
		t.Fatal(r.failure)
	}
	return b
}

// Who says yes says it to all of the arguments, also to those that do not fit.
func TestWhoApprovesIsToldOfArgumentsThatAreNotShown(t *testing.T) {
	t.Parallel()
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	asked := func(p events.Part) string {
		q := approving{open: []events.ApprovalRequested{{Call: call, Tool: "run_shell"}}, called: map[events.CallID]events.Part{call: p}}
		return q.text()
	}
	long := `{"script":"` + strings.Repeat("a", maxAskedChars) + `rm -r ."}`
	for name, tt := range map[string]struct {
		part events.Part
		want string
	}{
		"long":   {events.Part{Arguments: long}, fmt.Sprintf("%d characters more are not", len(long)-maxAskedChars+1)},
		"stored": {events.Part{Arguments: `{"script":"a`, Blob: "sha256-x"}, "stored as sha256-x"},
	} {
		if text := asked(tt.part); !strings.Contains(text, "only the beginning") || !strings.Contains(text, tt.want) {
			t.Errorf("%s: says %q", name, text)
		}
	}
	if text := asked(events.Part{Arguments: long[:maxAskedChars]}); strings.Contains(text, "only the beginning") {
		t.Errorf("says %q", text)
	}
}

func TestAChatAsksInPlace(t *testing.T) {
	t.Parallel()
	b := watched(t)
	r := b.command("note\nperhaps\n{\"text\": 3}\n{\"text\": \"as a person wrote it\"}\nnote\nn not twice\nhello\n", "chat", "--chat", "c1")
	if r.code != 0 {
		t.Fatalf("code %d: %v\n%s", r.code, r.failure, r.err)
	}
	says(t, "what is asked", r.err, "call 2.1.1 wants to run: append_ledger", "as the model wrote it", "y: yes", "do not fit the tool's schema")
	says(t, "what is shown", r.out, "append_ledger waits for approval as 2.1.1", "2.1.1: approved by user", "3.1.1: denied by user", "not twice", "you said: hello")
	says(t, "the transcript", b.command("", "transcript", "c1").out, "approved by user", "with {\"text\":\"as a person wrote it\"}", "denied by user", "not twice")
	says(t, "what the model is told", b.command("", "prompt", "c1", "4.1").out, "A person changed the arguments of this call")
}

func TestAChatThatNobodyAnswersSaysWhatWaits(t *testing.T) {
	t.Parallel()
	b := watched(t)
	r := b.command("note\n", "chat", "--chat", "c1")
	if r.code != 8 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	says(t, "the error", r.failure.Error(), "everturn approve c1 2.1.1")
	says(t, "the transcript", b.command("", "transcript", "c1").out, "waits for approval until", ".. call 2.1.1 waits for approval: everturn approve c1 2.1.1")
	if r := b.command("", "approve", "c1", "2.1.1", "--for-chat", "--grant", "network", "--reason", "fine"); r.code != 0 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	b.command("", "tail", "c1", "--until-idle")
	again := b.command("note\n", "chat", "--chat", "c1")
	if again.code != 0 || !strings.Contains(again.out, "approved for this chat before") {
		t.Errorf("code %d, shown: %s", again.code, again.out)
	}
	why := b.command("", "why", "c1", "2.1.1").out
	says(t, "why", why, "approval.resolved", "approval.requested")
}

func TestApprovalsAtTheCommandLine(t *testing.T) {
	t.Parallel()
	b := watched(t)
	b.command("note\n", "chat", "--chat", "c1")
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"approve", "c1", "2.1.9"}, 3, "unknown_call"},
		{[]string{"approve", "c1", "2.1"}, 2, ""},
		{[]string{"approve", "c1", "2.1.1", "--stop"}, 2, "--stop goes with --deny"},
		{[]string{"approve", "c1", "2.1.1", "--deny", "--for-chat"}, 2, ""},
		{[]string{"approve", "c1", "2.1.1", "--deny", "--args", "{}"}, 2, "do not go with --deny"},
		{[]string{"approve", "c1", "2.1.1", "--args", "{"}, 2, "want a JSON object"},
		{[]string{"approve", "c1", "2.1.1", "--args", `{"text": 1}`}, 2, "invalid_answer"},
		{[]string{"approve", "c1", "2.1.1", "--deny", "--stop", "--reason", "enough"}, 0, ""},
		{[]string{"approve", "c1", "2.1.1"}, 4, "already_resolved"},
		{[]string{"set-mode", "c1", "sometimes"}, 2, ""},
		{[]string{"set-mode", "c1", "full"}, 0, ""},
	} {
		what := strings.Join(tt.args, " ")
		r := b.command("", tt.args...)
		if r.code != tt.code || tt.says != "" && (r.failure == nil || !strings.Contains(r.failure.Error(), tt.says)) {
			t.Errorf("%s: code %d, want %d: %v", what, r.code, tt.code, r.failure)
		}
	}
	says(t, "the transcript", b.command("", "transcript", "c1").out, "turn 2 interrupted: enough")
	if r := b.command("note\n", "chat", "--chat", "c1"); r.code != 0 || strings.Contains(r.err, "wants to run") {
		t.Errorf("in mode full: code %d, %s", r.code, r.err)
	}
}

// A line answers the question that was put when it began to be typed, and no other.
func TestALineIsNoAnswerToAQuestionThatCameMeanwhile(t *testing.T) {
	t.Parallel()
	call := func(ordinal int) events.CallID { return events.CallID{Turn: 1, Step: 1, Ordinal: ordinal} }
	see := func(q *approving, out io.Writer, list ...events.Event) {
		if q.see(client.Sight{Commit: &events.Commit{Events: list}}) {
			q.ask(out)
		}
	}
	var out bytes.Buffer
	talk := &talk{s: &surroundings{stderr: &out}} // without a client: nothing may be told to the chat
	q := &talk.approving
	see(q, &out, events.ApprovalRequested{Call: call(1), Tool: "look"}, events.ApprovalRequested{Call: call(2), Tool: "pay"})
	see(q, &out, events.ApprovalResolved{Call: call(1)}) // by somebody else, while "y" is typed
	out.Reset()
	if err := talk.decide(t.Context(), "y"); err != nil {
		t.Fatal(err)
	}
	says(t, "what is said instead", out.String(), "call 1.1.1 was decided elsewhere", "call 1.1.2 wants to run: pay")
	if q.misses(&out) {
		t.Error("the line after that is no answer either")
	}
	if b, ok := q.answerIn("y"); !ok || b.Call != call(2) {
		t.Errorf("it is about %s", b.Call)
	}
}

// With nothing set up, what a person has to approve can be tried: the demo wants to
// write a file, and does so when it may.
func TestAnApprovalCanBeTriedWithTheDemo(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	b := devWith(t, "--workspace", folder)
	notes := filepath.Join(folder, "notes.txt")
	if r := b.command("write hello\nn not now\n", "chat", "--chat", "c1"); r.code != 0 {
		t.Fatalf("code %d: %v", r.code, r.failure)
	}
	if _, err := os.Stat(notes); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was denied, and written: %v", err)
	}
	r := b.command("write hello\ny\n", "chat", "--chat", "c1")
	if r.code != 0 {
		t.Fatalf("code %d: %v", r.code, r.failure)
	}
	says(t, "what is asked", r.err, "wants to run: write_file", "notes.txt")
	if got, err := os.ReadFile(notes); err != nil || string(got) != "write hello\n" {
		t.Errorf("the file says %q, %v", got, err)
	}
}

func TestNothingIsWrittenWhereThatIsNotWanted(t *testing.T) {
	t.Parallel()
	b := devWith(t, "--workspace", t.TempDir(), "--no-write")
	r := b.command("write hello\n", "chat", "--chat", "c1")
	if r.code != 0 || strings.Contains(r.out, "write_file") {
		t.Errorf("code %d: %v\n%s", r.code, r.failure, r.out)
	}
}
