package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/gateway/problem"
)

// Gateway answers HTTP. Make it with [New].
type Gateway struct {
	cfg      Config
	door     door
	document []byte // of OpenAPI
	all      []Way
	metrics  metrics
	handler  http.Handler
}

// New makes a gateway.
func New(cfg Config) (*Gateway, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	g := &Gateway{cfg: cfg, door: door{tokens: cfg.Tokens, local: cfg.Local}}
	if g.metrics, err = newMetrics(cfg.Meter); err != nil {
		return nil, fmt.Errorf("gateway: metrics: %w", err)
	}
	cfg.Chats.count(g.metrics.turnedAway)
	api := newAPI(cfg)
	if g.document, err = api.document(); err != nil {
		return nil, err
	}
	g.all = slices.Concat(g.own(), api.ways, cfg.Ways)
	mux := http.NewServeMux()
	for _, w := range g.all {
		mux.Handle(w.Pattern, g.counted(w, g.enter(w)))
	}
	g.handler = g.patient(named(traced(g.caught(found(mux)))))
	return g, nil
}

// own are the ways in that are about the gateway itself.
func (g *Gateway) own() []Way {
	return []Way{
		{Pattern: "GET /healthz", Open: true, Handler: http.HandlerFunc(g.healthy)},
		{Pattern: "GET /readyz", Open: true, Handler: http.HandlerFunc(g.readiness)},
		{Pattern: "GET /openapi.json", Open: true, Handler: http.HandlerFunc(g.openAPI)},
		{Pattern: "POST /login", Open: true, Handler: http.HandlerFunc(g.login)},
		{Pattern: "POST /logout", Open: true, Handler: http.HandlerFunc(g.logout)},
	}
}

// Ways is every way in, in no order.
func (g *Gateway) Ways() []Way { return slices.Clone(g.all) }

// Handler answers requests, as [Gateway.Run] does with those that come from its
// listener.
func (g *Gateway) Handler() http.Handler { return g.handler }

// enter lets requests through the door.
func (g *Gateway) enter(w Way) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		i, no := g.door.who(r)
		switch {
		case no == nil:
			r = r.WithContext(identity.With(r.Context(), i))
		case !w.Open:
			g.metrics.turnedAway(string(no.Code))
			w.refuse(rw, r, *no)
			return
		}
		if no == nil { // somebody whom quotas hold for
			if r.Method != http.MethodGet {
				g.cfg.Chats.tell(i.Tenant, rw.Header())
			}
			var done func()
			if r, done, no = g.body(w, i.Tenant, r); no != nil {
				w.refuse(rw, r, *no)
				return
			}
			defer done()
		}
		if w.Watches {
			g.watch(w, i, rw, r)
			return
		}
		w.Handler.ServeHTTP(rw, r)
	})
}

// watch answers a request that watches on somebody's behalf.
func (g *Gateway) watch(w Way, i identity.Identity, rw http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead { // it would never end, and nothing of it would be seen
		rw.Header().Set("Allow", http.MethodGet)
		w.refuse(rw, r, problem.New(problem.CodeBadMethod, "allowed is GET"))
		return
	}
	done, no := g.cfg.Chats.watch(i.Tenant)
	if no != nil {
		w.refuse(rw, r, *no)
		return
	}
	defer done()
	g.metrics.watchers.Add(r.Context(), 1)
	defer g.metrics.watchers.Add(context.WithoutCancel(r.Context()), -1)
	ctx, cancel := untilStopped(r.Context())
	var looking sync.WaitGroup
	looking.Go(func() { g.whileWelcome(ctx, cancel, i, r) })
	defer func() { cancel(); looking.Wait() }()
	w.Handler.ServeHTTP(rw, r.WithContext(ctx))
}

// lookAgain is how often the door looks again at whoever watches.
const lookAgain = time.Second

// whileWelcome ends a request that watches on somebody's behalf when it would not be let
// in any more, or on somebody else's: a session beside a laptop that needs no token has
// ended. It returns when ctx ends.
func (g *Gateway) whileWelcome(ctx context.Context, end func(), as identity.Identity, r *http.Request) {
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			i, no := g.door.who(r)
			if no == nil && i != as || no != nil && no.Code == problem.CodeUnauthorized {
				end()
			}
		}
	}
}

// counted counts what a way in answers.
func (g *Gateway) counted(w Way, next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		begun, a, otherwise := time.Now(), &answering{ResponseWriter: rw}, http.StatusInternalServerError
		defer func() {
			g.metrics.answered(context.WithoutCancel(r.Context()), w.Pattern, cmp.Or(a.status, otherwise), time.Since(begun), w.Watches)
		}()
		next.ServeHTTP(a, r)
		otherwise = http.StatusOK // it has not panicked
	})
}

// stoppedKey is where the context of a request has what ends when the gateway is to.
type stoppedKey struct{}

// untilStopped is the context of a request that would not end by itself.
func untilStopped(request context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(request)
	if running, ok := request.Value(stoppedKey{}).(context.Context); ok {
		stop := context.AfterFunc(running, cancel)
		return ctx, func() { stop(); cancel() }
	}
	return ctx, cancel
}

// Run answers what the listener takes until ctx ends. Requests in hand are finished
// then, those that watch are broken off: their clients come back elsewhere.
func (g *Gateway) Run(ctx context.Context) error {
	requests := context.WithValue(context.WithoutCancel(ctx), stoppedKey{}, ctx)
	server := &http.Server{
		Handler: g.handler, ErrorLog: slog.NewLogLogger(g.cfg.Log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeaderBytes,
		BaseContext: func(net.Listener) context.Context { return requests },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(g.cfg.Listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("gateway: %w", err)
	case <-ctx.Done():
	}
	stopping, stop := context.WithTimeout(context.WithoutCancel(ctx), g.cfg.StopWait)
	defer stop()
	err := server.Shutdown(stopping)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	return cmp.Or(err, closed(<-ended))
}

// closed is why a server has ended, unless it was told to.
func closed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// healthy says that the process lives.
func (g *Gateway) healthy(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }

// readiness says whether requests can be answered now.
func (g *Gateway) readiness(w http.ResponseWriter, r *http.Request) {
	if err := g.cfg.Ready(r.Context()); err != nil {
		problem.Write(w, r, notReady(err))
		return
	}
	fmt.Fprintln(w, "ok")
}

// openAPI gives the document.
func (g *Gateway) openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/openapi+json")
	_, _ = w.Write(g.document) // who has gone away needs no answer
}
