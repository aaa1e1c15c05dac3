package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/everturn/everturn/internal/cli"
)

// Somebody writes a webhooks.yaml, tries it, and has it sent by everturn dev.
func TestWebhooksByHand(t *testing.T) {
	t.Setenv("EVERTURN_TEST_HOOK", "whsec_"+strings.Repeat("QUJD", 12))
	told := make(chan string, 100)
	var refuse atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse.Load() {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		var e struct{ Type, Subject string }
		b, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(b, &e)
		}
		if err != nil {
			t.Errorf("%s: %v", b, err)
		}
		told <- e.Type + " " + e.Subject
	}))
	defer receiver.Close()
	file := filepath.Join(t.TempDir(), "webhooks.yaml")
	text := "dead_letters: dead.jsonl\nwebhooks:\n  - name: crm\n    url: " + receiver.URL + "/secret-path\n" +
		"    secret_env: [EVERTURN_TEST_HOOK]\n    events: [turn.completed]\n    retry_for: 10ms\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	tried := command(t, nil, nil, "webhooks", "test", "crm", "--file", file)
	says(t, "test", tried.out, "webhook crm: taken")
	if got := <-told; !strings.HasPrefix(got, "webhook.tested.v1 ") {
		t.Errorf("told %s", got)
	}
	if no := command(t, nil, nil, "webhooks", "test", "other", "--file", file); no.code != cli.ExitNotFound {
		t.Errorf("an unknown one: code %d, %v", no.code, no.failure)
	}

	b := devWith(t, "--webhooks", file)
	b.command("", "send", "--chat", "oslo", "hello")
	if got := <-told; got != "turn.completed.v1 oslo" {
		t.Errorf("told %s", got)
	}
	says(t, "list", b.command("", "webhooks", "list", "--file", file).out, "crm", strings.TrimPrefix(receiver.URL, "http://"), "commits")
	if list := b.command("", "webhooks", "list", "--file", file, "--json").out; strings.Contains(list, "secret-path") || !strings.Contains(list, `"begun":true`) {
		t.Errorf("list %s", list)
	}

	refuse.Store(true)
	b.command("", "send", "--chat", "oslo", "hello again")
	for looking := time.NewTicker(10 * time.Millisecond); ; <-looking.C {
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), "dead.jsonl")); err == nil {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("nothing is set aside")
		}
	}
	left := b.command("", "webhooks", "redrive", "--file", file)
	says(t, "redrive", left.out, "crm default.oslo.", "status 400")
	if left.code != cli.ExitFailure {
		t.Errorf("code %d", left.code)
	}
	refuse.Store(false)
	says(t, "redrive", b.command("", "webhooks", "redrive", "--file", file).out, ": taken")
	if got := <-told; got != "turn.completed.v1 oslo" {
		t.Errorf("told %s", got)
	}
	says(t, "forget", b.command("", "webhooks", "forget", "crm").out, "webhook crm: forgotten")
	if no := b.command("", "webhooks", "forget", "nobody"); no.code != cli.ExitNotFound {
		t.Errorf("an unknown one: code %d", no.code)
	}
}

// What is written for other systems is what the SDK of CloudEvents takes.
func TestAnExportAsCloudEvents(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.command("", "send", "--chat", "oslo", "hello")
	exported := b.command("", "export", "oslo", "--format", "cloudevents")
	says(t, "export", exported.err, "chat oslo, rev ")
	kinds := map[string]bool{}
	ids := map[string]bool{}
	lines := bufio.NewScanner(strings.NewReader(exported.out))
	for lines.Scan() {
		var e event.Event
		err := json.Unmarshal(lines.Bytes(), &e)
		if err == nil {
			err = e.Validate()
		}
		if err != nil || e.Subject() != "oslo" || e.Source() != "/everturn/default" || ids[e.ID()] {
			t.Errorf("line %s: %v", lines.Text(), err)
		}
		kinds[e.Type()], ids[e.ID()] = true, true
	}
	for _, kind := range []string{"chat.created.v1", "input.accepted.v1", "turn.started.v1", "step.completed.v1", "turn.completed.v1"} {
		if !kinds[kind] {
			t.Errorf("%s is not there", kind)
		}
	}
	if no := b.command("", "export", "nobody", "--format", "cloudevents"); no.code != cli.ExitNotFound {
		t.Errorf("a chat that is not there: code %d", no.code)
	}
}
