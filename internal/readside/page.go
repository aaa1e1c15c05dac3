package readside

import (
	"context"
	"log/slog"
	"strconv"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/page"
	"github.com/everturn/everturn/gateway/watch"
)

// pageWays are the ways in for people with a browser.
func pageWays(asked gateway.Chats, hub *watch.Hub, log *slog.Logger) ([]gateway.Way, error) {
	p, err := page.New(page.Config{
		Chats: asked, Log: log,
		Watch: func(ctx context.Context, k events.Key, cursor uint64) (page.Watcher, error) {
			w, err := hub.Open(ctx, k, strconv.FormatUint(cursor, 10))
			if err != nil {
				return nil, err // never a watcher that is none
			}
			return w, nil
		},
	})
	if err != nil {
		return nil, err
	}
	return p.Ways(), nil
}
