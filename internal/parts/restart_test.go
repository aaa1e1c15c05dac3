package parts_test

import (
	"context"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/streams"
)

// What a server keeps in memory is gone when it was started anew. Whoever
// manages the streams puts it back.
func TestAServerThatWasStartedAnewHasAllStreams(t *testing.T) {
	t.Parallel()
	options := embedded.Options{Store: t.TempDir(), User: "u", Password: "a password for tests"}
	first, err := embedded.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(first.URL(), nats.UserInfo(options.User, options.Password),
		nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	ready := make(chan struct{})
	running.Go(func() {
		cfg := orchestrator.Config{Defaults: events.Settings{Model: "script"}}
		if err := parts.RunOrchestrator(ctx, nc, parts.Topology{ManageAssets: true}, cfg, demo, func() { close(ready) }); err != nil {
			t.Error(err)
		}
	})
	<-ready
	port, err := portOf(first.URL())
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	options.Port = port
	second, err := embedded.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	})
	js, err := jetstream.New(connect(t, second))
	if err != nil {
		t.Fatal(err)
	}
	for {
		_, err := js.Stream(t.Context(), streams.FeedStream)
		if err == nil {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("the feed is not there: %v", err)
		}
	}
}

func portOf(address string) (int, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(u.Port())
}
