package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// sizes are the bytes of the messages of one real turn, by what they are.
type sizes struct {
	Create  int // the commit that makes a chat
	Commits [4]int
}

// floor does what a turn cannot do without, and nothing else.
type floor struct {
	bus    *streams.Bus
	create []byte
	bodies [4][]byte

	mu    sync.Mutex
	chats map[events.Key]*fence
}

// fence is a chat's last sequence. Whoever appends holds it until the answer is
// there: the commit is republished before that, and brings the next command.
type fence struct {
	mu   sync.Mutex
	last uint64
}

func newFloor(bus *streams.Bus, s sizes) *floor {
	f := &floor{bus: bus, create: bodyOf(s.Create), chats: map[events.Key]*fence{}}
	for i, n := range s.Commits {
		f.bodies[i] = bodyOf(n)
	}
	return f
}

// bodyOf is a body of that size.
func bodyOf(size int) []byte {
	return []byte(`{"floor":"` + strings.Repeat("x", max(size-12, 0)) + `"}`)
}

// slots is how much of each kind is in hand at once, as in the real thing.
const slots = 256

// run serves turns until ctx ends.
func (f *floor) run(ctx context.Context) error {
	var parts sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	part := func(do func() error) {
		parts.Go(func() {
			if err := do(); err != nil && ctx.Err() == nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	part(func() error { return f.serve(ctx, f.bus.Commands.Fetch, f.command) })
	part(func() error {
		fetch := func(ctx context.Context, n int) ([]protocol.Delivery, error) {
			return f.bus.Work.FetchModel(ctx, "default", n)
		}
		return f.serve(ctx, fetch, f.model)
	})
	part(func() error {
		return f.bus.Requests.Serve(ctx, protocol.Handlers{Claim: f.claim, Result: f.result})
	})
	parts.Wait()
	return errors.Join(errs...)
}

func (f *floor) serve(
	ctx context.Context, fetch func(context.Context, int) ([]protocol.Delivery, error), handle func(context.Context, protocol.Delivery) error,
) error {
	for {
		list, err := fetch(ctx, slots)
		if err != nil {
			return err
		}
		for _, d := range list {
			go func() { _ = handle(ctx, d) }() // a turn that breaks is seen by who waits for it
		}
	}
}

// commit appends the n-th commit of a turn.
func (f *floor) commit(ctx context.Context, k events.Key, n int) error {
	return f.append(ctx, k, protocol.Append{Body: f.bodies[n], Types: commitTypes[n], Owes: commitOwes[n]})
}

// append appends a commit behind the chat's fence.
func (f *floor) append(ctx context.Context, k events.Key, a protocol.Append) error {
	f.mu.Lock()
	chat := f.chats[k]
	if chat == nil {
		chat = &fence{}
		f.chats[k] = chat
	}
	f.mu.Unlock()
	chat.mu.Lock()
	defer chat.mu.Unlock()
	a.Key, a.Fence = k, chat.last
	sequence, err := f.bus.Log.Append(ctx, a)
	if err == nil {
		chat.last = sequence
	}
	return err
}

const createTypes = "chat.created.v1"

var (
	commitTypes = [4]string{
		"input.accepted.v1,turn.started.v1,step.requested.v1", "step.completed.v1,tool.requested.v1",
		"tool.completed.v1,step.requested.v1", "step.completed.v1,turn.completed.v1",
	}
	commitOwes = [4]string{"model", "tool,timer", "model", ""}
)

func (f *floor) command(ctx context.Context, d protocol.Delivery) error {
	k, verb, err := protocol.ParseCommandSubject(d.Subject())
	if err != nil {
		return err
	}
	if verb == string(protocol.VerbCreate) {
		err = f.append(ctx, k, protocol.Append{Body: f.create, Types: createTypes})
	} else {
		err = f.begin(ctx, k, int(d.Sequence()))
	}
	if err != nil {
		return err
	}
	if err := f.bus.Commands.Reply(ctx, k.Tenant, protocol.Reply{ID: d.Header(protocol.HeaderID), OK: true}); err != nil {
		return err
	}
	return d.Ack(ctx)
}

// begin does what the input of a turn causes.
func (f *floor) begin(ctx context.Context, k events.Key, turn int) error {
	if err := f.commit(ctx, k, 0); err != nil {
		return err
	}
	_, err := f.bus.Work.Put(ctx, f.step(k, turn, 1))
	return err
}

func (f *floor) step(k events.Key, turn, step int) protocol.ModelWork {
	return protocol.ModelWork{
		V: 1, Tenant: k.Tenant, Chat: k.Chat, Rev: 1, Step: events.StepID{Turn: turn, Step: step},
		Attempt: 1, Purpose: events.PurposeAnswer, Pool: "default",
	}
}

func (f *floor) model(ctx context.Context, d protocol.Delivery) error {
	var w protocol.ModelWork
	if err := json.Unmarshal(d.Body(), &w); err != nil {
		return err
	}
	k := w.Key()
	if w.Step.Step == 2 {
		if err := f.commit(ctx, k, 3); err != nil {
			return err
		}
		return d.Ack(ctx)
	}
	if err := f.commit(ctx, k, 1); err != nil {
		return err
	}
	call := events.CallID{Turn: w.Step.Turn, Step: 1, Ordinal: 1}
	due := events.At(d.Stored()).Add(events.DefaultToolTimeout + events.Dead)
	_, err := f.bus.Work.Put(ctx, protocol.ToolWork{
		V: 1, Tenant: k.Tenant, Chat: k.Chat, Rev: 2, Call: call, Tool: toolName, Group: Group,
		Arguments: json.RawMessage("{}"), IdempotencyKey: protocol.IdempotencyKey(k, call), Deadline: due,
	})
	if err != nil {
		return err
	}
	name := protocol.TimerName{Kind: protocol.TimerDeadline, Call: call}
	if err := f.bus.Timers.Set(ctx, protocol.Timer{V: 1, Tenant: k.Tenant, Chat: k.Chat, Rev: 2, Name: name.String(), Due: due}); err != nil {
		return err
	}
	return d.Ack(ctx)
}

func (f *floor) claim(_ context.Context, _ events.Key, r protocol.Request) {
	respond(r, protocol.ClaimAnswer{Answer: protocol.ClaimGranted, GrantMS: events.Grant.Milliseconds()})
}

func (f *floor) result(ctx context.Context, k events.Key, r protocol.Request) {
	var result protocol.Result
	err := json.Unmarshal(r.Body(), &result)
	if err == nil {
		err = f.commit(ctx, k, 2)
	}
	if err == nil {
		_, err = f.bus.Work.Put(ctx, f.step(k, result.Call.Turn, 2))
	}
	if err == nil {
		respond(r, protocol.ResultAnswer{Answer: protocol.ResultCommitted})
	}
}

func respond(r protocol.Request, answer any) {
	if b, err := json.Marshal(answer); err == nil {
		_ = r.Respond(b) // who asked asks again
	}
}

// FloorTools is the tool runner of the floor: it claims, answers and acknowledges.
func FloorTools(ctx context.Context, nc *nats.Conn) error {
	bus, err := streams.OpenRunner(nc, streams.Options{})
	if err != nil {
		return err
	}
	defer bus.Close()
	for {
		list, err := bus.Fetch(ctx, Group, slots)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("floor: %w", err)
		}
		for _, d := range list {
			go func() { _ = floorCall(ctx, bus, d) }() // a turn that breaks is seen by who waits for it
		}
	}
}

func floorCall(ctx context.Context, bus *streams.Runner, d protocol.Delivery) error {
	var w protocol.ToolWork
	if err := json.Unmarshal(d.Body(), &w); err != nil {
		return err
	}
	claim := protocol.Claim{V: 1, Call: w.Call, Rev: w.Rev, Claim: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Delivery: d.Count(), Runner: Group}
	if _, err := bus.Claim(ctx, w.Key(), claim); err != nil {
		return err
	}
	_, err := bus.Result(ctx, w.Key(), protocol.Result{
		V: 1, Call: w.Call, Rev: w.Rev, Runner: Group, Status: events.ToolOK, Parts: []events.Part{events.Text(kilobyte)},
	})
	if err != nil {
		return err
	}
	return d.Ack(ctx)
}
