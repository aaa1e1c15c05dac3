package toolrunner

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/oklog/ulid/v2"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"

	"github.com/everturn/everturn/protocol"
)

// Defaults of [Config].
const (
	DefaultGroup       = "builtin"
	DefaultConcurrency = 8
	DefaultAckWait     = 15 * time.Second
	DefaultGrace       = 10 * time.Second
	DefaultOfferEvery  = time.Minute
)

// Limits of [Config].
const (
	maxConcurrency = 10_000
	minAckWait     = time.Second
	minOfferEvery  = time.Second
)

// Config says how a runner works. The zero value is a working one.
type Config struct {
	// Group is the queue the runner takes calls from. Runners of one group have
	// the same tools; a tool belongs to one group. Default [DefaultGroup].
	Group string `help:"Queue of calls to serve." placeholder:"NAME"`

	// Concurrency is how many calls run at once. No more than that are taken
	// from the queue, so that others can have the rest. Default [DefaultConcurrency].
	Concurrency int `help:"Calls that run at once." placeholder:"N"`

	// AckWait is the ack wait of the group's consumer, after which the queue
	// gives a call to somebody else unless it hears from us; we speak up five
	// times as often. Default [DefaultAckWait].
	AckWait time.Duration `help:"Ack wait of the group's consumer." placeholder:"DURATION"`

	// Grace is how long running tools may go on after Run was told to end,
	// before they are cancelled. Default [DefaultGrace]; negative means not at all.
	Grace time.Duration `help:"How long running tools may go on when the runner stops." placeholder:"DURATION"`

	// OfferEvery is how often the manifests are offered again. Default [DefaultOfferEvery].
	OfferEvery time.Duration `help:"How often the tools are offered again." placeholder:"DURATION"`

	// Sources have tools that come and go while the runner runs, beside those given to
	// [New]. They are told to end when every call has. Default: none.
	Sources []Source `kong:"-"`

	// Offered is called each time an orchestrator has taken the offer of tools:
	// from then on a turn can use them. Default: nobody is told.
	Offered func() `kong:"-"`

	// Process names this process, and no other one ever. It is the end of the
	// subject on which orchestrators ask it what it runs, and where groups have
	// accounts of their own it has to begin with the group and a dot. Default:
	// that and a new id.
	Process string `kong:"-"`

	// NewID mints the ids of claims. No two goroutines of a runner call it at
	// once. Default: ULIDs.
	NewID func() string `kong:"-"`

	// Clock is the wall clock; it is compared with deadlines only, and generously.
	// Default [time.Now].
	Clock func() time.Time `kong:"-"`

	// Log gets what an operator should know. Default: nothing is logged.
	Log *slog.Logger `kong:"-"`

	// Meter gets the metrics, which are listed in metrics.go. Default: none.
	Meter metric.Meter `kong:"-"`

	// Tracer gets a span of each run of a call; see package turntrace, whose ids it must
	// use. Default: none.
	Tracer trace.Tracer `kong:"-"`
}

// withDefaults is c with every default filled in.
func (c Config) withDefaults() Config {
	if c.Group == "" {
		c.Group = DefaultGroup
	}
	if c.Concurrency == 0 {
		c.Concurrency = DefaultConcurrency
	}
	if c.AckWait == 0 {
		c.AckWait = DefaultAckWait
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if c.OfferEvery == 0 {
		c.OfferEvery = DefaultOfferEvery
	}
	if c.NewID == nil {
		c.NewID = func() string { return ulid.Make().String() }
	}
	if c.Process == "" {
		c.Process = c.Group + "." + c.NewID()
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Meter == nil {
		c.Meter = noop.NewMeterProvider().Meter("")
	}
	return c
}

// Validate says everything that is wrong with c, as [New] would. A command that
// embeds c says it before it connects.
func (c Config) Validate() error { return c.withDefaults().problems() }

// problems says everything that is wrong with c, whose defaults are filled in.
func (c Config) problems() error {
	errs := []error{protocol.ValidateGroup(c.Group)}
	if c.Concurrency < 1 || c.Concurrency > maxConcurrency {
		errs = append(errs, fmt.Errorf("concurrency: %d, want 1 to %d", c.Concurrency, maxConcurrency))
	}
	if c.AckWait < minAckWait {
		errs = append(errs, fmt.Errorf("ack wait: %v, want at least %v", c.AckWait, minAckWait))
	}
	if c.OfferEvery < minOfferEvery {
		errs = append(errs, fmt.Errorf("offer every: %v, want at least %v", c.OfferEvery, minOfferEvery))
	}
	return errors.Join(errs...)
}
