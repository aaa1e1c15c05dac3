package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/payments"
	"github.com/everturn/everturn/protocol"
)

const examplePay = "../../examples/pay/"

func textOf(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func putFile(t *testing.T, path, content string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// What docs/IDEMPOTENCY.md shows is what is in examples/pay, and what it says to type
// pays, once, and says what the page says.
func TestThePagePays(t *testing.T) {
	t.Parallel()
	page := textOf(t, "../../docs/IDEMPOTENCY.md")
	declaration := textOf(t, examplePay+"tools.yaml")
	if !strings.Contains(page, "```yaml\n"+declaration+"```\n") {
		t.Error("the page shows another tools.yaml than that of the example")
	}
	code := regexp.MustCompile("(?s)```go\n(func .*?)```").FindStringSubmatch(page)
	if len(code) < 2 || !strings.Contains(textOf(t, examplePay+"main.go"), code[1]) {
		t.Error("the page shows other code than that of the example")
	}
	service := payments.New(payments.Options{})
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	t.Cleanup(service.Close)

	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", folder+"/", examplePay)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const passed = "pass_environment: [PAYMENTS_URL]"
	if !strings.Contains(declaration, passed) {
		t.Fatal("the tool does not read PAYMENTS_URL")
	}
	declaration = strings.Replace(declaration, passed, "environment: {PAYMENTS_URL: '"+server.URL+"'}", 1) // an environment of its own, for a test beside others
	tools := putFile(t, filepath.Join(folder, "tools.yaml"), declaration, 0o600)
	b := devWith(t, "--script", examplePay+"answers.yaml", "--workspace", t.TempDir(), "--tools", tools)

	steps := regexp.MustCompile("(?s)<!-- run -->\n```sh\n(.*?)```").FindStringSubmatch(page)
	if len(steps) < 2 {
		t.Fatal("the page says nothing to type")
	}
	shown := ""
	for line := range strings.Lines(steps[1]) {
		var words []string
		for _, word := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(line, -1) {
			words = append(words, strings.Trim(word, `"`))
		}
		r := b.command("", words[1:]...)
		if r.failure != nil && words[1] != "send" { // which says that somebody has to approve
			t.Errorf("%s: %v\n%s", line, r.failure, r.out)
		}
		shown = r.out
	}
	said := regexp.MustCompile("(?s)```text\n\\[…\\] assistant\n(.*?)```").FindStringSubmatch(page)
	if len(said) < 2 || !strings.Contains(shown, said[1]) {
		t.Errorf("the page shows %q, but this came:\n%s", said, shown)
	}
	paid := service.Effects()
	key := protocol.IdempotencyKey(events.Key{Tenant: client.DefaultTenant, Chat: "shop"}, events.CallID{Turn: 1, Step: 1, Ordinal: 1})
	if len(paid) != 1 || paid[0].Key != key || paid[0].Reference != "invoice 7" {
		t.Errorf("paid %+v, want once under %s", paid, key)
	}
	b.must("verify", "shop")
}

// A tool that is not idempotent leaves a word in the log before it starts, and what
// cannot tell what it did is not taken for failed.
func TestAProgramThatCannotTellLeavesItsCallUnknown(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	putFile(t, filepath.Join(folder, "post"), "#!/bin/sh\necho sent\nexit 75\n", 0o755)
	tools := putFile(t, filepath.Join(folder, "tools.yaml"), `tools:
  - {name: once, description: Posts., command: [./post], policy: allow}
  - {name: again, description: Posts., command: [./post], policy: allow, idempotent: true}
  - {name: look, description: Looks., command: [./post], read_only: true}
`, 0o600)
	script := putFile(t, filepath.Join(folder, "answers.yaml"), `rules:
  - when: {step: 1}
    answer: [{call: {name: once, arguments: ''}}, {call: {name: again, arguments: ''}}, {call: {name: look, arguments: ''}}]
  - answer: [{text: "it says: {{result}}"}]
`, 0o600)
	b := devWith(t, "--script", script, "--workspace", t.TempDir(), "--tools", tools)
	says(t, "doctor", b.command("", "doctor", "--tools", tools).out, "3 programs are declared, and there")
	b.command("go\n", "chat", "--chat", "c1")
	says(t, "the transcript", b.command("", "transcript", "c1").out, "[1.1.1 unknown]", "[1.1.2 unknown]", "[1.1.3 error]", "sent", "outcome unknown: the program says so")
	log := b.command("", "log", "c1", "--json").out
	if started := strings.Count(log, `"tool.started`); started != 1 {
		t.Errorf("tool.started stands %d times in the log, want once: of the tool that runs at most once\n%s", started, log)
	}
	b.must("verify", "c1")
}

func TestToolsCheckSaysWhatIsWrongAndWhatIsNeeded(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	good := putFile(t, filepath.Join(folder, "good.yaml"), `tools:
  - {name: one, description: x, command: [ls, -l], network: true, pass_environment: [NOT_SET_ANYWHERE], sandbox: off}
  - {name: two, description: x, command: [ls], read_only: true}
  - {name: three, description: x, command: [ls], idempotent: true}
`, 0o600)
	r := command(t, nil, nil, "tools", "check", good)
	says(t, "what is well", r.out, "one", "at most once", "network, --sandbox=off, NOT_SET_ANYWHERE (not set here)", "ls -l", "read-only", "idempotent")
	if r.code != 0 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	says(t, "as JSON", command(t, nil, nil, "tools", "check", good, "--json").out, `{"name":"one","description":"x",`, `"read_only":true`)
	bad := putFile(t, filepath.Join(folder, "bad.yaml"), "tools:\n  - {name: one, command: [nothing-of-that-name], colour: red}\n", 0o600)
	r = command(t, nil, nil, "tools", "check", good, bad)
	if r.code != 2 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	says(t, "what is wrong", r.failure.Error(), "bad.yaml:2:12: name: the runner has another tool", "bad.yaml:2:27: command: ", `unknown field "colour"`, "description: missing")
	for _, cmd := range [][]string{{"dev", "--port", "0", "--http", ""}, {"run", "hello"}} {
		if r := command(t, nil, nil, append(cmd, "--tools", bad)...); r.code != 2 {
			t.Errorf("%v: code %d: %v", cmd, r.code, r.failure)
		}
	}
}
