package system

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn"
	"github.com/everturn/everturn/internal/connect"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/streams"
)

// badStarts are processes that cannot start beside a running system. It must
// not notice.
func badStarts() []badInput {
	return []badInput{
		{name: "an unknown field in streams.yaml", bring: func(c *chat) {
			err := c.s.another(c.T, "replicas: auto", "replicsa: auto")
			bad, ok := errors.AsType[*streams.FileError](err)
			if !ok {
				c.Fatalf("error %v", err)
			}
			says(c.T, "error", bad.Error(), `unknown field "replicsa"`, "other.yaml:"+strconv.Itoa(bad.Problems[0].Line)+":1")
		}},
		{name: "a changed number of shards", bring: func(c *chat) {
			err := c.s.another(c.T, "shards: 4", "shards: 8")
			if wrong, ok := errors.AsType[*streams.ShardsError](err); !ok || wrong.Server != "4" {
				c.Fatalf("error %v", err)
			}
		}},
		{name: "wrong credentials", bring: func(c *chat) {
			user, _ := c.s.server.Credentials()
			flags := connect.Flags{Server: c.s.server.URL(), User: user, Password: "guessed"}
			_, err := flags.Connect("test")
			if !errors.Is(err, connect.ErrUnauthorized) {
				c.Fatalf("error %v", err)
			}
			if strings.Contains(err.Error(), "guessed") {
				c.Errorf("the error shows the password: %v", err)
			}
		}},
		{name: "a store that is in use", bring: func(c *chat) {
			_, err := embedded.Start(c.Context(), embedded.Options{Store: c.s.options.store})
			if !errors.Is(err, embedded.ErrStoreInUse) {
				c.Fatalf("error %v", err)
			}
			says(c.T, "error", err.Error(), c.s.options.store, "process "+strconv.Itoa(os.Getpid()))
		}},
		{name: "a port that is taken", bring: func(c *chat) {
			at, err := url.Parse(c.s.server.URL())
			if err != nil {
				c.Fatal(err)
			}
			port, err := strconv.Atoi(at.Port())
			if err != nil {
				c.Fatal(err)
			}
			_, err = embedded.Start(c.Context(), embedded.Options{Store: c.TempDir(), Port: port})
			if !errors.Is(err, embedded.ErrPortTaken) {
				c.Fatalf("error %v", err)
			}
			says(c.T, "error", err.Error(), at.Host)
		}},
	}
}

// another runs one more orchestrator, with a streams.yaml in which something is
// replaced, and gives why it ended.
func (s *system) another(t *testing.T, old, replacement string) error {
	t.Helper()
	source := string(everturn.StreamsYAML())
	if !strings.Contains(source, old) {
		t.Fatalf("streams.yaml does not contain %q", old)
	}
	file := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(source, old, replacement, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	nc, err := s.server.Connect("another")
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return parts.RunOrchestrator(ctx, nc, parts.Topology{Streams: file, ManageAssets: true}, orchestrator.Config{}, s.models.find, func() {
		t.Error("it started")
		cancel()
	})
}

// connectTimeout is short: nobody is there.
const connectTimeout = time.Second

// ownBadInputs are the rows of docs/BAD_INPUTS.md that need a system of their
// own, each with its test.
func ownBadInputs() map[string]string {
	tests := map[string]string{"a server that is away at start": "TestAServerThatIsAwayAtStart"}
	for _, d := range damages() {
		tests[d.name] = "TestADamagedChatStopsAlone"
	}
	for _, v := range newerVersions() {
		tests[v.name] = "TestAChatOfANewerReleaseWaitsForIt"
	}
	return tests
}

func TestAServerThatIsAwayAtStart(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	var key string
	var flags connect.Flags
	t.Run("before", func(t *testing.T) {
		s := running(t, options{store: store})
		c := s.chat(t, scripted(t, plain))
		c.stillWorks()
		key = c.key.Chat
		flags = connect.Flags{Server: s.server.URL(), Timeout: connectTimeout}
		flags.User, flags.Password = s.server.Credentials()
	})
	// Whoever starts now is told at once, and where it looked.
	_, err := flags.Connect("orchestrator")
	if !errors.Is(err, connect.ErrUnreachable) {
		t.Fatalf("error %v", err)
	}
	says(t, "error", err.Error(), strings.TrimPrefix(flags.Server, "nats://"))

	s := running(t, options{store: store})
	c := s.again(t, key, scripted(t, plain))
	c.stillWorks()
	if turns := len(c.transcript().Turns); turns != 2 {
		t.Errorf("%d turns, want 2", turns)
	}
}
