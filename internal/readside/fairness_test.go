//go:build processes

package readside_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

const (
	// sends is how many one tenant has ready.
	sends = 10_000

	// slower is how much longer the turns of another tenant may take, in percent.
	slower = 20
)

// flood is a tenant with thousands of sends.
type flood struct {
	contended func() bool // it stands before others, if nobody helps them
	stop      func() string
}

// A pool of models is a queue for all, COMMANDS is one, and nobody has set anything. A
// machine that does something else for a moment does not decide it: while there is a
// crowd the best of a few measurements counts.
func TestATenantWithThousandsOfSendsSlowsNoOther(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flood func(h *house) flood
	}{
		{"over HTTP", (*house).floodGateway},
		{"on the bus", (*house).floodBus},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := build(t, 0)
			alone := h.turns()
			limit := alone.p99() * (100 + slower) / 100
			f := tt.flood(h)
			h.until("there is a crowd", f.contended)
			beside := h.turns()
			t.Logf("a turn of %v: p50 %v, p99 %v alone; p50 %v, p99 %v beside", turnTime, alone.p50(), alone.p99(), beside.p50(), beside.p99())
			for try := 1; beside.p99() > limit && try < tries && f.contended(); try++ {
				beside = h.turns()
				t.Logf("once more: p50 %v, p99 %v beside", beside.p50(), beside.p99())
			}
			t.Logf("the other tenant had %s", f.stop())
			if beside.p99() > limit {
				t.Errorf("the p99 of a turn is %v beside a tenant with %d sends, more than %v", beside.p99(), sends, limit)
			}
		})
	}
}

// tries is how often the turns beside the other tenant's are measured, at most.
const tries = 3

// turnTime is how long the model takes for the input "long".
const turnTime = time.Second

// floodGateway sends as fast as a gateway takes it. The chats are there already.
func (h *house) floodGateway() flood {
	url, _ := h.gate(readside.GatewayConfig{})
	greedy := h.token("greedy", "token", "")
	h.until("the token counts", func() bool { return h.ask(greedy, "GET", url+"/v1/chats/x", "").status == http.StatusNotFound })
	bus := client.New(h.connect(), "greedy", "")
	for n := range chatsOverHTTP {
		if _, err := bus.Create(h.Context(), fmt.Sprintf("greedy-%d", n), protocol.Create{V: protocol.Version}); err != nil {
			h.Fatal(err)
		}
	}
	var queue, accepted, refused atomic.Int64
	queue.Store(sends)
	end := make(chan struct{})
	var senders sync.WaitGroup
	for range 50 {
		senders.Go(func() {
			for n := queue.Add(-1); n >= 0; n = queue.Add(-1) {
				chat := fmt.Sprintf("greedy-%d", n%chatsOverHTTP)
				for h.ask(greedy, "POST", url+"/v1/chats/"+chat+"/send", `{"parts":[{"type":"text","text":"heavy"}]}`).status != http.StatusOK {
					refused.Add(1)
					select {
					case <-end:
						return
					case <-time.After(100 * time.Millisecond): // sooner than it was told to
					}
				}
				accepted.Add(1)
			}
		})
	}
	return flood{
		contended: func() bool { return accepted.Load() > 4*orchestrator.DefaultConcurrency && queue.Load() > 0 },
		stop: func() string {
			close(end)
			senders.Wait()
			return fmt.Sprintf("%d sends that were accepted and %d that were refused", accepted.Load(), refused.Load())
		},
	}
}

// chatsOverHTTP is in how many chats somebody sends there.
const chatsOverHTTP = 200

// floodBus stores all commands at once.
func (h *house) floodBus() flood {
	js, err := jetstream.New(h.connect(), jetstream.WithPublishAsyncMaxPending(2*sends))
	if err != nil {
		h.Fatal(err)
	}
	for n := range sends {
		k := events.Key{Tenant: "greedy", Chat: fmt.Sprintf("greedy-%d", n)}
		for _, body := range []protocol.Body{
			protocol.Create{V: protocol.Version}, protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text("heavy")}},
		} {
			encoded, err := json.Marshal(body)
			if err != nil {
				h.Fatal(err)
			}
			if _, err := js.PublishAsync(protocol.CommandSubject(k, string(body.Verb())), encoded); err != nil {
				h.Fatal(err)
			}
		}
	}
	<-js.PublishAsyncComplete() // all are stored
	begun := time.Now()
	commands, err := js.Stream(h.Context(), streams.CommandsStream)
	if err != nil {
		h.Fatal(err)
	}
	return flood{
		contended: func() bool {
			info, err := commands.Info(h.Context())
			if err != nil {
				h.Fatal(err)
			}
			return info.State.Msgs > sends/10
		},
		stop: func() string { return fmt.Sprintf("%d sends, all stored %v before", sends, time.Since(begun)) },
	}
}

// took is how long turns took, sorted.
type took []time.Duration

func (t took) p50() time.Duration { return t[len(t)/2] }
func (t took) p99() time.Duration { return t[len(t)-1] }

// turns runs turns of another tenant, in a few chats at a time.
func (h *house) turns() took {
	h.Helper()
	const chats, each = 3, 5
	var mu sync.Mutex
	var all took
	var running sync.WaitGroup
	for range chats {
		polite := client.New(h.connect(), "polite", "")
		running.Go(func() {
			for range each {
				begun := time.Now()
				if err := oneTurn(h.Context(), polite); err != nil {
					h.Error(err)
					return
				}
				mu.Lock()
				all = append(all, time.Since(begun))
				mu.Unlock()
			}
		})
	}
	running.Wait()
	if len(all) < chats*each {
		h.FailNow()
	}
	slices.Sort(all)
	return all
}

func oneTurn(ctx context.Context, c *client.Client) error {
	chat, err := c.Ensure(ctx, "")
	if err != nil {
		return err
	}
	_, err = c.Say(ctx, chat, "long", func(client.Sight) {})
	return err
}
