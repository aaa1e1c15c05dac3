package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// syncInterval is the server's own default, under --sync default.
const syncInterval = 2 * time.Minute

// rig is a server with either the real parts or the floor on it, and a process
// that runs the tool.
type rig struct {
	dir    string
	server *embedded.Server
	nc     *nats.Conn // of the client
	feed   *nats.Subscription
	js     jetstream.JetStream
	tool   *exec.Cmd
	cancel context.CancelFunc
	parts  sync.WaitGroup

	orchestrator running

	mu    sync.Mutex
	ended map[events.Key]chan struct{} // told when the chat's turn has ended
	errs  []error
}

// program starts the tool process: this binary, told to be one.
type program func(ctx context.Context, url string, floor bool) *exec.Cmd

func startServer(ctx context.Context, always bool) (*rig, error) {
	dir, err := os.MkdirTemp("", "everturn-bench-")
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	s, err := embedded.Start(ctx, embedded.Options{Store: dir, Configure: func(o *server.Options) {
		if !always {
			o.SyncAlways, o.SyncInterval = false, syncInterval
		}
	}})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bench: %w", err), os.RemoveAll(dir))
	}
	r := &rig{dir: dir, server: s, ended: map[events.Key]chan struct{}{}}
	if r.nc, err = s.Connect("bench client"); err == nil {
		r.js, err = jetstream.New(r.nc)
	}
	if err == nil {
		r.feed, err = r.nc.Subscribe(protocol.FeedCommitSubject(events.Key{Tenant: protocol.Any, Chat: protocol.Any}), r.see)
	}
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// startReal puts the real parts on the server.
func startReal(ctx context.Context, always bool, tool program) (*rig, error) {
	r, err := startServer(ctx, always)
	if err != nil {
		return nil, err
	}
	ctx, r.cancel = context.WithCancel(ctx)
	if err := r.startOrchestrator(ctx); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, r.startTool(ctx, tool, false)
}

// running is a part that can be stopped by itself.
type running struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

func (r running) stop() {
	r.cancel()
	<-r.ended
}

// startOrchestrator starts an orchestrator that knows nothing yet.
func (r *rig) startOrchestrator(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	r.orchestrator = running{cancel: cancel, ended: make(chan struct{})}
	ready, ended := make(chan struct{}), r.orchestrator.ended
	r.part("orchestrator", func(nc *nats.Conn) error {
		defer close(ended)
		cfg := orchestrator.Config{
			Defaults: events.Settings{Model: modelName}, Pools: map[string]int{"default": slots}, Mailboxes: slots,
		}
		return parts.RunOrchestrator(ctx, nc, parts.Topology{ManageAssets: true}, cfg, models, func() { close(ready) })
	})
	select {
	case <-ready:
		return nil
	case <-ended:
		return errors.New("bench: the orchestrator does not start")
	}
}

// startFloor puts the floor on a server of its own.
func startFloor(ctx context.Context, always bool, tool program, s sizes) (*rig, error) {
	r, err := startServer(ctx, always)
	if err != nil {
		return nil, err
	}
	ctx, r.cancel = context.WithCancel(ctx)
	topology, err := streams.LoadTopology("")
	if err == nil {
		_, err = topology.Apply(ctx, r.js, streams.ApplyOptions{})
	}
	if err == nil {
		_, err = topology.EnsureToolConsumer(ctx, r.js, Group, streams.ApplyOptions{})
	}
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	r.part("floor", func(nc *nats.Conn) error {
		bus, err := streams.Open(ctx, nc, streams.Options{Topology: topology})
		if err != nil {
			return err
		}
		defer bus.Close()
		return newFloor(bus, s).run(ctx)
	})
	return r, r.startTool(ctx, tool, true)
}

func (r *rig) part(name string, run func(nc *nats.Conn) error) {
	r.parts.Go(func() {
		nc, err := r.server.Connect("bench " + name)
		if err == nil {
			err = run(nc)
			nc.Close()
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.errs = append(r.errs, err)
	})
}

func (r *rig) startTool(ctx context.Context, tool program, floor bool) error {
	user, password := r.server.Credentials()
	url := fmt.Sprintf("nats://%s:%s@%s", user, password, r.server.URL()[len("nats://"):])
	r.tool = tool(ctx, url, floor)
	r.tool.Stderr = os.Stderr
	if err := r.tool.Start(); err != nil {
		return errors.Join(fmt.Errorf("bench: tool process: %w", err), r.close())
	}
	return nil
}

func (r *rig) close() error {
	var errs []error
	if r.tool != nil && r.tool.Process != nil {
		_ = r.tool.Process.Kill() // our own child
		_ = r.tool.Wait()         // it was killed
	}
	if r.cancel != nil {
		r.cancel()
	}
	r.parts.Wait()
	if r.nc != nil {
		r.nc.Close()
	}
	errs = append(errs, r.errs...)
	return errors.Join(append(errs, r.server.Close(), os.RemoveAll(r.dir))...)
}

// see is told every commit, by the server.
func (r *rig) see(m *nats.Msg) {
	if m.Header.Get(protocol.HeaderOwes) != "" || m.Header.Get(protocol.HeaderTypes) != commitTypes[3] {
		return
	}
	tokens := strings.Split(m.Subject, ".") // of protocol.FeedCommitSubject
	k := events.Key{Tenant: tokens[2], Chat: tokens[3]}
	r.mu.Lock()
	ended := r.ended[k]
	r.mu.Unlock()
	if ended != nil {
		ended <- struct{}{}
	}
}

// turn says something in a chat and waits until the turn has ended.
func (r *rig) turn(ctx context.Context, k events.Key, ended chan struct{}) error {
	m := nats.NewMsg(protocol.CommandSubject(k, string(protocol.VerbSend)))
	m.Header.Set(protocol.HeaderID, client.NewID())
	body, err := json.Marshal(protocol.Send{V: 1, Parts: []events.Part{events.Text(kilobyte)}})
	if err != nil {
		return err
	}
	m.Data = body
	if _, err := r.nc.RequestMsgWithContext(ctx, m); err != nil {
		return fmt.Errorf("bench: store a command: %w", err)
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("bench: a turn of %s does not end: %w", k, ctx.Err())
	}
}

// chat makes a chat and gives where the ends of its turns are told.
func (r *rig) chat(ctx context.Context) (events.Key, chan struct{}, error) {
	c := client.New(r.nc, "", "bench")
	k := c.Key(client.NewID())
	ended := make(chan struct{}, 1)
	r.mu.Lock()
	r.ended[k] = ended
	r.mu.Unlock()
	_, err := c.Command(ctx, k.Chat, protocol.Create{V: 1})
	return k, ended, err
}
