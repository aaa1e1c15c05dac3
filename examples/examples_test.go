package examples_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/embedded/embeddedtest"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/script"
	"github.com/everturn/everturn/orchestrator"
)

// A tool that somebody embeds in a runner is used in a turn that somebody else
// begins with the client: two programs that know nothing of each other. The
// model is the one of whoever has set up none, as in docs/TOOLS.md.
func TestTheExamplesWorkTogether(t *testing.T) {
	t.Parallel()
	url := install(t)
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", folder, "./talk", "./weather")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	runner := exec.Command(filepath.Join(folder, "weather"))
	runner.Env = append(os.Environ(), "NATS_URL="+url)
	var log bytes.Buffer
	runner.Stderr = &log
	out, err := runner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "the weather is known\n" {
		t.Errorf("the runner says %q, %v\n%s", line, err, &log)
	}

	talk := exec.CommandContext(t.Context(), filepath.Join(folder, "talk"), "What is the weather in Lisbon?")
	talk.Env = append(os.Environ(), "NATS_URL="+url)
	said, err := talk.CombinedOutput()
	if err != nil {
		t.Errorf("talk: %v", err)
	}
	for _, words := range []string{"[call 1.1.1: ok]", "The tool said:", "Sunny in Lisbon, 21 °C.", "3 messages, 2 steps, 1 call\n"} {
		if !strings.Contains(string(said), words) {
			t.Errorf("talk does not say %q:\n%s", words, said)
		}
	}

	if err := runner.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	if err := runner.Wait(); err != nil {
		t.Errorf("weather: %v\n%s", err, &log)
	}
}

// install runs everything but tools and gives the server's address.
func install(t *testing.T) string {
	t.Helper()
	s := embeddedtest.Start(t, embedded.Options{})
	find := func(string) (model.Model, bool) { return script.Demo(), true }
	ready := make(chan struct{})
	start(t, s, func(ctx context.Context, nc *nats.Conn) error {
		cfg := orchestrator.Config{Defaults: events.Settings{Model: "script"}}
		return parts.RunOrchestrator(ctx, nc, parts.Topology{ManageAssets: true}, cfg, find, func() { close(ready) })
	})
	<-ready
	start(t, s, func(ctx context.Context, nc *nats.Conn) error {
		return parts.RunProjections(ctx, nc, "0.0.0", slog.New(slog.DiscardHandler))
	})
	user, password := s.Credentials()
	return strings.Replace(s.URL(), "nats://", "nats://"+user+":"+password+"@", 1)
}

func start(t *testing.T, s *embedded.Server, part func(context.Context, *nats.Conn) error) {
	t.Helper()
	nc, err := s.Connect("part")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background()) // the test's own ends before its cleanups
	var running sync.WaitGroup
	running.Go(func() {
		if err := part(ctx, nc); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait(); nc.Close() })
}
