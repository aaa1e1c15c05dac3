package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/everturn/everturn/gateway/identity"
)

// Config is what a gateway works with.
type Config struct {
	// Listener takes the connections. The gateway closes it. It may be nil if only
	// the handler is wanted.
	Listener net.Listener

	// Chats is asked and told everything, within quotas. [Limit] makes it.
	Chats *Limited

	// Tokens says who shows a token. Nil: no token counts.
	Tokens Tokens

	// Local is on whose behalf requests are that come from this machine, for a
	// loopback address, and show no token. The zero value: they need a token, too.
	Local identity.Identity

	// Ways are what there is beside the JSON API.
	Ways []Way

	// Ready says why requests cannot be answered now. Nil: they always can.
	Ready func(context.Context) error

	// CommandWait is how long a request waits until its command is decided. Default:
	// [DefaultCommandWait].
	CommandWait time.Duration

	// StopWait is how long requests in hand may take when the gateway is to end.
	// Default: [DefaultStopWait].
	StopWait time.Duration

	// BodyWait is how long the body of a request may take to arrive, but for those that
	// may be large. Default: [DefaultBodyWait].
	BodyWait time.Duration

	// AnswerWait is how long a client may take to accept an answer; one that goes on for
	// longer bounds each piece. Default: [DefaultAnswerWait].
	AnswerWait time.Duration

	Log   *slog.Logger // default: nothing is logged
	Meter metric.Meter // default: nothing is counted
}

// Tokens says who shows a token.
type Tokens interface {
	// Identity is who has the token. By is empty if its holder may say who that is.
	// [ErrNoToken] means that it does not count, [ErrUnavailable] that this cannot
	// be said yet. It does not block.
	Identity(token string) (identity.Identity, error)
}

// ErrNoToken means that a token does not count: it was never made, was revoked, or is
// past its time.
var ErrNoToken = errors.New("this token does not count: it was never made, was revoked, or has expired")

// Settings of a gateway that nobody chose.
const (
	DefaultStopWait    = 10 * time.Second
	DefaultCommandWait = 30 * time.Second
	DefaultBodyWait    = 15 * time.Second
	DefaultAnswerWait  = 2 * time.Minute

	headerTime     = 5 * time.Second // for the header of a request to arrive
	uploadTime     = 2 * time.Minute // for content
	idleTime       = 2 * time.Minute // between two requests of a connection
	maxHeaderBytes = 64 << 10
)

func (cfg Config) withDefaults() (Config, error) {
	if cfg.Chats == nil {
		return cfg, errors.New("gateway: want Chats")
	}
	if cfg.StopWait == 0 {
		cfg.StopWait = DefaultStopWait
	}
	if cfg.CommandWait == 0 {
		cfg.CommandWait = DefaultCommandWait
	}
	if cfg.BodyWait == 0 {
		cfg.BodyWait = DefaultBodyWait
	}
	if cfg.AnswerWait == 0 {
		cfg.AnswerWait = DefaultAnswerWait
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Meter == nil {
		cfg.Meter = noop.NewMeterProvider().Meter("")
	}
	if cfg.Ready == nil {
		cfg.Ready = func(context.Context) error { return nil }
	}
	return cfg, nil
}
