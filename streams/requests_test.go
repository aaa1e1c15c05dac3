package streams_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// during runs f until the test ends, and waits for it.
func during(t *testing.T, f func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v, want the context's error", err)
		}
	})
}

func openQueries(t *testing.T, s stage) *streams.Queries {
	t.Helper()
	queries, err := streams.OpenQueries(clientOf(t, s.server).Conn(), streams.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(queries.Close)
	return queries
}

// answered asks until somebody answers.
func answered(t *testing.T, nc *nats.Conn, subject string, body any) *nats.Msg {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	var m *nats.Msg
	eventually(t, subject+" is answered", func() bool {
		m, err = nc.Request(subject, b, patience/10)
		return err == nil
	})
	return m
}

// A request that names a subject of ours as its reply would have us write there.
func TestOnlyInboxesAreAnswered(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	nc := s.js.Conn()
	victim := protocol.LogSubject(protocol.Shard(someChat, s.Log.Shards()), someChat)
	echo := func(_ context.Context, _ events.Key, r protocol.Request) {
		if err := r.Respond(r.Body()); err != nil {
			t.Error(err)
		}
	}
	during(t, func(ctx context.Context) error {
		return s.Requests.Serve(ctx, protocol.Handlers{
			Claim: echo, Result: echo, Upload: echo, Download: echo,
			Offer: func(ctx context.Context, _ string, r protocol.Request) { echo(ctx, events.Key{}, r) },
		})
	})
	queries := openQueries(t, s)
	during(t, func(ctx context.Context) error {
		return queries.Serve(ctx, "1.2.3", map[string]streams.Query{
			"chat": func(_ context.Context, _ string, body []byte) ([]byte, error) { return body, nil },
		})
	})
	runner := openRunner(t, s.server)
	during(t, func(ctx context.Context) error {
		return runner.Answer(ctx, "process", func(protocol.RunnerQuestion) bool { return true })
	})
	for _, tt := range []struct {
		subject string
		dropped func() uint64
	}{
		{protocol.ClaimSubject(someChat), s.Dropped},
		{protocol.ResultSubject(someChat), s.Dropped},
		{protocol.UploadSubject(someChat), s.Dropped},
		{protocol.DownloadSubject(someChat), s.Dropped},
		{protocol.OfferSubject("files"), s.Dropped},
		{protocol.QuerySubject("default", "chat"), queries.Dropped},
		{protocol.RunnerSubject("process"), runner.Dropped},
	} {
		answered(t, nc, tt.subject, struct{}{})
		before := tt.dropped()
		for _, reply := range []string{victim, "", "inbox.x", "everturn._INBOX.x"} {
			if err := nc.PublishMsg(&nats.Msg{Subject: tt.subject, Reply: reply, Data: []byte("forged")}); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "four requests on "+tt.subject+" are dropped", func() bool { return tt.dropped() == before+4 })
	}
	if _, err := s.Log.Last(t.Context(), someChat); !errors.Is(err, protocol.ErrNotFound) {
		t.Errorf("the log of the chat: %v, want that nothing was written", err)
	}
}

func TestAQueryIsAnsweredOrRefusedWithItsCode(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	queries := openQueries(t, s)
	during(t, func(ctx context.Context) error {
		return queries.Serve(ctx, "1.2.3", map[string]streams.Query{
			"chat": func(_ context.Context, tenant string, body []byte) ([]byte, error) {
				return json.Marshal(tenant + " asked " + string(body))
			},
			"transcript": func(context.Context, string, []byte) ([]byte, error) {
				return nil, &protocol.RefusedError{Code: events.CodeUnknownChat, Detail: "no such chat"}
			},
			"command": func(context.Context, string, []byte) ([]byte, error) {
				return nil, errors.New("the disk is on fire at /secret/place")
			},
		})
	})
	nc := s.js.Conn()
	if got := answered(t, nc, protocol.QuerySubject("acme", "chat"), 7); string(got.Data) != `"acme asked 7"` {
		t.Errorf("got %s", got.Data)
	}
	for name, want := range map[string]struct {
		status string
		reply  protocol.Reply
	}{
		"transcript": {"404", protocol.Reply{Code: events.CodeUnknownChat, Message: "no such chat"}},
		"command":    {"503", protocol.Reply{Code: events.CodeUnavailable, Message: "ask again"}},
	} {
		m := answered(t, nc, protocol.QuerySubject("acme", name), 7)
		var got protocol.Reply
		if err := json.Unmarshal(m.Data, &got); err != nil || got != want.reply {
			t.Errorf("%s: got %s, want %+v", name, m.Data, want.reply)
		}
		if status := m.Header.Get("Nats-Service-Error-Code"); status != want.status {
			t.Errorf("%s: status %s, want %s", name, status, want.status)
		}
		if m.Header.Get("Nats-Service-Error") == "" {
			t.Errorf("%s: no message for people", name)
		}
	}
}

// The micro library reads a request's error once its handler is back, and ours is
// back before the answer is there.
func TestManyQueriesRefusedAtOnceDoNotRaceWithTheService(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	queries := openQueries(t, s)
	during(t, func(ctx context.Context) error {
		return queries.Serve(ctx, "1.2.3", map[string]streams.Query{
			"chat": func(context.Context, string, []byte) ([]byte, error) {
				return nil, &protocol.RefusedError{Code: events.CodeUnknownChat, Detail: "no such chat"}
			},
		})
	})
	nc := s.js.Conn()
	answered(t, nc, protocol.QuerySubject("acme", "chat"), 7)
	var asked sync.WaitGroup
	for range 8 {
		asked.Go(func() {
			for range 250 {
				m, err := nc.Request(protocol.QuerySubject("acme", "chat"), nil, 10*time.Second)
				if err != nil || m.Header.Get(micro.ErrorCodeHeader) != "404" {
					t.Errorf("got %v, %v, want status 404", m, err)
					return
				}
			}
		})
	}
	asked.Wait()
}

// The library stops its subscriptions without waiting for them, so messages may
// still be on their way to us.
func TestNoQueryRunsWhenServeHasReturned(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	queries := openQueries(t, s)
	nc := s.js.Conn()
	for range 20 {
		var returned atomic.Bool
		ctx, stop := context.WithCancel(t.Context())
		asked := make(chan struct{}, 1)
		served := make(chan error, 1)
		go func() {
			served <- queries.Serve(ctx, "1.2.3", map[string]streams.Query{
				"chat": func(context.Context, string, []byte) ([]byte, error) {
					if returned.Load() {
						t.Error("a query came after the end")
					}
					select {
					case asked <- struct{}{}:
					default:
					}
					return nil, nil
				},
			})
			returned.Store(true)
		}()
		for flood := 0; flood < 2000; {
			if err := nc.PublishRequest(protocol.QuerySubject("acme", "chat"), nats.NewInbox(), nil); err != nil {
				t.Fatal(err)
			}
			if len(asked) > 0 {
				flood++
			}
		}
		stop()
		if err := <-served; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

func TestAnOutcomeGoesToItsOwnSubjectWhateverTheCommandSays(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const id = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	got := make(chan *nats.Msg, 1)
	subscribe(t, s.js.Conn(), protocol.ReplySubject("default", id), func(m *nats.Msg) { got <- m })
	if err := s.Commands.Reply(t.Context(), "default", protocol.Reply{ID: id, OK: true, Rev: 3}); err != nil {
		t.Fatal(err)
	}
	if m := <-got; string(m.Data) != `{"id":"`+id+`","ok":true,"rev":3}` {
		t.Errorf("got %s", m.Data)
	}
}

func TestNobodyIsWaitedForLongerThanOneTry(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	runner, err := streams.OpenRunner(clientOf(t, s.server).Conn(), streams.Options{Try: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Close)
	var asked atomic.Int32
	subscribe(t, s.js.Conn(), protocol.ClaimSubject(someChat), func(*nats.Msg) { asked.Add(1) }) // and is silent
	if a, err := runner.Claim(t.Context(), someChat, protocol.Claim{}); err == nil {
		t.Errorf("got %+v from somebody who says nothing", a)
	}
	eventually(t, "the claim was heard", func() bool { return asked.Load() == 1 })
}
