package roles

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/script"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner"
)

const answers = `
rules:
  - when: {step: 1}
    answer:
      - call: {name: pay, arguments: '{}'}
  - answer:
      - text: "The tool says: {{result}}"
`

// TestATurnBelongsToItsTenantAndGroup runs a turn with every part in its own
// account, while the runner of another group claims and settles its call and the
// client of another tenant commands its chat.
func TestATurnBelongsToItsTenantAndGroup(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	i := install(t, installation)
	i.apply("operator")
	paying, pay := make(chan struct{}), make(chan struct{})
	i.runParts(ctx, paying, pay)

	nc := i.connect("client-acme")
	acme, key := client.New(nc, acme, "ann"), chat(acme)
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		_ = acme.Watch(ctx, key.Chat, func() { close(watched) }, func(s client.Sight) bool {
			if s.Commit == nil || !hasEvent[events.TurnCompleted](*s.Commit) {
				return true
			}
			close(ended)
			return false
		})
	}()
	await(ctx, t, "watching", watched)
	if _, err := acme.Command(ctx, key.Chat, protocol.Create{V: protocol.Version}); err != nil {
		t.Fatal(err)
	}
	// What is attached goes through the projections to the orchestrator.
	bill := client.Attachment{Name: "bill.txt", Content: []byte("seven crowns")}
	for {
		_, err := acme.Send(ctx, key.Chat, "pay them", bill)
		if err == nil {
			break
		}
		if !errors.Is(err, client.ErrNoService) { // they have not begun
			t.Fatal(err)
		}
	}
	await(ctx, t, "the tool to run", paying)
	i.forge(ctx, key)
	close(pay)
	await(ctx, t, "the turn to end", ended)

	log := i.log(ctx, key)
	if strings.Contains(log, "forged") || !strings.Contains(log, "The tool says: paid") {
		t.Errorf("the log says\n%s", log)
	}
	if content, err := acme.Download(ctx, key.Chat, events.DigestOf(bill.Content)); err != nil || string(content) != string(bill.Content) {
		t.Errorf("what was attached comes back as %q, %v", content, err)
	}
	if n := strings.Count(log, "tool.completed"); n != 1 {
		t.Errorf("%d results of one call", n)
	}
}

// runParts runs an orchestrator, projections, and a tool runner of the group web whose one
// tool says that it runs and then waits.
func (i *installed) runParts(ctx context.Context, paying, pay chan struct{}) {
	i.Helper()
	scripted, err := script.Parse("answers", []byte(answers))
	i.must(err)
	models := func(string) (model.Model, bool) { return scripted, true }
	tool := toolrunner.Func(protocol.Manifest{
		Name: "pay", Schema: json.RawMessage(`{"type":"object"}`), Policy: events.PolicyAllow,
	}, func(ctx context.Context, _ toolrunner.Call) (toolrunner.Output, error) {
		close(paying)
		select {
		case <-pay:
			return toolrunner.Output{Text: "paid"}, nil
		case <-ctx.Done():
			return toolrunner.Output{}, ctx.Err()
		}
	})
	running, stop := context.WithCancel(ctx)
	ready, done := make(chan struct{}), make(chan error, 3)
	deciding, executing, telling := i.connect("orchestrator"), i.connect("runner-web"), i.connect("projection")
	go func() {
		done <- parts.RunOrchestrator(running, deciding, parts.Topology{ManageAssets: true},
			orchestrator.Config{Defaults: events.Settings{Model: "script"}}, models, func() { close(ready) })
	}()
	await(ctx, i.T, "the orchestrator", ready)
	go func() { done <- parts.RunProjections(running, telling, "0.0.0", slog.New(slog.DiscardHandler)) }()
	go func() {
		done <- parts.RunTools(running, executing, toolrunner.Config{Group: web}, []toolrunner.Tool{tool})
	}()
	i.Cleanup(func() {
		stop()
		for range cap(done) {
			if err := <-done; err != nil {
				i.Error(err)
			}
		}
	})
	i.offered(ctx)
}

// offered waits until the tool is in the registry.
func (i *installed) offered(ctx context.Context) {
	i.Helper()
	seen, tools := make(chan struct{}), i.orchestrator().Tools
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_ = tools.Watch(watching, func(list []protocol.ToolEntry) {
			if len(list) > 0 {
				stop()
				close(seen)
			}
		})
	}()
	await(ctx, i.T, "the offer", seen)
}

// forge does what strangers would do to the call that runs in the chat.
func (i *installed) forge(ctx context.Context, key events.Key) {
	i.Helper()
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	stranger := i.runner(files)
	result, err := stranger.Result(ctx, key, protocol.Result{
		V: protocol.Version, Call: call, Runner: "web.r1", Status: events.ToolOK, Parts: []events.Part{events.Text("forged")},
	})
	i.must(err)
	if result.Answer != protocol.ResultDropped {
		i.Errorf("a stranger's result was answered %+v", result)
	}
	for delivery := range uint64(3) {
		claim, err := stranger.Claim(ctx, key, protocol.Claim{V: protocol.Version, Call: call, Claim: client.NewID(), Delivery: delivery, Runner: "web.r1"})
		i.must(err)
		if claim.Answer != protocol.ClaimOver {
			i.Errorf("a stranger's claim was answered %+v", claim)
		}
	}
	offer, err := stranger.Offer(ctx, protocol.Offer{V: protocol.Version, Group: files, Runner: "files.r1", Manifests: []protocol.Manifest{
		{Name: "pay", Group: web, Schema: json.RawMessage(`{"type":"object"}`)},
		{Name: "pay", Group: files, Schema: json.RawMessage(`{"type":"object"}`)},
	}})
	i.must(err)
	for n, refused := range offer.Refused {
		if refused == "" {
			i.Errorf("offer %d of a stranger was taken", n)
		}
	}
}

// log is everything that stands in the chat's log.
func (i *installed) log(ctx context.Context, key events.Key) string {
	i.Helper()
	reader, err := streams.OpenReader(ctx, i.connect("operator"), streams.Options{})
	i.must(err)
	defer reader.Close()
	last, err := reader.Log.Last(ctx, key)
	i.must(err)
	var b strings.Builder
	for m, err := range reader.Log.Read(ctx, key, 0, last.Sequence) {
		i.must(err)
		b.Write(m.Body)
		b.WriteString("\n")
	}
	return b.String()
}

func hasEvent[T events.Event](c events.Commit) bool {
	for _, e := range c.Events {
		if _, ok := e.(T); ok {
			return true
		}
	}
	return false
}

func await(ctx context.Context, t *testing.T, what string, fact <-chan struct{}) {
	t.Helper()
	select {
	case <-fact:
	case <-ctx.Done():
		t.Fatalf("waited in vain for %s", what)
	}
}
