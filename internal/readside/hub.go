package readside

import (
	"context"
	"log/slog"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/sse"
	"github.com/everturn/everturn/gateway/watch"
	"github.com/everturn/everturn/streams"
)

var _ watch.Feed = (*streams.FeedReader)(nil)

// runHub runs a hub over a connection until the function it gives is called, which
// waits for it. Whoever watches must have ended before.
func runHub(ctx context.Context, nc *nats.Conn, options streams.Options, log *slog.Logger) (*watch.Hub, func(), error) {
	feed, err := streams.OpenFeed(nc, options)
	if err != nil {
		return nil, nil, err
	}
	hub, err := watch.New(watch.Config{Feed: feed, Chats: chats{nc}, Log: log})
	if err != nil {
		feed.Close()
		return nil, nil, err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := hub.Run(running); err != nil {
			log.Error("nothing can be watched any more", "error", err)
		}
	}()
	return hub, func() {
		cancel()
		<-ended
		feed.Close()
	}, nil
}

// eventsWay is the way in for who watches a chat.
func eventsWay(hub *watch.Hub) gateway.Way {
	return gateway.Way{Pattern: sse.Pattern, Handler: sse.Handler{Hub: hub}, Watches: true}
}
