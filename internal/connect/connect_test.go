package connect_test

import (
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/internal/connect"
	"github.com/everturn/everturn/internal/deptest"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/embedded/embeddedtest"
)

// configHome is the variable under which contexts of the nats command lie.
const configHome = "XDG_CONFIG_HOME"

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "connect")
	if err != nil {
		panic(err)
	}
	// Neither the contexts nor the variables of whoever runs the tests count.
	for _, name := range []string{"NATS_URL", "NATS_CREDS", "NATS_NKEY", "NATS_USER", "NATS_PASSWORD", "NATS_TOKEN", "NATS_CONTEXT"} {
		if err := os.Unsetenv(name); err != nil {
			panic(err)
		}
	}
	if err := os.Setenv(configHome, dir); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// users is a server that knows two people.
func users(t *testing.T) *embedded.Server {
	t.Helper()
	s := embeddedtest.Start(t, embedded.Options{Configure: func(o *server.Options) {
		o.Users = []*server.User{{Username: "ann", Password: "a-secret"}, {Username: "bob", Password: "b-secret"}}
	}})
	return s
}

// whoAmI asks the server.
func whoAmI(t *testing.T, nc *nats.Conn) string {
	t.Helper()
	m, err := nc.RequestWithContext(t.Context(), "$SYS.REQ.USER.INFO", nil)
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Data struct {
			User string `json:"user"`
		} `json:"data"`
	}
	if err := json.Unmarshal(m.Data, &info); err != nil {
		t.Fatal(err)
	}
	return info.Data.User
}

func parse(t *testing.T, args ...string) *connect.Flags {
	t.Helper()
	var command struct {
		connect.Flags
	}
	parser, err := kong.New(&command)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &command.Flags
}

// writeContext makes a context of the nats command, and selects it.
func writeContext(t *testing.T, name string, settings map[string]string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv(configHome, home)
	dir := filepath.Join(home, "nats", "context")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{
		filepath.Join(dir, name+".json"):           string(b),
		filepath.Join(home, "nats", "context.txt"): name,
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAServerThatIsAwayIsNamed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	f := parse(t, "-s", "nats://ann:a-secret@"+address)
	_, err = f.Connect("test")
	if !errors.Is(err, connect.ErrUnreachable) {
		t.Fatalf("error is %v, want %v", err, connect.ErrUnreachable)
	}
	if !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "--server") {
		t.Errorf("error says neither where nor what to do: %v", err)
	}
	if strings.Contains(err.Error(), "a-secret") {
		t.Errorf("error tells the password: %v", err)
	}
}

func TestWrongCredentialsAreSaidSo(t *testing.T) {
	t.Parallel()
	s := users(t)
	for _, args := range [][]string{
		{},
		{"--user", "ann", "--password", "b-secret"},
		{"--token", "a-secret"},
	} {
		_, err := parse(t, append(args, "--server", s.URL())...).Connect("test")
		if !errors.Is(err, connect.ErrUnauthorized) {
			t.Errorf("%v: error is %v, want %v", args, err, connect.ErrUnauthorized)
			continue
		}
		if !strings.Contains(err.Error(), s.URL()) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: error names no server, or a password: %v", args, err)
		}
	}
}

func TestFlagsThatCannotBeAreRefusedAllAtOnce(t *testing.T) {
	t.Parallel()
	_, err := parse(t, "--user", "ann", "--token", "t", "--tlscert", "cert.pem", "--server", "nats://ann:a-secret@[").Connect("test")
	if err == nil {
		t.Fatal("connected")
	}
	for _, says := range []string{"only one of", "--tlskey", "no URL"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("nothing says %q: %v", says, err)
		}
	}
	if strings.Contains(err.Error(), "a-secret") {
		t.Errorf("error tells the password: %v", err)
	}
}

func TestAFileThatIsAwayIsNamed(t *testing.T) {
	t.Parallel()
	s := users(t)
	for _, flag := range []string{"--creds", "--nkey", "--tlsca"} {
		_, err := parse(t, "-s", s.URL(), flag, "/nowhere/file").Connect("test")
		if err == nil || !strings.Contains(err.Error(), "/nowhere/file") {
			t.Errorf("%s: error is %v", flag, err)
		}
	}
}

func TestTheServerMayBeOneOfSeveral(t *testing.T) {
	t.Parallel()
	s := users(t)
	nc, err := parse(t, "-s", "127.0.0.1:1, "+s.URL(), "--user", "ann", "--password", "a-secret").Connect("test")
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if got := whoAmI(t, nc); got != "ann" {
		t.Errorf("user is %q", got)
	}
}

func TestAFlagCountsMoreThanAVariableAndThatMoreThanTheContext(t *testing.T) {
	s := users(t)
	for _, tt := range []struct {
		name     string
		args     []string
		env      map[string]string
		context  map[string]string
		wantUser string
	}{
		{
			name:     "context alone",
			context:  map[string]string{"url": s.URL(), "user": "ann", "password": "a-secret"},
			wantUser: "ann",
		},
		{
			name:     "variables over the context",
			context:  map[string]string{"url": "nats://127.0.0.1:1", "user": "ann", "password": "a-secret"},
			env:      map[string]string{"NATS_URL": s.URL(), "NATS_USER": "bob", "NATS_PASSWORD": "b-secret"},
			wantUser: "bob",
		},
		{
			name:     "flags over variables",
			context:  map[string]string{"url": "nats://127.0.0.1:1", "token": "from-the-context"},
			env:      map[string]string{"NATS_URL": "nats://127.0.0.1:2", "NATS_USER": "bob", "NATS_PASSWORD": "b-secret"},
			args:     []string{"-s", s.URL(), "--user", "ann", "--password", "a-secret"},
			wantUser: "ann",
		},
		{
			name:     "a password for the context's user",
			context:  map[string]string{"url": s.URL(), "user": "ann", "password": "old"},
			env:      map[string]string{"NATS_PASSWORD": "a-secret"},
			wantUser: "ann",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			writeContext(t, "mine", tt.context)
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			for _, args := range [][]string{tt.args, append([]string{"--context", "mine"}, tt.args...)} {
				nc, err := parse(t, args...).Connect("test")
				if err != nil {
					t.Fatal(err)
				}
				if got := whoAmI(t, nc); got != tt.wantUser {
					t.Errorf("user is %q, want %q", got, tt.wantUser)
				}
				nc.Close()
			}
		})
	}
}

func TestAnUnknownContextIsNamed(t *testing.T) {
	t.Parallel()
	_, err := parse(t, "--context", "elsewhere").Connect("test")
	if err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("error is %v", err)
	}
}

func TestTheContextMayNameDomainAndInbox(t *testing.T) {
	s := users(t)
	writeContext(t, "leaf", map[string]string{
		"url": s.URL(), "user": "ann", "password": "a-secret", "jetstream_domain": "edge", "inbox_prefix": "_INBOX_ann",
	})
	f := parse(t)
	nc, err := f.Connect("test")
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if !strings.HasPrefix(nc.NewInbox(), "_INBOX_ann.") {
		t.Errorf("inbox is %s", nc.NewInbox())
	}
	js, err := f.JetStream(nc)
	if err != nil {
		t.Fatal(err)
	}
	if got := js.Options().Domain; got != "edge" {
		t.Errorf("domain is %q", got)
	}
}

func TestTheConnectionComesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	options := embedded.Options{Store: dir, User: "ann", Password: "a-secret"}
	first, err := embedded.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	lost, back := make(chan struct{}), make(chan struct{})
	nc, err := parse(t, "-s", first.URL(), "--user", "ann", "--password", "a-secret").Connect("test",
		nats.DisconnectErrHandler(func(*nats.Conn, error) { close(lost) }),
		nats.ReconnectHandler(func(*nats.Conn) { close(back) }),
	)
	if err != nil {
		t.Fatal(err)
	}
	options.Port = portOf(t, first.URL())
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	<-lost
	second, err := embedded.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	<-back
	if err := nc.FlushTimeout(10 * time.Second); err != nil {
		t.Error(err)
	}
	nc.SetDisconnectErrHandler(nil) // what follows is no loss
	nc.Close()
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestTimeoutHasADefault(t *testing.T) {
	t.Parallel()
	if f := parse(t); f.Timeout != 5*time.Second {
		t.Errorf("timeout is %s", f.Timeout)
	}
}

// Service binaries link this package: it must not bring the server along.
func TestDependencies(t *testing.T) {
	deptest.OnlyOurs(t)
	deptest.Never(t, slices.Concat([]string{"github.com/nats-io/nats-server/v2/..."}, deptest.Ours("internal/embedded"))...)
}

// A path with dots in it is a path all the same.
func TestAContextIsNamedByAnyPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.json"), []byte(`{"url":"nats://127.0.0.1:1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(here, filepath.Join(dir, "mine.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{relative, dir + "/below/../mine.json"} {
		f := parse(t, "--context", path)
		if err := f.Check(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if from, err := f.FromContext(); err != nil || from.Values["server"] != "nats://127.0.0.1:1" {
			t.Errorf("%s: %v, %v", path, from, err)
		}
	}
}
