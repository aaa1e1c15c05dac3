// Package freeport finds ports for the servers of tests.
package freeport

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports are taken from below those that the kernel gives to outgoing connections and to
// whoever does not mind which: a server that dies and is to come back finds its port free.
const (
	first = 10_000
	count = 20_000

	maxTries = 1_000 // in which no port was free
)

// Of finds n ports that nobody listens on now, each another. Nobody holds them: what is
// started on one should say so when it is taken after all.
func Of(t testing.TB, n int) []int {
	t.Helper()
	ports := make([]int, 0, n)
	var held []net.Listener
	defer func() {
		for _, l := range held { // only now, so that no port comes twice
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	for range maxTries {
		if len(ports) == n {
			return ports
		}
		port := first + rand.IntN(count)
		if l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			ports, held = append(ports, port), append(held, l)
		}
	}
	if len(ports) < n {
		t.Fatalf("%d of %d ports were free in %d tries", len(ports), n, maxTries)
	}
	return ports
}

// One is [Of] for one port.
func One(t testing.TB) int {
	t.Helper()
	return Of(t, 1)[0]
}
