package streams_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	lookAgain = 5 * time.Millisecond // between two looks at a fact that nobody announces
	patience  = 30 * time.Second     // until a fact that must come is given up
)

// eventually looks until the fact holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("never came true: %s", what)
		case <-time.After(lookAgain):
		}
	}
}

// subscribe returns when the server knows the subscription, which the test's
// end takes away.
func subscribe(t *testing.T, nc *nats.Conn, subject string, on func(*nats.Msg)) {
	t.Helper()
	sub, err := nc.Subscribe(subject, on)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() })
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
}
