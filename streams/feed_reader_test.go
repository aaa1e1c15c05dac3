package streams_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// followed is what somebody who follows the feed was told.
type followed struct {
	gaps chan struct{}
	told chan string
	stop func()
}

// follow follows the feed over a connection until the test ends.
func follow(t *testing.T, f *streams.FeedReader) followed {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	seen := followed{gaps: make(chan struct{}, 16), told: make(chan string, 1024)}
	ended := make(chan error, 1)
	go func() {
		ended <- f.Follow(ctx, func() { seen.gaps <- struct{}{} }, func(k events.Key, kind protocol.FeedKind, body []byte) {
			seen.told <- fmt.Sprintf("%s %s %s", k, kind, body)
		})
	}()
	seen.stop = func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("following ended with %v", err)
		}
		ended <- context.Canceled
	}
	t.Cleanup(seen.stop)
	<-seen.gaps
	return seen
}

func openFeed(t *testing.T, s stage) *streams.FeedReader {
	t.Helper()
	f, err := streams.OpenFeed(clientOf(t, s.server).Conn(), streams.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func TestTheFeedOfAllTenantsIsHeardFromTheFirstGapOn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	seen := follow(t, openFeed(t, s))
	other := events.Key{Tenant: "other", Chat: "c"}
	if _, err := s.Log.Append(t.Context(), protocol.Append{Key: someChat, Body: []byte("one")}); err != nil {
		t.Fatal(err)
	}
	if got, want := <-seen.told, fmt.Sprintf("%s commit one", someChat); got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	d := protocol.Delta{Turn: 1, Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1, Kind: "text", Text: "a"}
	if err := s.Feed.Delta(t.Context(), other, d); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := <-seen.told, fmt.Sprintf("%s delta %s", other, body); got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	publish(t, s.js, protocol.FeedProgressSubject(other))
	if got, want := <-seen.told, fmt.Sprintf("%s progress ", other); got[:len(want)] != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

func TestAReconnectIsAGapInTheFeedAndItGoesOnAfterIt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	nc := clientOf(t, s.server).Conn()
	f, err := streams.OpenFeed(nc, streams.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	seen := follow(t, f)
	if err := nc.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	<-seen.gaps
	if _, err := s.Log.Append(t.Context(), protocol.Append{Key: someChat, Body: []byte("one")}); err != nil {
		t.Fatal(err)
	}
	if got, want := <-seen.told, fmt.Sprintf("%s commit one", someChat); got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

// Whoever is too slow for the feed is told that it has missed something, and the
// connection's other users are not held up.
func TestWhoIsTooSlowForTheFeedIsToldOfTheGap(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	f := openFeed(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gaps, busy, goOn := make(chan struct{}, 16), make(chan struct{}, 1), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- f.Follow(ctx, func() { gaps <- struct{}{} }, func(events.Key, protocol.FeedKind, []byte) {
			select {
			case busy <- struct{}{}:
			default:
			}
			<-goOn
		})
	}()
	<-gaps
	const many = 40_000 // more than may wait
	for range many {
		if err := s.Feed.Delta(t.Context(), someChat, protocol.Delta{}); err != nil {
			t.Fatal(err)
		}
	}
	<-busy
	if err := clientOf(t, s.server).Conn().Flush(); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	<-gaps
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("following ended with %v", err)
	}
}

func TestAFollowerOfTheFeedEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	nc := clientOf(t, s.server).Conn()
	f, err := streams.OpenFeed(nc, streams.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	begun, ended := make(chan struct{}, 16), make(chan error, 1)
	go func() {
		ended <- f.Follow(t.Context(), func() { begun <- struct{}{} }, func(events.Key, protocol.FeedKind, []byte) {})
	}()
	<-begun
	nc.Close()
	if err := <-ended; err == nil {
		t.Error("it ended as if all were well")
	}
}

func TestTheFeedStillHasAnAttempt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	f := openFeed(t, s)
	d := protocol.Delta{Turn: 1, Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1, Kind: "text", Text: "a"}
	if err := s.Feed.Delta(t.Context(), someChat, d); err != nil {
		t.Fatal(err)
	}
	var got []protocol.Delta
	eventually(t, "the delta is stored", func() bool {
		var err error
		if got, err = f.Deltas(t.Context(), someChat, d.Step, 1); err != nil {
			t.Fatal(err)
		}
		return len(got) > 0
	})
	if diff := cmp.Diff([]protocol.Delta{d}, got); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
}
