package toolrunner_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// instant is a bus whose answers are there at once.
type instant struct {
	*bus

	work  chan []protocol.Delivery
	acked chan struct{}
	text  []byte
}

func (i *instant) Fetch(ctx context.Context, _ string, _ int) ([]protocol.Delivery, error) {
	select {
	case list := <-i.work:
		return list, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (*instant) Claim(context.Context, events.Key, protocol.Claim) (protocol.ClaimAnswer, error) {
	return granted, nil
}

func (*instant) Result(context.Context, events.Key, protocol.Result) (protocol.ResultAnswer, error) {
	return committed, nil
}

func (i *instant) Subject() string                            { return "everturn.work.tool.builtin.acme.c1.1-1-1" }
func (i *instant) Header(string) string                       { return "" }
func (i *instant) Body() []byte                               { return i.text }
func (i *instant) Sequence() uint64                           { return 1 }
func (i *instant) Count() uint64                              { return 1 }
func (i *instant) Stored() time.Time                          { return time.Time{} }
func (i *instant) InProgress(context.Context) error           { return nil }
func (i *instant) Ack(context.Context) error                  { i.acked <- struct{}{}; return nil }
func (i *instant) Later(context.Context, time.Duration) error { panic("a call is given back") }

// What a call costs the runner beside its messages, which cost nothing here.
func BenchmarkCall(b *testing.B) {
	m := readOnly()
	_, digest := m.Encode()
	body, err := json.Marshal(protocol.ToolWork{
		V: 1, Tenant: chat.Tenant, Chat: chat.Chat, Rev: 7, Call: call, Tool: m.Name, Group: m.Group, Manifest: digest,
		Arguments: json.RawMessage(`{"x":1}`), IdempotencyKey: protocol.IdempotencyKey(chat, call),
		TimeoutMS: m.TimeoutMS, Deadline: events.At(time.Now().Add(time.Hour)),
	})
	if err != nil {
		b.Fatal(err)
	}
	port := &instant{bus: newBus(), work: make(chan []protocol.Delivery), acked: make(chan struct{}), text: body}
	r, err := toolrunner.New(toolrunner.Config{}, port, []toolrunner.Tool{toolrunner.Func(m, says("done"))})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	one := []protocol.Delivery{port}
	b.ReportAllocs()
	for b.Loop() {
		port.work <- one
		<-port.acked
	}
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}
