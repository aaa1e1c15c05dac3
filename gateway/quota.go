package gateway

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/protocol"
)

// Quotas are what one tenant may ask of one gateway. Those of open turns count what
// all gateways and everybody on the bus have begun; the others count this gateway
// alone. A negative one is none.
type Quotas struct {
	Commands  int `name:"quota-commands"   env:"EVERTURN_QUOTA_COMMANDS"   default:"100" placeholder:"N" help:"Commands a second of one tenant, and twice as many at once; -1: as many as come. Default: 100."`
	OpenTurns int `name:"quota-open-turns" env:"EVERTURN_QUOTA_OPEN_TURNS" default:"100" placeholder:"N" help:"Chats of one tenant in which a turn may be at work at a time; -1: as many as like. Those that wait for a person do not count. Default: 100."`
	Watchers  int `name:"quota-watchers"   env:"EVERTURN_QUOTA_WATCHERS"   default:"500" placeholder:"N" help:"Streams of events that one tenant may have open; -1: as many as like. Default: 500."`
}

// Quotas that nobody chose.
const (
	DefaultCommandsPerSecond = 100
	DefaultOpenTurns         = 100
	DefaultWatchers          = 500
)

// Why a quota refuses.
const (
	overCommands  = "commands"
	overOpenTurns = "open_turns"
	overWatchers  = "watchers"
	overBodies    = "bodies"
)

func (q Quotas) withDefaults() Quotas {
	byDefault := func(n *int, d int) {
		if *n == 0 {
			*n = d
		}
	}
	byDefault(&q.Commands, DefaultCommandsPerSecond)
	byDefault(&q.OpenTurns, DefaultOpenTurns)
	byDefault(&q.Watchers, DefaultWatchers)
	return q
}

// Load says in which chats a turn is at work: models or tools are owed to it, or it
// waits for another chat. No method blocks.
type Load interface {
	Working(k events.Key) bool

	// Count is in how many of a tenant's, as far as is known.
	Count(tenant string) int

	// Begin counts a chat among them, until the log says how it stands. Decided says
	// that it does so now, or has done so long ago. Rest takes Begin back: nothing
	// comes of it.
	Begin(k events.Key)
	Decided(k events.Key)
	Rest(k events.Key)
}

const (
	// burst is how many seconds' worth of commands may come at once.
	burst = 2

	// retryTurn is when to ask again where too many turns are open.
	retryTurn = time.Second

	// maxBodiesBytes is what the bodies of a tenant's requests in hand may take of memory.
	maxBodiesBytes = 256 << 20
)

// Limited is chats with quotas: what is over them is refused as a
// [problem.Problem]. All ways in of a gateway are to share one.
type Limited struct {
	Chats

	quotas  Quotas
	load    Load
	now     func() time.Time
	refused func(reason string)

	mu      sync.Mutex
	tenants map[string]*share
}

// share is what one tenant has of a gateway.
type share struct {
	commands *rate.Limiter
	watchers int
	bodies   int64 // in bytes
}

// Limit puts quotas before chats. Load may be nil: then open turns are not counted.
func Limit(chats Chats, q Quotas, load Load) *Limited {
	return &Limited{
		Chats: chats, quotas: q.withDefaults(), load: load, now: time.Now, refused: func(string) {}, tenants: map[string]*share{},
	}
}

// count has each refusal told to refused.
func (l *Limited) count(refused func(reason string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = refused
}

// Command implements [Chats].
func (l *Limited) Command(ctx context.Context, k events.Key, by, id string, body protocol.Body) (protocol.Reply, error) {
	begins, p := l.admit(k, body.Verb())
	if p != nil {
		return protocol.Reply{}, *p
	}
	reply, err := l.Chats.Command(ctx, k, by, id, body)
	switch {
	case !begins:
	case err == nil, errors.Is(err, ErrUndecided):
		l.load.Decided(k)
	default:
		l.load.Rest(k) // no log tells of it
	}
	return reply, err
}

// admit lets a command through, or says why not, and whether it puts a chat to work.
func (l *Limited) admit(k events.Key, verb protocol.Verb) (begins bool, no *problem.Problem) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, s := l.now(), l.share(k.Tenant)
	if l.quotas.Commands > 0 && !s.commands.AllowN(now, 1) {
		wait := time.Duration((1 - s.commands.TokensAt(now)) / float64(s.commands.Limit()) * float64(time.Second))
		return false, l.over(overCommands, wait, "more than %d commands a second", l.quotas.Commands)
	}
	if !mayBegin(verb) || l.quotas.OpenTurns < 0 || l.load == nil || l.load.Working(k) {
		return false, nil
	}
	if open := l.load.Count(k.Tenant); open >= l.quotas.OpenTurns {
		return false, l.over(overOpenTurns, retryTurn, "turns are at work in %d chats already", open)
	}
	l.load.Begin(k)
	return true, nil
}

// mayBegin reports whether such a command may put a chat to work that rests. What people
// answer is no such command: whoever is asked is never turned away.
func mayBegin(v protocol.Verb) bool {
	return slices.Contains([]protocol.Verb{
		protocol.VerbSend, protocol.VerbEdit, protocol.VerbRegenerate, protocol.VerbRetry, protocol.VerbContinue, protocol.VerbCompact,
		protocol.VerbPromote, protocol.VerbExtend,
	}, v)
}

// share is what the tenant has. The lock is held.
func (l *Limited) share(tenant string) *share {
	s := l.tenants[tenant]
	if s == nil {
		s = &share{commands: rate.NewLimiter(rate.Limit(l.quotas.Commands), burst*max(l.quotas.Commands, 0))}
		l.tenants[tenant] = s
	}
	return s
}

// over refuses what is over a quota.
func (l *Limited) over(reason string, wait time.Duration, format string, args ...any) *problem.Problem {
	l.refused(reason)
	p := problem.New(problem.CodeTooMany, fmt.Sprintf(format, args...)+"; ask again after the time in Retry-After")
	p.Retry = wait
	return &p
}

// watch counts a watcher of a tenant until done is called, or says why there may be
// no more of them.
func (l *Limited) watch(tenant string) (done func(), no *problem.Problem) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.share(tenant)
	if l.quotas.Watchers >= 0 && s.watchers >= l.quotas.Watchers {
		return nil, l.over(overWatchers, retryTurn, "%d watchers are there already", s.watchers)
	}
	s.watchers++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		s.watchers--
	}, nil
}

// hold counts a body of a tenant's until done is called, or says why there is no room.
func (l *Limited) hold(tenant string, bytes int64) (done func(), no *problem.Problem) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.share(tenant)
	if s.bodies+bytes > maxBodiesBytes {
		return nil, l.over(overBodies, retryTurn, "bodies of %d bytes are in hand already, at most %d may be", s.bodies, maxBodiesBytes)
	}
	s.bodies += bytes
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		s.bodies -= bytes
	}), nil
}

// tell writes how much is left of the commands a second, before one more of them.
func (l *Limited) tell(tenant string, h http.Header) {
	if l.quotas.Commands < 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.share(tenant).commands.TokensAt(l.now()) - 1
	limit := burst * l.quotas.Commands
	h.Set("RateLimit-Limit", strconv.Itoa(limit))
	h.Set("RateLimit-Remaining", strconv.Itoa(max(0, int(left))))
	h.Set("RateLimit-Reset", strconv.Itoa(int(math.Ceil((float64(limit)-left)/float64(l.quotas.Commands)))))
}
