package main

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/streams"
)

// objects fails unless each line is a JSON object, and gives them.
func objects(t *testing.T, what, text string) []map[string]any {
	t.Helper()
	var found []map[string]any
	for line := range strings.Lines(text) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Errorf("%s: a line is no JSON object: %v\n%s", what, err, line)
		}
		found = append(found, object)
	}
	return found
}

func TestEveryCommandPrintsJSON(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.command("", "send", "--chat", "c1", "hello")
	b.command("", "tail", "c1", "--until-idle")
	for _, args := range [][]string{
		{"send", "--chat", "c1", "again"},
		{"interrupt", "c1", "--turn", "1"},
		{"tail", "c1", "--until-idle"},
		{"transcript", "c1"},
		{"log", "c1"},
		{"verify", "c1"},
		{"streams", "diff"},
		{"streams", "apply"},
		{"doctor"},
		{"chat"},
	} {
		what := strings.Join(args, " ")
		r := b.command("hello\n", append(slices.Clone(args), "--json")...)
		if r.code != 0 && args[0] != "interrupt" { // that turn has ended
			t.Errorf("%s: code %d: %v", what, r.code, r.failure)
		}
		objects(t, what, r.out)
		if r.out == "" && args[0] != "streams" && args[0] != "tail" {
			t.Errorf("%s: prints nothing", what)
		}
	}
	for _, args := range [][]string{
		{"run", "hello", "--script", b.script}, {"config", "check"}, {"config", "print"}, {"models", "list"}, {"models", "test", "script"}, {"version"}, {"streams", "print"},
	} {
		what := strings.Join(args, " ")
		r := command(t, strings.NewReader(""), nil, append(slices.Clone(args), "--json")...)
		if len(objects(t, what, r.out)) == 0 || r.code != 0 {
			t.Errorf("%s: code %d: %v", what, r.code, r.failure)
		}
	}
}

// --version is one line, and version tells the same first.
func TestVersion(t *testing.T) {
	t.Parallel()
	short := command(t, strings.NewReader(""), nil, "--version")
	long := command(t, strings.NewReader(""), nil, "version")
	if !strings.HasPrefix(short.out, "everturn ") || !strings.HasPrefix(long.out, short.out) {
		t.Errorf("--version prints %q, version %q", short.out, long.out)
	}
}

// verdictOf is what doctor says about a check.
func verdictOf(t *testing.T, r ran, check string) (verdict, detail string) {
	t.Helper()
	for _, o := range objects(t, "doctor", r.out) {
		if o["check"] == check {
			verdict, _ := o["verdict"].(string)
			detail, _ := o["detail"].(string)
			return verdict, detail
		}
	}
	t.Errorf("doctor says nothing about %s:\n%s", check, r.out)
	return "", ""
}

func TestDoctorFindsNothingWhereAllIsWell(t *testing.T) {
	t.Parallel()
	r := dev(t).command("", "doctor", "--json")
	if r.code != 0 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	for _, check := range []string{"server", "jetstream", "streams", "storage", "clock", "commands", "queries", "feed", "workers", "sandbox"} {
		if verdict, detail := verdictOf(t, r, check); verdict != verdictOK {
			t.Errorf("%s: %s: %s", check, verdict, detail)
		}
	}
}

func TestDoctorFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	b := dev(t)
	nc, err := nats.Connect(b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), streams.DeadStream); err != nil {
		t.Fatal(err)
	}
	r := b.command("", "doctor", "--json")
	if verdict, detail := verdictOf(t, r, "streams"); verdict != verdictFail || !strings.Contains(detail, "create DEAD") || r.code != 1 {
		t.Errorf("code %d, %s: %s", r.code, verdict, detail)
	}
}

func TestDoctorWithoutAServer(t *testing.T) {
	t.Parallel()
	r := command(t, strings.NewReader(""), nil, "doctor", "--json", "--server", "nats://127.0.0.1:1")
	if verdict, _ := verdictOf(t, r, "server"); verdict != verdictFail || r.code != 5 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
}

// A folder without a backup makes nothing, and the message says what is missing.
func TestStreamsRestoreWithoutABackup(t *testing.T) {
	t.Parallel()
	b := dev(t)
	r := b.command("", "streams", "restore", t.TempDir())
	if r.code != 2 || r.out != "" || !strings.Contains(r.failure.Error(), "LOG_0 is missing") {
		t.Errorf("code %d: %v\n%s", r.code, r.failure, r.out)
	}
}

// What is open is closed only where nobody works on it.
func TestStreamsCloseBesideAnOrchestrator(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.must("send", "--chat", "open", "wait")
	b.refused(cli.ExitConflict, "stop all of them first", "streams", "close")
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		words []string
		want  []string
		not   []string
	}{
		{"commands first", nil, []string{"send", "doctor", "--help"}, []string{"__complete", "bench-tool"}},
		{"commands of a command", []string{"streams"}, []string{"diff", "apply"}, []string{"send"}},
		{"flags of a command", []string{"send"}, []string{"--chat", "--server", "--json"}, []string{"diff"}},
		{"values of a flag", []string{"send", "--mode"}, []string{"queue", "reject"}, []string{"--json"}},
		{"after a value its command goes on", []string{"send", "--mode", "queue"}, []string{"--chat"}, []string{"queue"}},
		{"values of an argument", []string{"completion"}, []string{"bash", "zsh", "fish"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := command(t, strings.NewReader(""), nil, append([]string{"__complete"}, tt.words...)...)
			got := strings.Fields(r.out)
			for _, word := range tt.want {
				if !slices.Contains(got, word) {
					t.Errorf("no %q in %q", word, got)
				}
			}
			for _, word := range tt.not {
				if slices.Contains(got, word) {
					t.Errorf("%q in %q", word, got)
				}
			}
		})
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if r := command(t, strings.NewReader(""), nil, "completion", shell); !strings.Contains(r.out, "everturn __complete") {
			t.Errorf("%s: %q", shell, r.out)
		}
	}
}

// In an installation with accounts each user sees what is theirs; the operator
// sees everything, and with the system account how the server syncs.
func TestDoctorByRole(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	out := &buffer{written: make(chan struct{}, 1)}
	ended := make(chan error, 1)
	go func() {
		s := &surroundings{launcher: launcher, ctx: ctx, stdout: out, stderr: io.Discard}
		err := s.run([]string{"server", "--auth", "--json", "--store", store, "--port", "0"})
		cancel() // nothing more comes
		ended <- err
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	out.await(ctx, "system.json")
	if users := objects(t, "server", out.String()); len(users) == 0 || users[0]["context"] == nil {
		t.Errorf("users: %v", users)
	}
	as := func(role string, args ...string) ran {
		return command(t, strings.NewReader(""), nil, append(args, "--context", filepath.Join(store, "roles", role+".json"))...)
	}
	if r := as("operator", "streams", "apply"); r.code != 0 {
		t.Fatal(r.failure)
	}
	operator := as("operator", "doctor", "--json", "--wait", "1s", "--system-account", filepath.Join(store, "roles", "system.json"))
	for _, check := range []string{"jetstream", "streams", "storage", "clock", "sync"} {
		if verdict, detail := verdictOf(t, operator, check); verdict != verdictOK {
			t.Errorf("operator: %s: %s: %s", check, verdict, detail)
		}
	}
	client := as("client-default", "doctor", "--json")
	if verdict, detail := verdictOf(t, client, "jetstream"); verdict != verdictWarn || !strings.Contains(detail, "not checked") {
		t.Errorf("client: jetstream: %s: %s", verdict, detail)
	}
	// Nobody runs here, and doctor says so.
	if verdict, _ := verdictOf(t, client, "commands"); verdict != verdictFail || client.code != 1 {
		t.Errorf("client: code %d, commands: %s", client.code, verdict)
	}
	if r := as("runner-builtin", "send", "hello"); r.code != 6 {
		t.Errorf("a runner that sends: code %d: %v", r.code, r.failure)
	}
}
