package toolrunner_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

var errNoAnswer = errors.New("no answer")

// bus stands in for the server and for every orchestrator behind it. What it
// answers can be set before the runner starts.
type bus struct {
	onClaim    func(n int, c protocol.Claim) (protocol.ClaimAnswer, error) // n counts from 0
	onResult   func(n int) (protocol.ResultAnswer, error)
	onAsk      func(n int, a protocol.Ask) (protocol.AskAnswer, error)
	onOffer    func(n int) (protocol.OfferAnswer, error)
	onUpload   func() error
	onDownload func() ([]byte, error)
	claimTakes time.Duration

	queue chan protocol.Delivery
	stops chan stopMessage

	mu       sync.Mutex
	claims   []protocol.Claim
	results  []protocol.Result
	asks     []protocol.Ask
	offers   []time.Time
	offered  []protocol.Offer
	fetches  []int
	uploads  map[events.Digest]string
	progress []protocol.Progress
	running  func(protocol.RunnerQuestion) bool
}

type stopMessage struct {
	chat events.Key
	stop protocol.Stop
}

func newBus() *bus {
	return &bus{
		onClaim:  func(int, protocol.Claim) (protocol.ClaimAnswer, error) { return granted, nil },
		onResult: func(int) (protocol.ResultAnswer, error) { return committed, nil },
		onAsk:    func(int, protocol.Ask) (protocol.AskAnswer, error) { return protocol.AskAnswer{}, errNoAnswer },
		onOffer:  func(int) (protocol.OfferAnswer, error) { return protocol.OfferAnswer{}, nil },
		onUpload: func() error { return nil },
		queue:    make(chan protocol.Delivery, 100),
		stops:    make(chan stopMessage, 10),
		uploads:  map[events.Digest]string{},
	}
}

var (
	granted     = protocol.ClaimAnswer{Answer: protocol.ClaimGranted, GrantMS: events.Grant.Milliseconds()}
	over        = protocol.ClaimAnswer{Answer: protocol.ClaimOver, Why: "the turn was interrupted"}
	committed   = protocol.ResultAnswer{Answer: protocol.ResultCommitted, Rev: 1}
	unavailable = protocol.ResultAnswer{Answer: protocol.ResultUnavailable}
)

func (b *bus) Fetch(ctx context.Context, _ string, limit int) ([]protocol.Delivery, error) {
	b.mu.Lock()
	b.fetches = append(b.fetches, limit)
	b.mu.Unlock()
	select {
	case d := <-b.queue:
		got := []protocol.Delivery{d}
		for len(got) < limit && len(b.queue) > 0 {
			got = append(got, <-b.queue)
		}
		return got, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (b *bus) Claim(ctx context.Context, _ events.Key, c protocol.Claim) (protocol.ClaimAnswer, error) {
	b.mu.Lock()
	n := len(b.claims)
	b.claims = append(b.claims, c)
	b.mu.Unlock()
	answer, err := b.onClaim(n, c)
	if wait(ctx, b.claimTakes) != nil {
		return protocol.ClaimAnswer{}, errNoAnswer
	}
	return answer, err
}

func (b *bus) Result(_ context.Context, _ events.Key, r protocol.Result) (protocol.ResultAnswer, error) {
	b.mu.Lock()
	n := len(b.results)
	b.results = append(b.results, r)
	b.mu.Unlock()
	return b.onResult(n)
}

func (b *bus) Ask(_ context.Context, _ events.Key, a protocol.Ask) (protocol.AskAnswer, error) {
	b.mu.Lock()
	n := len(b.asks)
	b.asks = append(b.asks, a)
	b.mu.Unlock()
	return b.onAsk(n, a)
}

func (b *bus) Offer(_ context.Context, o protocol.Offer) (protocol.OfferAnswer, error) {
	b.mu.Lock()
	n := len(b.offers)
	b.offers = append(b.offers, time.Now())
	b.offered = append(b.offered, o)
	b.mu.Unlock()
	return b.onOffer(n)
}

func (b *bus) Upload(_ context.Context, _ events.Key, content []byte) (events.Digest, error) {
	if err := b.onUpload(); err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	d := events.DigestOf(content)
	b.uploads[d] = string(content)
	return d, nil
}

func (b *bus) Download(context.Context, events.Key, events.Digest) ([]byte, error) {
	return b.onDownload()
}

func (b *bus) Stops(ctx context.Context, on func(events.Key, protocol.Stop)) error {
	for {
		select {
		case s := <-b.stops:
			on(s.chat, s.stop)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (b *bus) Answer(ctx context.Context, _ string, running func(protocol.RunnerQuestion) bool) error {
	b.mu.Lock()
	b.running = running
	b.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

func (b *bus) Progress(_ context.Context, _ events.Key, p protocol.Progress) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.progress = append(b.progress, p)
	return nil
}

// runs asks the process whether it still runs the first claim.
func (b *bus) runs() bool {
	b.mu.Lock()
	ask, claim := b.running, b.claims[0]
	b.mu.Unlock()
	return ask(protocol.RunnerQuestion{V: 1, Tenant: chat.Tenant, Chat: chat.Chat, Call: claim.Call, Claim: claim.Claim})
}

func (b *bus) sentClaims() []protocol.Claim {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.claims)
}

func (b *bus) sentResults() []protocol.Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.results)
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// delivery is a message in hand. Its fields are read after settled is closed,
// or when nothing runs.
type delivery struct {
	body    []byte
	count   uint64
	stored  time.Time
	settled chan struct{}

	mu    sync.Mutex
	acked bool
	away  time.Duration
	at    time.Time
	alive []time.Time
}

func (d *delivery) Subject() string      { return "everturn.work.tool.builtin.acme.c1.1-1-1" }
func (d *delivery) Header(string) string { return "" }
func (d *delivery) Body() []byte         { return d.body }
func (d *delivery) Sequence() uint64     { return 1 }
func (d *delivery) Count() uint64        { return d.count }
func (d *delivery) Stored() time.Time    { return d.stored }

func (d *delivery) InProgress(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.alive = append(d.alive, time.Now())
	return nil
}

func (d *delivery) Ack(context.Context) error { return d.settle(true, 0) }

func (d *delivery) Later(_ context.Context, away time.Duration) error { return d.settle(false, away) }

func (d *delivery) settle(acked bool, away time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.acked, d.away, d.at = acked, away, time.Now()
	close(d.settled) // a second time panics: a delivery is settled once
	return nil
}

var (
	chat = events.Key{Tenant: "acme", Chat: "c1"}
	call = events.CallID{Turn: 1, Step: 1, Ordinal: 1}
)

// rig is a running runner with one tool.
type rig struct {
	t    *testing.T
	bus  *bus
	tool toolrunner.Tool
	stop context.CancelFunc
	done chan struct{}
}

// effect is the manifest of a tool whose effect must not be repeated.
func effect() protocol.Manifest {
	return protocol.Manifest{Name: "act", Schema: json.RawMessage(`{"type":"object"}`), Group: "builtin", TimeoutMS: 20_000, Policy: events.PolicyAllow}
}

func readOnly() protocol.Manifest {
	m := effect()
	m.ReadOnly = true
	return m
}

func idempotent() protocol.Manifest {
	m := effect()
	m.Idempotent = true
	return m
}

// start runs a runner in the bubble; its end is part of the test.
func start(t *testing.T, b *bus, m protocol.Manifest, run func(context.Context, toolrunner.Call) (toolrunner.Output, error)) *rig {
	t.Helper()
	return startWith(t, toolrunner.Config{}, b, m, run)
}

func startWith(t *testing.T, cfg toolrunner.Config, b *bus, m protocol.Manifest, run func(context.Context, toolrunner.Call) (toolrunner.Output, error)) *rig {
	t.Helper()
	tool := toolrunner.Func(m, run)
	r, err := toolrunner.New(cfg, b, []toolrunner.Tool{tool})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	g := &rig{t: t, bus: b, tool: tool, stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(g.done)
		if err := r.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-g.done })
	synctest.Wait() // it listens now
	return g
}

// work is the body of a call of the rig's tool.
func (g *rig) work(change ...func(*protocol.ToolWork)) []byte {
	g.t.Helper()
	m := g.tool.Manifest()
	_, digest := m.Encode()
	w := protocol.ToolWork{
		V: 1, Tenant: chat.Tenant, Chat: chat.Chat, Rev: 7, Call: call, Tool: m.Name, Group: m.Group, Manifest: digest,
		Arguments: json.RawMessage(`{"x":1}`), IdempotencyKey: protocol.IdempotencyKey(chat, call),
		TimeoutMS: m.TimeoutMS, Deadline: events.At(time.Now()).Add(time.Duration(m.TimeoutMS)*time.Millisecond + events.Dead),
	}
	for _, c := range change {
		c(&w)
	}
	body, err := json.Marshal(w)
	if err != nil {
		g.t.Fatal(err)
	}
	return body
}

// deliver hands a call to the runner.
func (g *rig) deliver(body []byte, count uint64) *delivery {
	d := &delivery{body: body, count: count, stored: time.Now(), settled: make(chan struct{})}
	g.bus.queue <- d
	return d
}

// settle delivers a call and waits until it is settled.
func (g *rig) settle(body []byte, count uint64) *delivery {
	d := g.deliver(body, count)
	<-d.settled
	return d
}

// result is the one result that was sent, however often.
func (g *rig) result() protocol.Result {
	g.t.Helper()
	sent := g.bus.sentResults()
	if len(sent) == 0 {
		g.t.Fatal("no result was sent")
	}
	return sent[len(sent)-1]
}

func (g *rig) wantResult(status events.ToolStatus) protocol.Result {
	g.t.Helper()
	r := g.result()
	if r.Status != status || r.IsError != (status != events.ToolOK) {
		g.t.Errorf("result: %s, is error %v, want %s: %v", r.Status, r.IsError, status, r.Parts)
	}
	return r
}

func (d *delivery) wantAck(t *testing.T) {
	t.Helper()
	if !d.acked {
		t.Errorf("given back for %v, want an ack", d.away)
	}
}

func (d *delivery) wantLater(t *testing.T, away time.Duration) {
	t.Helper()
	if d.acked || d.away != away {
		t.Errorf("acked %v, away %v; want it given back for %v", d.acked, d.away, away)
	}
}

func says(text string) func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
	return func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
		return toolrunner.Output{Text: text}, nil
	}
}

// hangs runs until it is told to end.
func hangs(ctx context.Context, _ toolrunner.Call) (toolrunner.Output, error) {
	<-ctx.Done()
	return toolrunner.Output{}, ctx.Err()
}
