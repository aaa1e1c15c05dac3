package orchestrator

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/oklog/ulid/v2"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
)

// Models finds the model of a name.
type Models func(name string) (model.Model, bool)

// Defaults of [Config].
const (
	DefaultMailboxes      = 256
	DefaultTimers         = 64
	DefaultRequests       = 1024
	DefaultConcurrency    = 16 // attempts of one pool
	DefaultCacheBytes     = 128 << 20
	DefaultAckWait        = 15 * time.Second
	DefaultTryTimeout     = 2 * time.Second
	DefaultCommandTime    = 10 * time.Second
	DefaultResultTime     = 15 * time.Second
	DefaultRetryDelay     = time.Second
	DefaultSilence        = 180 * time.Second
	DefaultContentSilence = 10 * time.Minute
	DefaultStopTime       = 10 * time.Second
)

// Limits of [Config].
const (
	maxSlots       = 1_000_000
	minCacheBytes  = 1 << 20
	minAckWait     = 100 * time.Millisecond
	minTryTimeout  = 10 * time.Millisecond
	maxTryTimeout  = time.Minute
	minCommandTime = 100 * time.Millisecond
)

// Config says how an orchestrator works. Zero means the default, field by
// field; the zero value works and asks the models of the pool
// [chat.DefaultPool].
type Config struct {
	// Pools names the pools of models that this process asks, each with how
	// many attempts it runs at once: no more than that are taken from the queue,
	// so that other processes can have the rest. A pool with 0 is not asked.
	// Default: [chat.DefaultPool] with [DefaultConcurrency].
	Pools map[string]int `help:"Pools of models to ask, each with its number of attempts at once (default default=16)." placeholder:"POOL=N" mapsep:","`

	// ModelPools says which pool asks a model; one that is not named is asked by
	// [chat.DefaultPool]. It is read when a turn starts and must be the same
	// in all processes, or turns go where the last of them sends them.
	ModelPools map[string]string `help:"Which pool asks which model." placeholder:"MODEL=POOL" mapsep:","`

	// Windows says how large the contexts of models may be, and when they are
	// compacted; that of "" is for the models without a name here. As with ModelPools.
	Windows map[string]chat.Window `kong:"-"`

	// Defaults are the settings of a chat that says nothing else.
	Defaults events.Settings `kong:"-"`

	// Mailboxes is how many commands this process has in hand at once. Each
	// chat is worked on by one task at a time, so beyond the number of chats
	// that are busy together more of them change nothing. Default [DefaultMailboxes].
	Mailboxes int `help:"Commands in hand at once (default 256)." placeholder:"N"`

	// Timers is how many due timers are in hand at once. Default [DefaultTimers].
	Timers int `help:"Due timers in hand at once (default 64)." placeholder:"N"`

	// Requests is how many questions of tool runners are answered at once; one
	// more is told to ask again. Default [DefaultRequests].
	Requests int `help:"Requests of tool runners in hand at once (default 1024)." placeholder:"N"`

	// CacheBytes bounds the folded states kept in memory, counted by the bytes
	// of the commits they were folded from. Default [DefaultCacheBytes].
	CacheBytes int64 `help:"Memory for folded chats, in bytes of their commits (default 128 MiB)." placeholder:"BYTES"`

	// AckWait is the ack wait of the queues: who holds a message longer without
	// a word loses it to somebody else. Workers speak up five times as often.
	// Default [DefaultAckWait].
	AckWait time.Duration `help:"Ack wait of the queues (default 15s)." placeholder:"DURATION"`

	// TryTimeout bounds one exchange with the store. Short tries find a new
	// leader soon. Default [DefaultTryTimeout].
	TryTimeout time.Duration `help:"How long one exchange with the store may take (default 2s)." placeholder:"DURATION"`

	// CommandTime is how long a command or timer is tried, counted from its
	// delivery, before it is given back for [Config.RetryDelay]. Shorter than
	// AckWait. Default [DefaultCommandTime].
	CommandTime time.Duration `help:"How long a command is tried before it is given back (default 10s)." placeholder:"DURATION"`

	// ResultTime is how long a tool's result is tried before its runner is told
	// to send it again. An election takes 5 to 7 s. Default [DefaultResultTime].
	// A model's answer is tried for as long as its attempt is open.
	ResultTime time.Duration `help:"How long a tool's result is tried before its runner must send it again (default 15s)." placeholder:"DURATION"`

	// RetryDelay is for how long a message is given back that could not be
	// settled, or that a newer release must settle. Default [DefaultRetryDelay].
	RetryDelay time.Duration `help:"For how long a message is given back that could not be settled (default 1s)." placeholder:"DURATION"`

	// Silence ends an attempt whose model says nothing at all for so long, from
	// the request on; a keep-alive counts as something if the adapter yields an
	// empty delta for it. Default [DefaultSilence].
	Silence time.Duration `help:"Longest silence of a model (default 3m)." placeholder:"DURATION"`

	// ContentSilence ends an attempt whose model brings no content for so long,
	// keep-alives or not. Default [DefaultContentSilence].
	ContentSilence time.Duration `help:"Longest time of a model without content (default 10m)." placeholder:"DURATION"`

	// StopTime is how long work that has begun may go on after Run was told to
	// end. Default [DefaultStopTime]; negative means not at all.
	StopTime time.Duration `help:"How long begun work may go on when the orchestrator stops (default 10s)." placeholder:"DURATION"`

	// Clock is the wall clock. Clocks of all machines agree within
	// [events.Skew]. Default [time.Now].
	Clock Clock `kong:"-"`

	// NewID mints the ids of commits, unique among all processes for ever. It is
	// called by one goroutine at a time. Default: ULIDs.
	NewID func() string `kong:"-"`

	// Log gets what an operator should know. Default: nothing is logged.
	Log *slog.Logger `kong:"-"`

	// Meter gets the metrics, which are listed in metrics.go. Default: none.
	Meter metric.Meter `kong:"-"`

	// Tracer gets a trace of each turn; see package turntrace, whose ids it must use.
	// Default: none.
	Tracer trace.Tracer `kong:"-"`
}

// withDefaults is c with every default filled in.
func (c Config) withDefaults() Config {
	if c.Pools == nil {
		c.Pools = map[string]int{chat.DefaultPool: DefaultConcurrency}
	}
	orInt(&c.Mailboxes, DefaultMailboxes)
	orInt(&c.Timers, DefaultTimers)
	orInt(&c.Requests, DefaultRequests)
	if c.CacheBytes == 0 {
		c.CacheBytes = DefaultCacheBytes
	}
	orDuration(&c.AckWait, DefaultAckWait)
	orDuration(&c.TryTimeout, DefaultTryTimeout)
	orDuration(&c.CommandTime, min(DefaultCommandTime, c.AckWait*2/3))
	orDuration(&c.ResultTime, DefaultResultTime)
	orDuration(&c.RetryDelay, DefaultRetryDelay)
	orDuration(&c.Silence, DefaultSilence)
	orDuration(&c.ContentSilence, DefaultContentSilence)
	orDuration(&c.StopTime, DefaultStopTime)
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.NewID == nil {
		c.NewID = func() string { return ulid.Make().String() }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Meter == nil {
		c.Meter = noop.NewMeterProvider().Meter("")
	}
	return c
}

func orInt(v *int, otherwise int) {
	if *v == 0 {
		*v = otherwise
	}
}

func orDuration(v *time.Duration, otherwise time.Duration) {
	if *v == 0 {
		*v = otherwise
	}
}

// Validate says everything that is wrong with c, as [New] would. A command that
// embeds c says it before it connects.
func (c Config) Validate() error { return c.withDefaults().problems() }

// problems says everything that is wrong with c, whose defaults are filled in.
func (c Config) problems() error {
	var errs []error
	count := func(name string, n, least int) {
		if n < least || n > maxSlots {
			errs = append(errs, fmt.Errorf("%s: %d, want %d to %d", name, n, least, maxSlots))
		}
	}
	span := func(name string, d, least, most time.Duration) {
		if d < least || d > most {
			errs = append(errs, fmt.Errorf("%s: %v, want %v to %v", name, d, least, most))
		}
	}
	const day = 24 * time.Hour
	for _, pool := range slices.Sorted(maps.Keys(c.Pools)) {
		if !validPool(pool) {
			errs = append(errs, fmt.Errorf("pool %.40q: want 1 to %d of a-z, 0-9, _ and -", pool, maxPoolBytes))
		}
		count("pool "+pool, c.Pools[pool], 0)
	}
	for _, name := range slices.Sorted(maps.Keys(c.ModelPools)) {
		if !validPool(c.ModelPools[name]) {
			errs = append(errs, fmt.Errorf("model %.40q: pool %.40q: want 1 to %d of a-z, 0-9, _ and -", name, c.ModelPools[name], maxPoolBytes))
		}
	}
	count("mailboxes", c.Mailboxes, 1)
	count("timers", c.Timers, 1)
	count("requests", c.Requests, 1)
	if c.CacheBytes < minCacheBytes {
		errs = append(errs, fmt.Errorf("cache bytes: %d, want at least %d", c.CacheBytes, minCacheBytes))
	}
	span("ack wait", c.AckWait, minAckWait, day)
	span("try timeout", c.TryTimeout, minTryTimeout, maxTryTimeout)
	span("command time", c.CommandTime, min(minCommandTime, c.AckWait/2), max(c.AckWait-time.Millisecond, 0))
	span("result time", c.ResultTime, c.TryTimeout, day)
	span("retry delay", c.RetryDelay, time.Millisecond, day)
	span("silence", c.Silence, time.Second, day)
	span("content silence", c.ContentSilence, c.Silence, day)
	return errors.Join(errs...)
}

const maxPoolBytes = 32

// validPool reports whether a pool's name can stand in a subject.
func validPool(name string) bool {
	if name == "" || len(name) > maxPoolBytes {
		return false
	}
	for _, c := range []byte(name) {
		if c != '_' && c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
