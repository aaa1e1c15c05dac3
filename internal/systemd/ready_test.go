package systemd

import (
	"net"
	"path/filepath"
	"testing"
	"time"
)

// patience is how long a local datagram may take.
const patience = 10 * time.Second

func TestWhoeverWaitsIsToldOnce(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv(socketVariable, socket)
	if err := Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	n, err := conn.Read(b)
	if err != nil || string(b[:n]) != "READY=1" {
		t.Fatalf("read %q, %v", b[:n], err)
	}
}

func TestNobodyWaits(t *testing.T) {
	t.Setenv(socketVariable, "")
	if err := Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestASocketThatIsGoneIsAnError(t *testing.T) {
	t.Setenv(socketVariable, filepath.Join(t.TempDir(), "gone"))
	if err := Ready(t.Context()); err == nil {
		t.Fatal("no error")
	}
}
