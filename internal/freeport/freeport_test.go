package freeport

import (
	"net"
	"strconv"
	"testing"
)

// Each port is another, can be listened on, and is none that the kernel hands out.
func TestPortsAreFreeAndDiffer(t *testing.T) {
	t.Parallel()
	const many = 50
	seen := map[int]bool{}
	for _, port := range Of(t, many) {
		if seen[port] {
			t.Errorf("port %d comes twice", port)
		}
		seen[port] = true
		if port < first || port >= first+count {
			t.Errorf("port %d: want one from %d on, below %d", port, first, first+count)
		}
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Errorf("a port that was free: %v", err)
			continue
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(seen) != many {
		t.Errorf("%d ports, want %d", len(seen), many)
	}
}
