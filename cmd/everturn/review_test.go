package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
	"github.com/nats-io/nats.go"
)

// judging are two models: one that calls a tool, and one that judges its calls.
const (
	judgingModels = `
default: writer
reviewer: judge
models:
  - {name: writer, provider: script, script: script.yaml}
  - {name: judge, provider: script, script: script.yaml}
`
	judgingScript = `
rules:
  - when: {model: judge, input: please}
    answer: [{text: "approve: the user asked for it"}]
  - when: {model: judge, input: perhaps}
    answer: [{text: "I would say that it depends."}]
  - when: {model: judge}
    answer: [{text: "ask: nobody asked for it"}]
  - when: {step: 1}
    answer: [{call: {name: write, arguments: '{"text":"{{input}}"}'}}]
  - answer: [{text: "the tool said: {{result}}"}]
`
)

// devJudging is a laptop with those models, and a runner that offers the tool.
func devJudging(t *testing.T) *laptop {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"models.yaml": judgingModels, "script.yaml": judgingScript} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := devWith(t, "--models", filepath.Join(dir, "models.yaml"))
	nc, err := nats.Connect(b.url)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		write := toolrunner.Func(protocol.Manifest{
			Name: "write", Description: "Writes.", Schema: json.RawMessage(`{"type":"object"}`), Policy: events.PolicyReview,
		}, func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
			return toolrunner.Output{Text: "written"}, nil
		})
		if err := parts.RunTools(ctx, nc, toolrunner.Config{Log: slog.New(slog.DiscardHandler)}, []toolrunner.Tool{write}); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait(); nc.Close() })
	for strings.Contains(b.command("please\n", "chat").out, "There is no tool") {
		continue // it has not been offered yet
	}
	return b
}

// Rule: S7.3.
func TestAModelJudgesCalls(t *testing.T) {
	t.Parallel()
	b := devJudging(t)
	r := b.command("please write\nnote it\ny\nperhaps write\nn not now\n", "chat", "--chat", "c1")
	if r.code != 0 {
		t.Fatalf("code %d: %v\n%s", r.code, r.failure, r.err)
	}
	says(t, "the chat", r.out, "judge judges call 1.1.1", "1.1.1: approved by model: the user asked for it", "the tool said: written", "3.1.1: denied by user")
	says(t, "what is asked", r.err, "call 2.1.1 wants to run", "(reviewed: nobody asked for it)", "(reviewed: the model that reviews gave no verdict)")
	if strings.Contains(r.err, "call 1.1.1 wants to run") {
		t.Errorf("a person is asked about what the model approved:\n%s", r.err)
	}
	says(t, "the transcript", b.command("", "transcript", "c1").out, "approved by model: the user asked for it")
	says(t, "the log", b.command("", "log", "c1").out, `"purpose":"review"`, `"by":"model"`)
	says(t, "why a call ran", b.command("", "why", "c1", "1.1.1").out, "step 1.2, attempt 1: review of call 1.1.1", "approved by model")
	says(t, "why another ran", b.command("", "why", "c1", "2.1.1").out, "reviewed in step 2.2: nobody asked for it")
	says(t, "what the judge is shown", b.command("", "prompt", "c1", "1.2").out, `\"user\":\"please write\"`)
	if r := b.command("", "verify"); r.code != 0 {
		t.Errorf("verify: code %d\n%s", r.code, r.out)
	}
	if r := b.command("", "replay", "c1"); r.code != 0 {
		t.Errorf("replay: code %d\n%s", r.code, r.out)
	}

	b.must("configure", "c1", "--reviewer", "none")
	r = b.command("please write\ny\n", "chat", "--chat", "c1")
	says(t, "what is asked without a model that judges", r.err, "call 4.1.1 wants to run")
	if strings.Contains(r.err, "reviewed") {
		t.Errorf("a model judges though none is to:\n%s", r.err)
	}
}

// A model that cannot be asked is no model that says no.
func TestS7_3_AJudgeThatIsNotThereLeavesItToAPerson(t *testing.T) {
	t.Parallel()
	b := devJudging(t)
	r := b.command("please write\ny\n", "chat", "--chat", "c1", "--reviewer", "nobody")
	if r.code != 0 {
		t.Fatalf("code %d: %v\n%s", r.code, r.failure, r.err)
	}
	says(t, "what is asked", r.err, "call 1.1.1 wants to run", "the model that reviews failed", "nobody")
	says(t, "the chat", r.out, "approved by user", "the tool said: written")
}
