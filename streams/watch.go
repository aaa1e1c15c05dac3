package streams

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// defaultWatchEach is between two looks at the streams.
const defaultWatchEach = 30 * time.Second

// WatchConfig says how streams are watched. The zero value watches in vain.
type WatchConfig struct {
	Log   *slog.Logger  // what is said when something changes; nil says nothing
	Meter metric.Meter  // of the gauges; nil measures nothing
	Each  time.Duration // between two looks; 0 is half a minute
}

// watch looks at the streams of one installation, and remembers what it has said.
type watch struct {
	js      jetstream.JetStream
	log     *slog.Logger
	metrics metrics
	said    map[string]string // of each stream
	shards  int
}

// Watch looks at every stream until ctx ends, and raises the alarm when one
// becomes full, is gone, or was changed so that it could lose commits. What was
// said is not said again until it changes. It only looks: whoever runs on a log
// that somebody has changed goes on, as stopping would not bring back a commit.
func Watch(ctx context.Context, nc *nats.Conn, o Options, cfg WatchConfig) error {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Meter == nil {
		cfg.Meter = noop.NewMeterProvider().Meter("")
	}
	if cfg.Each <= 0 {
		cfg.Each = defaultWatchEach
	}
	js, err := o.jetStream(nc)
	if err != nil {
		return fmt.Errorf("watch the streams: %w", err)
	}
	w := watch{js: js, log: cfg.Log, said: map[string]string{}}
	if w.metrics, err = newMetrics(cfg.Meter); err != nil {
		return fmt.Errorf("watch the streams: %w", err)
	}
	look := time.NewTicker(cfg.Each)
	defer look.Stop()
	for {
		try, cancel := context.WithTimeout(ctx, max(cfg.Each, o.try()))
		w.look(try)
		cancel()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
		}
	}
}

// look looks at every stream once.
func (w *watch) look(ctx context.Context) {
	if w.shards == 0 {
		first, err := w.js.Stream(ctx, LogStream(0))
		if err == nil {
			w.shards, err = strconv.Atoi(first.CachedInfo().Config.Metadata[keyShards])
		}
		if err != nil && ctx.Err() == nil {
			w.say(LogStream(0), slog.LevelError, explain(err).Error())
		}
		if err != nil {
			return
		}
	}
	names := []string{CommandsStream, WorkStream, TimersStream, FeedStream, DeadStream, snapshotsStream, toolsStream, blobsStream}
	for n := range w.shards {
		names = append(names, LogStream(n))
	}
	for _, name := range names {
		stream, err := w.js.Stream(ctx, name)
		switch {
		case ctx.Err() != nil:
			return // nobody answers: those who work say so
		case err != nil:
			w.say(name, slog.LevelError, explain(err).Error())
		default:
			w.judge(ctx, stream.CachedInfo(), slices.Index(names, name) >= len(names)-w.shards)
		}
	}
}

// judge measures a stream and says what is wrong with it.
func (w *watch) judge(ctx context.Context, s *jetstream.StreamInfo, isLog bool) {
	of := metric.WithAttributes(attribute.String("stream", s.Config.Name))
	full := fullness(s)
	w.metrics.full.Record(ctx, int64(full.Percent()), of)
	if isLog {
		unsafe := unsafeSettings(s.Config)
		w.metrics.unsafe.Record(ctx, int64(len(unsafe)), of)
		if len(unsafe) > 0 {
			w.say(s.Config.Name, slog.LevelError, (&UnsafeLogError{Stream: s.Config.Name, Settings: unsafe}).Error())
			return
		}
	}
	const do = "make room, or raise max_bytes in streams.yaml and run `everturn streams apply`"
	switch percent := full.Percent(); {
	case percent >= FullAlarm:
		w.say(s.Config.Name, slog.LevelError, fmt.Sprintf("at least %d %% full: %s", FullAlarm, do))
	case percent >= FullWarn:
		w.say(s.Config.Name, slog.LevelWarn, fmt.Sprintf("at least %d %% full: %s", FullWarn, do))
	default:
		w.say(s.Config.Name, slog.LevelInfo, "")
	}
}

// say tells what is wrong with a stream, or with an empty text that nothing is,
// unless that was said last.
func (w *watch) say(stream string, level slog.Level, what string) {
	if w.said[stream] == what {
		return
	}
	w.said[stream] = what
	if what == "" {
		what = "all is well again"
	}
	w.log.Log(context.Background(), level, "stream "+stream+": "+strings.TrimPrefix(what, "stream "+stream+": "))
}
