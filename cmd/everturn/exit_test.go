package main

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli/clitest"
	"github.com/everturn/everturn/protocol"
)

// forged is an exported log in which somebody has changed a word.
func forged(t *testing.T, log string) string {
	t.Helper()
	var lines strings.Builder
	for line := range strings.Lines(strings.Replace(log, "hello", "hallo", 1)) {
		fmt.Fprintf(&lines, "{\"subject\":\"everturn.log.%d.default.c1\",\"sequence\":%d,\"commit\":%s}\n",
			protocol.Shard(events.Key{Tenant: "default", Chat: "c1"}, 4), lines.Len()+1, strings.TrimSpace(line))
	}
	return written(t, "forged.jsonl", lines.String())
}

func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.command("", "send", "--chat", "c1", "hello")
	b.command("", "tail", "c1", "--until-idle")
	_, address, _ := strings.Cut(b.url, "@")
	for _, tt := range []struct {
		name string
		want int
		args []string
	}{
		{"done", 0, []string{"transcript", "c1"}},
		{"no such chat", 3, []string{"transcript", "nobody"}},
		{"a chat that was not there then", 3, []string{"transcript", "c1", "--at", "1999-01-01T00:00:00Z"}},
		{"no such log", 3, []string{"log", "nobody"}},
		{"no such command set aside", 3, []string{"dead", "show", "01ARZ3NDEKTSV4RRFFQ69G5FAV"}},
		{"no such chat to watch", 3, []string{"tail", "nobody"}},
		{"no such chat to verify", 3, []string{"verify", "nobody"}},
		{"no such turn", 3, []string{"interrupt", "c1", "--turn", "9"}},
		{"a turn that has ended", 4, []string{"interrupt", "c1", "--turn", "1"}},
		{"nothing runs", 4, []string{"interrupt", "c1"}},
		{"no server", 5, []string{"transcript", "c1", "--server", "nats://127.0.0.1:1"}},
		{"a server without an address", 5, []string{"transcript", "c1", "--server", "nats://nowhere.invalid"}},
		{"a domain that is not there", 5, []string{"log", "c1", "--js-domain", "nowhere"}},
		{"streams of a domain that is not there", 5, []string{"streams", "diff", "--js-domain", "nowhere"}},
		{"applied to a domain that is not there", 5, []string{"streams", "apply", "--js-domain", "nowhere"}},
		{"the wrong password", 6, []string{"transcript", "c1", "--server", "nats://nobody:none@" + address}},
		{"a forged log", 9, []string{"verify", "--file", forged(t, b.command("", "log", "c1", "--json").out)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args := tt.args
			if !slices.Contains(args, "--server") {
				args = append(slices.Clone(args), "--server", b.url)
			}
			if r := command(t, strings.NewReader(""), nil, args...); r.code != tt.want {
				t.Errorf("code %d, want %d: %v", r.code, tt.want, r.failure)
			}
		})
	}
	for _, tt := range []struct {
		name string
		want int
		args []string
	}{
		{"a model that fails", 7, []string{"run", "fail", "--script", b.script}},
		{"a model that fails when tried", 7, []string{"models", "test", "--say", "fail", "--script", b.script}},
		{"no such model", 3, []string{"models", "test", "nobody"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if r := command(t, strings.NewReader(""), nil, tt.args...); r.code != tt.want {
				t.Errorf("code %d, want %d: %v", r.code, tt.want, r.failure)
			}
		})
	}
}

// Whatever is wrong with what the user has said is usage: the code is 2, and no
// server was asked. Each command is tried with each kind of value it takes.
func TestEveryBadValueIsUsage(t *testing.T) {
	t.Parallel()
	var (
		empty    = written(t, "empty.yaml", "")
		text     = written(t, "text.yaml", "no keys at all")
		key      = written(t, "user.creds", "no key at all")
		models   = written(t, "models.yaml", "models: [{name: a, provider: nobody}]")
		topology = written(t, "streams.yaml", "shards: many")
		folder   = filepath.Join(empty, "below")
	)
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() }) // after the parallel ones
	_, port, _ := net.SplitHostPort(taken.Addr().String())

	// Flags that every command has which talks to an installation.
	chats := map[string][]string{
		"send": {"send", "hi"}, "interrupt": {"interrupt", "c1"}, "chat": {"chat"}, "tail": {"tail", "c1"},
		"transcript": {"transcript", "c1"}, "log": {"log", "c1"}, "dead list": {"dead", "list"}, "verify": {"verify"}, "doctor": {"doctor"},
		"streams diff": {"streams", "diff"}, "streams apply": {"streams", "apply"}, "projections": {"projections"},
	}
	bad := [][]string{
		{"--no-such-flag"},
		{"--server", "http://127.0.0.1"},
		{"--server", "nats://127.0.0.1:99999"},
		{"--server", "nats://127.0.0.1:x"},
		{"--server", "://"},
		{"--context", "nobody"},
		{"--context", "../x"},
		{"--context", folder},
		{"--creds", folder},
		{"--creds", key},
		{"--nkey", folder},
		{"--nkey", key},
		{"--tlsca", folder},
		{"--tlsca", key},
		{"--tlscert", key},
		{"--tlscert", key, "--tlskey", key},
		{"--user", "ann", "--token", "x"},
		{"--timeout", "soon"},
		{"--timeout=-1s"},
		{"--js-domain", "a.b"},
		{"--inbox-prefix", "a..b"},
		{"--inbox-prefix", ">"},
		{"--tenant", "A.B"},
		{"--tenant", ""},
		{"--wait", "soon"},
		{"--wait", "0s"},
		{"--wait=-1s"},
		{"--log-level", "loud"},
		{"--log-format", "prose"},
	}
	tries := [][]string{
		{},
		{"no-such-command"},
		{"send"},
		{"send", ""},
		{"send", "--chat", "a.b", "hi"},
		{"send", "--chat", "", "hi"},
		{"send", "--mode", "x", "hi"},
		{"interrupt"},
		{"interrupt", "a.b"},
		{"interrupt", "c1", "--turn", "one"},
		{"chat", "--chat", "a.b"},
		{"tail"},
		{"tail", "a.b"},
		{"transcript", "a.b"},
		{"transcript", "c1", "--at", "noon"},
		{"transcript", "c1", "--at", "0"},
		{"log", "a.b"},
		{"log", ""},
		{"verify", "a.b"},
		{"verify", ""},
		{"verify", "--file", folder},
		{"verify", "--file", text},
		{"streams"},
		{"streams", "print", "--file", topology},
		{"streams", "print", "--replicas", "2"},
		{"streams", "diff", "--file", folder},
		{"streams", "diff", "--file", topology},
		{"streams", "apply", "--file", topology},
		{"models", "list", "--models", models},
		{"models", "list", "--models", empty},
		{"models", "list", "--models", folder},
		{"models", "list", "--model", "nobody"},
		{"models", "test", "--script", text},
		{"models", "test", "--wait", "0s"},
		{"run"},
		{"run", ""},
		{"run", "hi", "--models", models},
		{"run", "hi", "--store", folder},
		{"run", "hi", "--wait", "0s"},
		{"run", "hi", "--workspace", folder},
		{"run", "hi", "--metrics", "nowhere"},
		{"run", "hi", "--metrics", taken.Addr().String()},
		{"dev", "--port", "99999"},
		{"dev", "--port=-1"},
		{"dev", "--port", "x"},
		{"dev", "--port", port, "--store", t.TempDir()},
		{"dev", "--store", folder},
		{"dev", "--host", "nowhere.invalid", "--store", t.TempDir(), "--port", "0"},
		{"server", "--port", "99999"},
		{"server", "--port", port, "--store", t.TempDir()},
		{"server", "--store", folder},
		{"server", "--auth", "--tenants", "A.B", "--store", t.TempDir()},
		{"server", "--auth", "--groups", "A.B", "--store", t.TempDir()},
		{"bench", "--pairs", "0"},
		{"bench", "--turns=-1"},
		{"bench", "--seconds", "0"},
		{"bench", "--others=-1"},
		{"bench", "--sync", "never"},
		{"bench", "--profile", folder},
		{"completion"},
		{"completion", "tcsh"},
	}
	for _, name := range slices.Sorted(maps.Keys(chats)) {
		for _, flags := range bad {
			tries = append(tries, slices.Concat(chats[name], flags))
		}
	}
	clitest.BadUsage(t, launched, tries)
}
