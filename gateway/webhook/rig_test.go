package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/webhook"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/embedded/embeddedtest"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

const (
	// shortAckWait is how soon what a dead process had in hand is handed over again.
	shortAckWait = time.Second

	// poll is how often a test looks for a fact that nobody tells it.
	poll = 10 * time.Millisecond
)

// Variables of a process of this test binary that only sends webhooks.
const (
	childURL  = "EVERTURN_TEST_WEBHOOKS_URL"
	childFile = "EVERTURN_TEST_WEBHOOKS_FILE"
	secretEnv = "EVERTURN_TEST_SECRET"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		if err := child(url, os.Getenv(childFile)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child sends webhooks until it is told to end.
func child(url, file string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	f, err := webhook.Load(file, os.Getenv)
	if err != nil {
		return err
	}
	return readside.RunWebhooks(ctx, nc, streams.Options{AckWait: shortAckWait}, settings(f, slog.New(slog.DiscardHandler)))
}

// settings are quick ones.
func settings(f webhook.File, log *slog.Logger) webhook.Config {
	return webhook.Config{
		File: f, Sender: webhook.NewSender("0.0.0", time.Now), Log: log,
		FirstWait: 10 * time.Millisecond, MaxWait: 100 * time.Millisecond, HoldEvery: shortAckWait / 5,
	}
}

// rig is a server with logs.
type rig struct {
	*testing.T

	nc     *nats.Conn
	server *embedded.Server
	shards int
	log    *lines
	counts *sdk.ManualReader
}

// lines is what was logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	server := embeddedtest.Start(t, embedded.Options{})
	nc, err := server.Connect(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	topology, err := streams.LoadTopology("")
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := topology.Apply(t.Context(), js, streams.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	shards, err := streams.CheckLog(t.Context(), js)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{T: t, nc: nc, server: server, shards: shards, log: &lines{}, counts: sdk.NewManualReader()}
}

// file writes a webhooks.yaml with those hooks, each a YAML text below "- ".
func (r *rig) file(hooks ...string) string {
	r.Helper()
	path := filepath.Join(r.TempDir(), "webhooks.yaml")
	text := "dead_letters: dead.jsonl\nwebhooks:\n"
	for _, h := range hooks {
		text += "  - " + strings.ReplaceAll(strings.TrimSpace(h), "\n", "\n    ") + "\n    secret_env: [" + secretEnv + "]\n"
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
	return path
}

// load reads such a file.
func (r *rig) load(path string) webhook.File {
	r.Helper()
	f, err := webhook.Load(path, func(string) string { return secretText() })
	if err != nil {
		r.Fatal(err)
	}
	return f
}

// run sends webhooks until the function it gives is called.
func (r *rig) run(f webhook.File) (stop func()) {
	r.Helper()
	ctx, cancel := context.WithCancel(r.Context())
	cfg := settings(f, slog.New(slog.NewTextHandler(r.log, nil)))
	cfg.Meter = sdk.NewMeterProvider(sdk.WithReader(r.counts)).Meter("test")
	var running sync.WaitGroup
	running.Go(func() {
		if err := readside.RunWebhooks(ctx, r.nc, streams.Options{AckWait: shortAckWait}, cfg); err != nil {
			r.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	r.Cleanup(stop)
	for _, h := range f.Hooks {
		r.await("hook "+h.Name, func() bool {
			b, err := streams.OutboxBacklog(r.Context(), r.nc, streams.Options{}, h.Name)
			return err == nil && b.Shards == r.shards
		})
	}
	return stop
}

// counted is the counter of that name, all webhooks together.
func (r *rig) counted(name string) (sum int64) {
	r.Helper()
	var all metricdata.ResourceMetrics
	if err := r.counts.Collect(r.Context(), &all); err != nil {
		r.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != "everturn.webhook."+name {
				continue
			}
			points, ok := m.Data.(metricdata.Sum[int64])
			if !ok {
				r.Fatalf("%s is a %T", name, m.Data)
			}
			for _, p := range points.DataPoints {
				sum += p.Value
			}
		}
	}
	return sum
}

// await waits until holds says yes.
func (r *rig) await(what string, holds func() bool) {
	r.Helper()
	for !holds() {
		select {
		case <-r.Context().Done():
			r.Fatalf("waited in vain: %s", what)
		case <-time.After(poll):
		}
	}
}

// commit stores a commit with an event of each title.
func (r *rig) commit(tenant, chat string, rev uint64, titles ...string) {
	r.Helper()
	k := events.Key{Tenant: tenant, Chat: chat}
	c := events.Commit{ID: fmt.Sprintf("c%d", rev), Key: k, Rev: rev, At: events.At(time.Now()), Cause: events.Cause{Kind: events.CausedByCommand, ID: "x"}}
	for _, title := range titles {
		c.Events = append(c.Events, events.ChatTitled{Title: title})
	}
	c.Events = append(c.Events, events.ChatArchived{})
	body, err := events.Encode(c)
	if err != nil {
		r.Fatal(err)
	}
	answer, err := r.nc.RequestWithContext(r.Context(), protocol.LogSubject(protocol.Shard(k, r.shards), k), body)
	if err != nil {
		r.Fatal(err)
	}
	var ack struct{ Error json.RawMessage }
	if err := json.Unmarshal(answer.Data, &ack); err != nil || ack.Error != nil {
		r.Fatalf("the server says %s", answer.Data)
	}
}

// stored is a commit of the log.
func (r *rig) stored(ctx context.Context, k events.Key, rev uint64) ([]byte, error) {
	reader, err := streams.OpenReader(ctx, r.nc, streams.Options{})
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	last, err := reader.Log.Last(ctx, k)
	if err != nil {
		return nil, err
	}
	for m, err := range reader.Log.Read(ctx, k, 0, last.Sequence) {
		if err != nil {
			return nil, err
		}
		if c, err := events.Decode(m.Body); err == nil && c.Rev == rev {
			return m.Body, nil
		}
	}
	return nil, fmt.Errorf("chat %s has no rev %d", k, rev)
}
