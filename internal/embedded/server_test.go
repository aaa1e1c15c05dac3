package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/internal/deptest"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/embedded/embeddedtest"
)

// childStore names the directory that a copy of this test binary is to hold.
const childStore = "EVERTURN_TEST_CHILD_STORE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childStore); dir != "" {
		if _, err := embedded.Start(context.Background(), embedded.Options{Store: dir, InProcess: true}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("holding")
		select {} // until killed
	}
	os.Exit(m.Run())
}

func connect(t *testing.T, s *embedded.Server, opts ...nats.Option) jetstream.JetStream {
	t.Helper()
	nc, err := s.Connect("test", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func TestWhatWasAcknowledgedIsThereAfterReopening(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()

	first := embeddedtest.Start(t, embedded.Options{Store: dir, InProcess: true})
	js := connect(t, first)
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "s", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
	}

	js = connect(t, embeddedtest.Start(t, embedded.Options{Store: dir, InProcess: true}))
	s, err := js.Stream(ctx, "S")
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.GetMsg(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	if string(m.Data) != "kept" {
		t.Errorf("message is %q", m.Data)
	}
}

func TestEveryWriteIsSynced(t *testing.T) {
	t.Parallel()
	var seen server.Options
	embeddedtest.Start(t, embedded.Options{Store: t.TempDir(), InProcess: true, Configure: func(o *server.Options) { seen = *o }})
	if !seen.SyncAlways {
		t.Error("the server does not sync always")
	}
}

func TestASecondServerInTheSameProcessIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	embeddedtest.Start(t, embedded.Options{Store: dir, InProcess: true})

	// The same directory by another name.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, link} {
		s, err := embedded.Start(t.Context(), embedded.Options{Store: name, InProcess: true})
		if err == nil {
			_ = s.Close()
		}
		if !errors.Is(err, embedded.ErrStoreInUse) {
			t.Fatalf("error is %v, want %v", err, embedded.ErrStoreInUse)
		}
		if !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
			t.Errorf("error names neither directory nor process: %v", err)
		}
	}
}

func TestAKilledProcessFreesTheStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()

	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childStore+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	kill := func() {
		if !killed {
			killed = true
			_ = child.Process.Kill()
			_ = child.Wait() // says that it was killed
		}
	}
	t.Cleanup(kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "holding\n" {
		t.Fatalf("child says %q, %v", line, err)
	}

	_, err = embedded.Start(t.Context(), embedded.Options{Store: dir, InProcess: true})
	if !errors.Is(err, embedded.ErrStoreInUse) {
		t.Fatalf("error is %v, want %v", err, embedded.ErrStoreInUse)
	}
	if !strings.Contains(err.Error(), "process "+strconv.Itoa(child.Process.Pid)) {
		t.Errorf("error does not name the process: %v", err)
	}
	kill()
	embeddedtest.Start(t, embedded.Options{Store: dir, InProcess: true})
}

func TestATakenPortIsNamed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port

	dir := t.TempDir()
	_, err = embedded.Start(t.Context(), embedded.Options{Store: dir, Port: port})
	if !errors.Is(err, embedded.ErrPortTaken) {
		t.Fatalf("error is %v, want %v", err, embedded.ErrPortTaken)
	}
	if !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("error does not name %s: %v", l.Addr(), err)
	}
	embeddedtest.Start(t, embedded.Options{Store: dir}) // the failure left no lock behind
}

func TestStartFailsWithTheServersReason(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port

	_, err = embedded.Start(t.Context(), embedded.Options{
		Store:     t.TempDir(),
		InProcess: true,
		Configure: func(o *server.Options) { o.HTTPHost, o.HTTPPort = "127.0.0.1", port },
	})
	if err == nil || !strings.Contains(err.Error(), "monitor") {
		t.Errorf("error is %v, want the monitoring port's", err)
	}
}

func TestClientsNeedTheGeneratedPassword(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Start(t, embedded.Options{Store: t.TempDir()})
	if !strings.HasPrefix(s.URL(), "nats://127.0.0.1:") {
		t.Errorf("listens on %s, want loopback", s.URL())
	}
	user, password := s.Credentials()
	nc, err := nats.Connect(s.URL(), nats.UserInfo(user, password))
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	for _, wrong := range []nats.Option{nats.UserInfo(user, "guess"), nats.Token(password), nats.Name("nobody")} {
		if _, err := nats.Connect(s.URL(), wrong); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("error is %v, want %v", err, nats.ErrAuthorization)
		}
	}
}

func TestInProcessListensNowhere(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Start(t, embedded.Options{Store: t.TempDir(), InProcess: true})
	if s.URL() != "" {
		t.Errorf("listens on %s", s.URL())
	}
	connect(t, s)
}

func TestAConfigurationFileSaysWhoMayConnect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "nats.conf")
	config := fmt.Sprintf(`
		jetstream { store_dir: %q, sync_interval: "7s" }
		accounts { A { jetstream: enabled, users: [{user: ann, password: secret}] } }
	`, filepath.Join(dir, "store"))
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var seen server.Options
	s := embeddedtest.Start(t, embedded.Options{ConfigFile: file, Configure: func(o *server.Options) { seen = *o }})
	if seen.SyncAlways || seen.SyncInterval != 7*time.Second {
		t.Errorf("sync always %v, interval %v: the file's word does not count", seen.SyncAlways, seen.SyncInterval)
	}
	if user, _ := s.Credentials(); user != "" {
		t.Errorf("made a user %q beside the file's", user)
	}
	js := connect(t, s, nats.UserInfo("ann", "secret"))
	if _, err := js.AccountInfo(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := nats.Connect(s.URL()); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("error is %v, want %v", err, nats.ErrAuthorization)
	}
}

func TestAFileThatIsNoConfigurationIsNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte("jetstream {"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := embedded.Start(t.Context(), embedded.Options{ConfigFile: file})
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error is %v, want one that names %s", err, file)
	}
}

func TestNoDirectoryIsNoServer(t *testing.T) {
	t.Parallel()
	if s, err := embedded.Start(t.Context(), embedded.Options{InProcess: true}); err == nil {
		_ = s.Close()
		t.Error("started without a directory")
	}
}

func TestWarningsGoToTheLogger(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	o := embedded.Options{
		Store:     t.TempDir(),
		InProcess: true,
		Logger:    slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Configure: func(o *server.Options) { o.MaxPayload = 16 << 20 },
	}
	s := embeddedtest.Start(t, o)
	if err := s.Close(); err != nil { // nobody writes any more
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "payloads") {
		t.Errorf("log is %q, want the warning about the payload", b.String())
	}
}

func TestDependencies(t *testing.T) {
	deptest.OnlyOurs(t) // a server, and nothing of what runs on it
}
