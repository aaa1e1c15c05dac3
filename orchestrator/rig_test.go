package orchestrator_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/membus"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
	"github.com/oklog/ulid/v2"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

const (
	tenant    = "default"
	modelName = "scripted"
	group     = "builtin"

	// patience is how long, in the bubble's time, a fact may take to come true.
	patience = 15 * time.Minute

	// lookAgain is the time between two looks at a fact.
	lookAgain = 20 * time.Millisecond
)

var chatA = events.Key{Tenant: tenant, Chat: "a"}

// rig is a bus in memory with what a test needs around it. It belongs to one
// bubble.
type rig struct {
	*testing.T
	server *membus.Server
}

// inBubble runs a test in a bubble with an empty bus.
func inBubble(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(&rig{T: t, server: membus.New(membus.Options{})})
	})
}

// part is a running orchestrator.
type part struct {
	*orchestrator.Orchestrator
	process *membus.Process
	reader  *metric.ManualReader
	ended   chan struct{}
	rig     *rig
}

// start runs an orchestrator until the test ends. edit, if given, may put
// something between it and the bus.
func (r *rig) start(m model.Model, edit func(c *orchestrator.Config, b *orchestrator.Bus)) *part {
	r.Helper()
	p := r.build(m, edit)
	p.run()
	synctest.Wait() // until it waits for work
	return p
}

func (r *rig) build(m model.Model, edit func(c *orchestrator.Config, b *orchestrator.Bus)) *part {
	r.Helper()
	process := r.server.Process("o")
	reader := metric.NewManualReader()
	cfg := orchestrator.Config{
		Defaults: events.Settings{Model: modelName}, Meter: metric.NewMeterProvider(metric.WithReader(reader)).Meter("test"),
	}
	bus := process.Orchestrator()
	if edit != nil {
		edit(&cfg, &bus)
	}
	o, err := orchestrator.New(cfg, bus, func(name string) (model.Model, bool) { return m, name == modelName })
	if err != nil {
		r.Fatal(err)
	}
	return &part{Orchestrator: o, process: process, reader: reader, ended: make(chan struct{}), rig: r}
}

func (p *part) run() {
	go func() {
		defer close(p.ended)
		if err := p.Run(p.process.Context()); err != nil {
			p.rig.Error(err)
		}
	}()
	p.rig.Cleanup(func() {
		p.process.Kill()
		<-p.ended
	})
}

// counted is the sum of a counter, of those with the attribute's value if one
// is given.
func (p *part) counted(name string, value ...string) int64 {
	p.rig.Helper()
	var all metricdata.ResourceMetrics
	if err := p.reader.Collect(context.Background(), &all); err != nil {
		p.rig.Fatal(err)
	}
	var sum int64
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			data, ok := m.Data.(metricdata.Sum[int64])
			if !ok || m.Name != "everturn.orchestrator."+name {
				continue
			}
			for _, point := range data.DataPoints {
				wanted := len(value) == 0
				for _, a := range point.Attributes.ToSlice() {
					wanted = wanted || a.Value.AsString() == value[0]
				}
				if wanted {
					sum += point.Value
				}
			}
		}
	}
	return sum
}

// eventually waits until a fact is true.
func (r *rig) eventually(what string, fact func() bool) {
	r.Helper()
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-ticker.C {
		synctest.Wait()
		if fact() {
			return
		}
	}
	r.Fatalf("never came true: %s", what)
}

// command stores a command and gives its id and what waits for its outcome.
func (r *rig) command(k events.Key, body protocol.Body) (id string, outcome func() protocol.Reply) {
	r.Helper()
	id = ulid.Make().String()
	encoded, err := json.Marshal(body)
	if err != nil {
		r.Fatal(err)
	}
	return id, r.raw(k, string(body.Verb()), id, encoded)
}

// raw stores anything as a command.
func (r *rig) raw(k events.Key, verb, id string, body []byte) (outcome func() protocol.Reply) {
	r.Helper()
	listen, err := r.server.Listen(k.Tenant, id)
	if err != nil {
		r.Fatal(err)
	}
	if _, err := r.server.Publish(k, verb, map[string]string{protocol.HeaderID: id, protocol.HeaderBy: "user:ann"}, body); err != nil {
		r.Fatal(err)
	}
	return func() protocol.Reply {
		r.Helper()
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		reply, err := listen(ctx)
		if err != nil {
			r.Fatalf("no outcome of %s: %v", verb, err)
		}
		return reply
	}
}

// do stores a command and waits for a yes.
func (r *rig) do(k events.Key, body protocol.Body) protocol.Reply {
	r.Helper()
	_, outcome := r.command(k, body)
	reply := outcome()
	if !reply.OK {
		r.Fatalf("%s was answered with %s: %s", body.Verb(), reply.Code, reply.Message)
	}
	return reply
}

func create() protocol.Body { return protocol.Create{V: protocol.Version} }

func send(text string) protocol.Body {
	return protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(text)}}
}

// log is a chat's log, decoded; its chain is checked.
func (r *rig) log(k events.Key) []events.Commit {
	r.Helper()
	var list []events.Commit
	rev, prev := uint64(1), ""
	for i, m := range r.server.Log(k) {
		c, err := events.Decode(m.Body)
		if err != nil {
			r.Fatal(err)
		}
		if first, ok := c.Events[0].(events.ChatInherited); ok && i == 0 {
			prev = first.Origin.Hash
		}
		if _, erased := c.Events[0].(events.ChatErased); erased && c.Rev > rev { // what was before is deleted, or will be
			rev, prev = c.Rev, c.Prev
		}
		if c.Rev != rev || c.Prev != prev {
			r.Fatalf("commit %d has rev %d and prev %q, want rev %d and prev %q", i+1, c.Rev, c.Prev, rev, prev)
		}
		rev++
		prev = events.Hash(m.Body)
		list = append(list, c)
	}
	return list
}

// types are the types of a chat's events, a line for each commit.
func (r *rig) types(k events.Key) string {
	r.Helper()
	var lines []string
	for _, c := range r.log(k) {
		var line []string
		for _, e := range c.Events {
			line = append(line, strings.TrimSuffix(string(e.EventType()), ".v1"))
		}
		lines = append(lines, strings.Join(line, " "))
	}
	return strings.Join(lines, "\n")
}

// has reports whether an event of the type is in the chat's log.
func (r *rig) has(k events.Key, name events.Type) bool {
	r.Helper()
	for _, c := range r.log(k) {
		for _, e := range c.Events {
			if e.EventType() == name {
				return true
			}
		}
	}
	return false
}

// eventsOf gives every event of a type in the chat's log.
func eventsOf[E events.Event](r *rig, k events.Key) []E {
	r.Helper()
	var list []E
	for _, c := range r.log(k) {
		for _, e := range c.Events {
			if e, ok := e.(E); ok {
				list = append(list, e)
			}
		}
	}
	return list
}

// offer enters tools as a runner's offer would.
func (r *rig) offer(list ...protocol.Manifest) {
	r.Helper()
	tools := r.server.Process("operator").Orchestrator().Tools
	for _, m := range list {
		_, d := m.Encode()
		if err := tools.Offer(r.Context(), protocol.ToolEntry{Manifest: m, Digest: d, Runner: "r"}); err != nil {
			r.Fatal(err)
		}
	}
}

func lookup() protocol.Manifest {
	return protocol.Manifest{
		Name: "lookup", Group: group, ReadOnly: true, Idempotent: true,
		Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
	}
}

// script is a model that answers its n-th request, from 1, with what the
// function says.
type script struct {
	say func(ctx context.Context, n int, r model.Request, yield func(model.Delta, error) bool)

	mu    sync.Mutex
	asked []model.Request
}

// Stream implements [model.Model].
func (s *script) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		s.mu.Lock()
		s.asked = append(s.asked, r)
		n := len(s.asked)
		s.mu.Unlock()
		s.say(ctx, n, r, yield)
	}
}

func (s *script) requests() []model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// answers gives each request its answer; the last is given again and again.
func answers(list ...*model.Answer) *script {
	return &script{say: func(_ context.Context, n int, _ model.Request, yield func(model.Delta, error) bool) {
		a := list[min(n, len(list))-1]
		for i, p := range a.Parts {
			if p.Type == events.PartText && !yield(model.Delta{Kind: model.DeltaText, Part: i, Text: p.Text}, nil) {
				return
			}
		}
		yield(model.Delta{Answer: a}, nil)
	}}
}

func says(text string) *model.Answer {
	return &model.Answer{Parts: []events.Part{events.Text(text)}, Stop: events.StopEnd}
}

func calls(name, arguments string) *model.Answer {
	return &model.Answer{
		Parts: []events.Part{{Type: events.PartCall, Name: name, Arguments: arguments, ProviderID: "call_1"}}, Stop: events.StopCalls,
	}
}

// hangs says nothing more until it is cancelled.
func hangs(ctx context.Context, yield func(model.Delta, error) bool) {
	<-ctx.Done()
	yield(model.Delta{}, &model.Error{Class: events.ClassCancelled, Message: "cancelled", Err: ctx.Err()})
}
