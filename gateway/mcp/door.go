package mcp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/protocol"
)

// Pattern is where the door is in a gateway.
const Pattern = "/mcp"

// Chats is what the door asks of the bus; [gateway.Chats] has it.
type Chats interface {
	Command(ctx context.Context, k events.Key, by, id string, body protocol.Body) (protocol.Reply, error)
	Query(ctx context.Context, tenant, name string, question, answer any) error
}

// Feed shows what happens in chats.
type Feed interface {
	// Watch begins to watch a chat: from its return on nothing is missed unnoticed.
	Watch(ctx context.Context, k events.Key) (Sights, error)
}

// Sights are what is seen of one chat.
type Sights interface {
	Next(ctx context.Context) (Sight, error)
	Close()
}

// Sight is one thing that is seen. Neither field is set if something was missed.
type Sight struct {
	Commit *events.Commit
	Delta  *protocol.Delta
}

// Config is what a door works with.
type Config struct {
	Chats Chats
	Feed  Feed

	// Wait is how long a call waits for a turn if it does not say so, and CommandWait
	// how long for a command to be decided. Defaults: [DefaultWait], 30 s.
	Wait        time.Duration
	CommandWait time.Duration

	Version string       // of us, for who asks
	Log     *slog.Logger // default: nothing is logged
}

// Times of a door.
const (
	DefaultWait = 50 * time.Second // many hosts give up after a minute
	MaxWait     = 10 * time.Minute
)

// Door answers those who speak that protocol. Make it with [New].
type Door struct {
	cfg     Config
	schemas *sdk.SchemaCache
}

// New makes a door.
func New(cfg Config) (*Door, error) {
	if cfg.Chats == nil || cfg.Feed == nil {
		return nil, errors.New("mcp: want Chats and Feed")
	}
	cfg.Wait = cmp.Or(cfg.Wait, DefaultWait)
	cfg.CommandWait = cmp.Or(cfg.CommandWait, gateway.DefaultCommandWait)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Door{cfg: cfg, schemas: sdk.NewSchemaCache()}, nil
}

// Handler answers over streamable HTTP, on behalf of whom the door of the gateway has
// let in.
func (d *Door) Handler() http.Handler {
	h := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		i, ok := identity.Of(r.Context())
		if !ok {
			return nil // the answer is that the request is bad
		}
		return d.server(r.Context(), i)
	}, &sdk.StreamableHTTPOptions{
		Stateless: true, Logger: d.cfg.Log,
		// The gateway's own door looks at hosts and sites, and knows of proxies.
		DisableLocalhostProtection: true,
	})
	return single(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(piecewise{w, http.NewResponseController(w)}, r)
	}))
}

// pieceTime is how long a client may take to accept a piece of an answer.
const pieceTime = 30 * time.Second

// piecewise is an answer that may last: each piece has a deadline of its own.
type piecewise struct {
	http.ResponseWriter

	control *http.ResponseController
}

// Write implements [http.ResponseWriter].
func (p piecewise) Write(b []byte) (int, error) {
	n, err := 0, p.control.SetWriteDeadline(time.Now().Add(pieceTime))
	if err == nil || errors.Is(err, http.ErrNotSupported) {
		n, err = p.ResponseWriter.Write(b)
	}
	return n, err
}

// Unwrap lets [http.ResponseController] find what can be done with the connection.
func (p piecewise) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Serve answers over a transport on somebody's behalf, until ctx or the transport ends.
func (d *Door) Serve(ctx context.Context, i identity.Identity, t sdk.Transport) error {
	return d.server(ctx, i).Run(ctx, t)
}

// problemOf is the problem that err comes to. What is our fault the log is told, and
// nobody else.
func (d *Door) problemOf(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, gateway.ErrUndecided):
		return problem.New(events.CodeUnavailable, "it is stored and will be decided; with the same id it can be sent again")
	case errors.Is(err, context.Canceled):
		return err
	}
	p := gateway.ProblemOf(err)
	if p.Code == problem.CodeInternal {
		d.cfg.Log.ErrorContext(ctx, "a call over MCP failed", "error", err)
		p.Detail = ""
	}
	return p
}
