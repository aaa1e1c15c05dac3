package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// naming are two models: one that answers, and one that proposes titles.
const (
	namingModels = `
default: writer
titler: namer
models:
  - {name: writer, provider: script, script: script.yaml}
  - {name: namer, provider: script, script: script.yaml}
`
	namingScript = `
rules:
  - when: {model: namer}
    answer: [{text: '"A trip to Oslo"'}]
  - answer: [{text: "certainly"}]
`
)

func TestS12_AChatGetsATitle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{"models.yaml": namingModels, "script.yaml": namingScript} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := devWith(t, "--models", filepath.Join(dir, "models.yaml"))
	b.must("send", "--chat", "c1", "plan a trip to the north")
	for !strings.Contains(b.must("log", "c1").out, "chat.titled.v1") {
		continue // it comes by itself
	}
	says(t, "the transcript", b.must("transcript", "c1").out, "A trip to Oslo", "certainly")
	says(t, "the log", b.must("log", "c1").out, `"purpose":"title"`, `"step":"0.1"`)
	says(t, "what the model is shown", b.must("prompt", "c1", "0.1").out, `\"text\":\"plan a trip to the north\"`)

	b.must("send", "--chat", "c2", "--titler", "none", "plan another")
	b.must("send", "--chat", "c2", "--titler", "none", "and another")
	if log := b.must("log", "c2").out; strings.Contains(log, `"purpose":"title"`) {
		t.Errorf("a model is asked for a title though none is to:\n%s", log)
	}
	says(t, "the transcript of a chat without one", b.must("transcript", "c2").out, "plan another")

	b.must("send", "--chat", "c3", "--titler", "nosuchmodel", "plan a third")
	for !strings.Contains(b.must("log", "c3").out, "step.failed.v1") {
		continue // nobody of that name can be asked
	}
	b.must("send", "--chat", "c3", "and go on")
	for !strings.Contains(b.must("log", "c3").out, "chat.titled.v1") {
		continue // so another one is
	}
	if r := b.command("", "verify"); r.code != 0 {
		t.Errorf("verify: code %d\n%s", r.code, r.out)
	}
	if r := b.command("", "replay", "c1"); r.code != 0 {
		t.Errorf("replay: code %d\n%s", r.code, r.out)
	}
}
