package streams_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// heard is a log that a test waits for.
type heard struct {
	slog.Handler
	lines chan string
}

// Enabled implements [slog.Handler].
func (heard) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements [slog.Handler].
func (h heard) Handle(_ context.Context, r slog.Record) error {
	h.lines <- r.Level.String() + " " + r.Message
	return nil
}

// watched is a stage whose streams are watched.
type watched struct {
	stage
	lines  chan string
	reader *sdk.ManualReader
}

func newWatched(t *testing.T) watched {
	t.Helper()
	w := watched{stage: newStage(t), lines: make(chan string, 64), reader: sdk.NewManualReader()}
	ctx, cancel := context.WithCancel(t.Context())
	nc := clientOf(t, w.server).Conn()
	var watching sync.WaitGroup
	watching.Go(func() {
		_ = streams.Watch(ctx, nc, streams.Options{}, streams.WatchConfig{ // it ends with ctx
			Log: slog.New(heard{slog.DiscardHandler, w.lines}), Each: 20 * time.Millisecond,
			Meter: sdk.NewMeterProvider(sdk.WithReader(w.reader)).Meter("test"),
		})
	})
	t.Cleanup(func() { cancel(); watching.Wait() })
	return w
}

// hears waits for the next line, which must hold all the words.
func (w watched) hears(t *testing.T, words ...string) {
	t.Helper()
	select {
	case line := <-w.lines:
		for _, word := range words {
			if !strings.Contains(line, word) {
				t.Fatalf("heard %q, want %q in it", line, word)
			}
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("heard nothing of %q", words)
	}
}

// gauge is what a gauge of a stream shows.
func (w watched) gauge(t *testing.T, name, stream string) int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := w.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			points, ok := m.Data.(metricdata.Gauge[int64])
			if m.Name != name || !ok {
				continue
			}
			for _, p := range points.DataPoints {
				if of, _ := p.Attributes.Value("stream"); of.AsString() == stream {
					return p.Value
				}
			}
		}
	}
	t.Fatalf("no gauge %s of %s", name, stream)
	return 0
}

func TestTheWatchSaysHowFullAStreamIs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{streams.CommandsStream, streams.WorkStream, streams.TimersStream, streams.DeadStream, "KV_SNAPSHOTS", "OBJ_BLOBS"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWatched(t)
			fill(t, w.stage, name)
			limit := func(percent int64) {
				editStream(t, w.js, name, func(c *jetstream.StreamConfig) { c.MaxBytes = stored(t, w.js, name)*100/percent - 1 })
			}
			limit(60)
			limit(70)
			w.hears(t, "WARN stream "+name, "70 %", "streams.yaml")
			if now := w.gauge(t, "everturn.streams.full", name); now != 70 {
				t.Errorf("the gauge shows %d", now)
			}
			limit(85)
			w.hears(t, "ERROR stream "+name, "85 %")
			limit(50)
			w.hears(t, "INFO stream "+name, "all is well again")
		})
	}
}

// fill stores something in a stream by its own means.
func fill(t *testing.T, s stage, name string) {
	t.Helper()
	const size = 8 << 10
	body := make([]byte, size)
	var err error
	switch name {
	case streams.CommandsStream:
		_, err = s.js.Publish(t.Context(), protocol.CommandSubject(someChat, "send"), body)
	case streams.WorkStream:
		_, err = s.js.Publish(t.Context(), "everturn.work.model.default.acme.c1.1", body)
	case streams.TimersStream:
		_, err = s.js.Publish(t.Context(), "everturn.timer.due.acme.c1.x", body)
	case streams.DeadStream:
		err = s.Dead.Put(t.Context(), someChat, protocol.Stored{Body: body}, oneCommand, "a bug")
	case "KV_SNAPSHOTS":
		err = s.Snapshots.Put(t.Context(), someChat, 3, body)
	case "OBJ_BLOBS":
		_, err = s.js.Publish(t.Context(), "$O.BLOBS.C.x", body)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// stored is how many bytes a stream holds.
func stored(t *testing.T, js jetstream.JetStream, name string) int64 {
	t.Helper()
	s, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return int64(s.CachedInfo().State.Bytes)
}

func TestB59AWatchSaysThatALogCouldLoseCommits(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	log := streams.LogStream(1)
	editStream(t, w.js, log, func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour })
	w.hears(t, "ERROR stream "+log, "max_age 1h", "streams apply --repair")
	if now := w.gauge(t, "everturn.streams.unsafe", log); now != 1 {
		t.Errorf("the gauge shows %d", now)
	}
	editStream(t, w.js, log, func(c *jetstream.StreamConfig) { c.MaxAge, c.Discard = 0, jetstream.DiscardOld })
	w.hears(t, "ERROR stream "+log, "discard old")
	editStream(t, w.js, log, func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardNew })
	w.hears(t, "INFO stream "+log, "all is well again")
	if err := w.js.DeleteStream(t.Context(), streams.WorkStream); err != nil {
		t.Fatal(err)
	}
	w.hears(t, "ERROR stream "+streams.WorkStream)
}
