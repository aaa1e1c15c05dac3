package openai

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/protocol"
)

// HeaderChat names the chat of a request, and of its answer.
const HeaderChat = "Everturn-Chat"

// DefaultModel is the model that stands for settings that name no agent.
const DefaultModel = "default"

// Chats is what the door asks of the bus; [gateway.Chats] has it.
type Chats interface {
	Command(ctx context.Context, k events.Key, by, id string, body protocol.Body) (protocol.Reply, error)
	Query(ctx context.Context, tenant, name string, question, answer any) error
	Upload(ctx context.Context, k events.Key, content []byte) (events.Digest, error)
	Download(ctx context.Context, k events.Key, d events.Digest) ([]byte, error)
}

// Agents gives the agents of a tenant, by name.
type Agents interface {
	List(ctx context.Context, tenant string) (map[string]events.Settings, error)
}

// Feed shows what happens in chats.
type Feed interface {
	// Open begins to watch a chat behind a rev. What was committed since comes first.
	Open(ctx context.Context, k events.Key, after uint64) (Sights, error)
}

// Sights are what is seen of one chat, in order and without a gap. The deltas of an
// attempt that is under way come from its first one on.
type Sights interface {
	Next(ctx context.Context) (Sight, error)
	Close()
}

// Sight is one thing that is seen. One field is set, or none.
type Sight struct {
	Commit *events.Commit
	Delta  *protocol.Delta
}

// Config is what a door works with.
type Config struct {
	Chats  Chats
	Agents Agents
	Feed   Feed

	// PersonWait is how long a completion goes on to wait when its turn waits for a
	// person; then it ends. Clients may ask for another time, of up to
	// [MaxPersonWait]. Default: [DefaultPersonWait].
	PersonWait time.Duration

	// KeepAlive is how long a stream says nothing before it says that it is alive.
	// Default: [DefaultKeepAlive].
	KeepAlive time.Duration

	// RetryWindow is how long after its answer a request that comes again, word for
	// word, counts as the same. Default: [DefaultRetryWindow].
	RetryWindow time.Duration

	Clock func() time.Time // default: time.Now
	Log   *slog.Logger     // default: nothing is logged
}

// Settings of a door that nobody chose.
const (
	DefaultPersonWait  = time.Minute
	DefaultKeepAlive   = 15 * time.Second
	DefaultRetryWindow = 15 * time.Second

	MaxPersonWait = 10 * time.Minute
)

// Door answers the clients of that API. Make it with [New].
type Door struct{ cfg Config }

// New makes a door.
func New(cfg Config) (*Door, error) {
	if cfg.Chats == nil || cfg.Agents == nil || cfg.Feed == nil {
		return nil, errors.New("openai: want Chats, Agents and Feed")
	}
	cfg.PersonWait = cmp.Or(cfg.PersonWait, DefaultPersonWait)
	cfg.KeepAlive = cmp.Or(cfg.KeepAlive, DefaultKeepAlive)
	cfg.RetryWindow = cmp.Or(cfg.RetryWindow, DefaultRetryWindow)
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Door{cfg: cfg}, nil
}

// asking is a request on its way through the door.
type asking struct {
	*Door
	tenant string
	by     string
	q      request
	again  bool          // the client says that it has sent this before
	person time.Duration // how long it waits for a person

	agents map[string]events.Settings
}

// Complete answers POST /v1/chat/completions.
func (d *Door) Complete(w http.ResponseWriter, r *http.Request) {
	i, ok := identity.Of(r.Context())
	if !ok {
		Refuse(w, r, problem.New(problem.CodeUnauthorized, ""))
		return
	}
	a := asking{Door: d, tenant: i.Tenant, by: i.By}
	if err := a.complete(w, r); err != nil {
		d.refuse(w, r, err)
	}
}

// complete answers one request. An error means that nothing was written yet.
func (a *asking) complete(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	var err error
	if a.q, err = readRequest(w, r); err != nil {
		return err
	}
	if a.agents, err = a.cfg.Agents.List(ctx, a.tenant); err != nil {
		return err
	}
	if _, known := a.agents[a.q.Model]; !known && a.q.Model != DefaultModel {
		return noModel(a.q.Model)
	}
	c, err := converse(a.tenant, a.by, a.q)
	if err != nil {
		return err
	}
	chat, err := a.q.chat(r)
	if err != nil {
		return err
	}
	if a.person, err = personWait(r, a.cfg.PersonWait); err != nil {
		return err
	}
	a.again = !slices.Contains([]string{"", "0"}, r.Header.Get(headerRetry))
	var t taken
	if chat != "" {
		t, err = a.inChat(ctx, chat, c, r.Header.Get("Idempotency-Key"))
	} else {
		t, err = a.inConversation(ctx, c)
	}
	if err != nil {
		return err
	}
	a.q.Messages = nil // what was said is taken; an answer may last
	_ = r.Body.Close()
	return a.answer(ctx, w, t)
}

// headerRetry is how often a client has sent a request before, as those of OpenAI say.
const headerRetry = "X-Stainless-Retry-Count"

// personWait is how long a client waits for a person, by the header Prefer of RFC 7240.
func personWait(r *http.Request, usual time.Duration) (time.Duration, error) {
	for preference := range strings.SplitSeq(r.Header.Get("Prefer"), ",") {
		wait, ok := strings.CutPrefix(strings.TrimSpace(preference), "wait=")
		if !ok {
			continue
		}
		seconds, err := strconv.ParseUint(wait, 10, 31)
		if err != nil {
			return 0, errBad("header Prefer: wait: want a number of seconds")
		}
		return min(time.Duration(seconds)*time.Second, MaxPersonWait), nil
	}
	return usual, nil
}

// taken is where a request's input went: what follows it is the answer.
type taken struct {
	chat  string
	reply protocol.Reply // of the command that brought it
}

// refuse says no, and tells the log what is our fault.
func (d *Door) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if p.Code == problem.CodeInternal {
		d.cfg.Log.ErrorContext(r.Context(), "a chat completion failed", "error", err)
	}
	Refuse(w, r, p)
}

// problemOf is the problem that err comes to.
func problemOf(err error) problem.Problem {
	var p problem.Problem
	switch {
	case errors.Is(err, gateway.ErrUndecided):
		p = problem.New(events.CodeUnavailable, "it is stored and not decided yet; ask again: the same request is done once")
	case errors.Is(err, context.Canceled): // the client has gone and hears nothing, or the gateway is to end
		p = problem.New(events.CodeUnavailable, "this gateway is about to stop, and the turn goes on; ask again")
	case errors.Is(err, gateway.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		p = problem.New(events.CodeUnavailable, gateway.ErrUnavailable.Error())
	case errors.Is(err, protocol.ErrStorageFull):
		p = problem.New(events.CodeUnavailable, "there is no room for commands now")
	default:
		p = problem.Of(err)
	}
	if p.Retry == 0 && (p.Status == http.StatusTooManyRequests || p.Status == http.StatusServiceUnavailable) {
		p.Retry = retryAfter
	}
	return p
}

// retryAfter is when a client is told to try again, if nobody knows better.
const retryAfter = 2 * time.Second
