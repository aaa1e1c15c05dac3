package bustest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/google/go-cmp/cmp"
)

// Requests is the suite of [orchestrator.Requests], with the runner's side of it.
func Requests(t *testing.T, r Rig) {
	rules(t, r, []rule{
		{"a claim nobody answers is an error, with nobody there and with somebody silent", func(b *bench) {
			runner := b.Rig.Runner(group)
			ask := func() {
				ctx, cancel := context.WithTimeout(b.ctx, b.AckWait)
				defer cancel()
				if a, err := runner.Claim(ctx, b.key("a"), claim("c1")); err == nil {
					b.Errorf("got answer %+v from nobody", a)
				}
			}
			ask()
			b.background(func(ctx context.Context) error { return b.Bus.Requests.Serve(ctx, protocol.Handlers{Claim: silent}) })
			ask()
		}},
		{"a claim is answered, once, by one of the processes", func(b *bench) {
			k := b.key("a")
			var calls atomic.Int32
			handlers := protocol.Handlers{Claim: func(_ context.Context, key events.Key, r protocol.Request) {
				calls.Add(1)
				var c protocol.Claim
				if err := json.Unmarshal(r.Body(), &c); err != nil || key != k {
					b.Errorf("request for %v with body %s", key, r.Body())
				}
				if r.Subject() != protocol.ClaimSubject(k) {
					b.Errorf("subject %q, want %q", r.Subject(), protocol.ClaimSubject(k))
				}
				b.respond(r, protocol.ClaimAnswer{Answer: protocol.ClaimGranted, GrantMS: 1000, Why: c.Claim})
			}}
			b.serve(handlers)
			runner := b.Rig.Runner(group)
			b.untilServed(func(ctx context.Context) error {
				_, err := runner.Claim(ctx, k, claim("first"))
				return err
			})
			calls.Store(0)
			const asked = 20
			var wg sync.WaitGroup
			for i := range asked {
				wg.Go(func() {
					id := fmt.Sprint("c", i)
					a, err := runner.Claim(b.ctx, k, claim(id))
					if want := (protocol.ClaimAnswer{Answer: protocol.ClaimGranted, GrantMS: 1000, Why: id}); err != nil || a != want {
						b.Errorf("claim %s got answer %+v and error %v, want its own", id, a, err)
					}
				})
			}
			wg.Wait()
			if n := calls.Load(); n != asked {
				b.Errorf("%d claims were handled %d times", asked, n)
			}
		}},
		{"a request that takes long holds back no other", func(b *bench) {
			k := b.key("a")
			release, began := make(chan struct{}), make(chan struct{}, 1)
			b.background(func(ctx context.Context) error {
				return b.Bus.Requests.Serve(ctx, protocol.Handlers{
					Claim: func(_ context.Context, _ events.Key, r protocol.Request) {
						var c protocol.Claim
						_ = json.Unmarshal(r.Body(), &c)
						if c.Claim == "slow" {
							began <- struct{}{}
							<-release
						}
						b.respond(r, protocol.ClaimAnswer{Answer: protocol.ClaimOver, Why: c.Claim})
					},
				})
			})
			runner := b.Rig.Runner(group)
			b.untilServed(func(ctx context.Context) error {
				_, err := runner.Claim(ctx, k, claim("first"))
				return err
			})
			var wg sync.WaitGroup
			wg.Go(func() {
				if a, err := runner.Claim(b.ctx, k, claim("slow")); err != nil || a.Why != "slow" {
					b.Errorf("the slow claim got %+v and %v", a, err)
				}
			})
			<-began
			a, err := runner.Claim(b.ctx, k, claim("quick"))
			close(release)
			wg.Wait()
			b.must(err)
			if a.Why != "quick" {
				b.Errorf("got the answer of %q", a.Why)
			}
		}},
		{"a result is answered", func(b *bench) {
			k := b.key("a")
			sent := protocol.Result{
				V: protocol.Version, Call: events.CallID{Turn: 1, Step: 1, Ordinal: 1}, Rev: 4, Runner: "r1",
				Status: events.ToolOK, Parts: []events.Part{events.Text("done")}, Timing: events.ToolTiming{RanMS: 3},
			}
			b.serve(protocol.Handlers{Result: func(_ context.Context, key events.Key, r protocol.Request) {
				var got protocol.Result
				if err := json.Unmarshal(r.Body(), &got); err != nil || key != k {
					b.Errorf("request for %v with body %s", key, r.Body())
				}
				if diff := cmp.Diff(sent, got); diff != "" {
					b.Errorf("result (-sent +got):\n%s", diff)
				}
				b.respond(r, protocol.ResultAnswer{Answer: protocol.ResultCommitted, Rev: 5})
			}})
			var answer protocol.ResultAnswer
			runner := b.Rig.Runner(group)
			b.untilServed(func(ctx context.Context) (err error) {
				answer, err = runner.Result(ctx, k, sent)
				return err
			})
			if answer != (protocol.ResultAnswer{Answer: protocol.ResultCommitted, Rev: 5}) {
				b.Errorf("got %+v", answer)
			}
		}},
		{"a question to a person is answered", func(b *bench) {
			k := b.key("a")
			sent := protocol.Ask{
				V: protocol.Version, Call: events.CallID{Turn: 1, Step: 1, Ordinal: 1}, Rev: 4, Claim: "c1", N: 1, TimeoutMS: 3,
				Questions: []events.Question{{ID: "color", Header: "Color", Text: "Which?", Options: []events.Option{{Label: "red"}, {Label: "blue"}}}},
			}
			want := protocol.AskAnswer{Answer: protocol.AskAnswered, Answers: []events.Answer{{Question: "color", Text: "red"}}, By: "user:ann"}
			b.serve(protocol.Handlers{Ask: func(_ context.Context, key events.Key, r protocol.Request) {
				var got protocol.Ask
				if err := json.Unmarshal(r.Body(), &got); err != nil || key != k {
					b.Errorf("request for %v with body %s", key, r.Body())
				}
				if diff := cmp.Diff(sent, got); diff != "" {
					b.Errorf("asked (-sent +got):\n%s", diff)
				}
				b.respond(r, want)
			}})
			var answer protocol.AskAnswer
			runner := b.Rig.Runner(group)
			b.untilServed(func(ctx context.Context) (err error) {
				answer, err = runner.Ask(ctx, k, sent)
				return err
			})
			if diff := cmp.Diff(want, answer); diff != "" {
				b.Errorf("answer (-want +got):\n%s", diff)
			}
		}},
		{"an offer is answered", func(b *bench) {
			b.serve(protocol.Handlers{Offer: func(_ context.Context, g string, r protocol.Request) {
				var o protocol.Offer
				if err := json.Unmarshal(r.Body(), &o); err != nil || g != group || len(o.Manifests) != 1 {
					b.Errorf("offer for group %q with body %s", g, r.Body())
				}
				b.respond(r, protocol.OfferAnswer{Refused: []string{"no"}})
			}})
			var answer protocol.OfferAnswer
			runner := b.Rig.Runner(group)
			b.untilServed(func(ctx context.Context) (err error) {
				answer, err = runner.Offer(ctx, protocol.Offer{V: protocol.Version, Group: group, Runner: "r1", Manifests: []protocol.Manifest{manifest("one")}})
				return err
			})
			if len(answer.Refused) != 1 || answer.Refused[0] != "no" {
				b.Errorf("got %+v", answer)
			}
		}},
		{"large content goes up and comes down", func(b *bench) {
			k := b.key("a")
			b.serve(protocol.Handlers{Upload: b.upload, Download: b.download})
			runner := b.Rig.Runner(group)
			for _, size := range []int{10, protocol.MaxChunkBytes, protocol.MaxChunkBytes + 1, 3*protocol.MaxChunkBytes + 100} {
				content := bytes.Repeat([]byte{byte(size), 1, 2, 3, 4, 5, 6}, size/7+1)[:size]
				var digest events.Digest
				b.untilServed(func(ctx context.Context) (err error) {
					digest, err = runner.Upload(ctx, k, content)
					return err
				})
				if digest != events.DigestOf(content) {
					b.Fatalf("%d bytes went up as %s, want their digest", size, digest)
				}
				got, err := runner.Download(b.ctx, k, digest)
				b.must(err)
				if !bytes.Equal(got, content) {
					b.Errorf("%d bytes came down as %d others", size, len(got))
				}
			}
			if _, err := runner.Download(b.ctx, k, events.DigestOf([]byte("missing"))); err == nil {
				b.Error("content that is not there came down")
			}
		}},
		{"serve waits for the requests in hand", func(b *bench) {
			ctx, cancel := context.WithCancel(b.ctx)
			defer cancel()
			var finished atomic.Bool
			began := make(chan struct{}, 1)
			release := make(chan struct{})
			done := make(chan error, 1)
			go func() {
				done <- b.Bus.Requests.Serve(ctx, protocol.Handlers{Claim: func(_ context.Context, _ events.Key, r protocol.Request) {
					select {
					case began <- struct{}{}:
					default:
					}
					<-release
					finished.Store(true)
				}})
			}()
			runner := b.Rig.Runner(group)
			asked, stop := context.WithCancel(b.ctx)
			defer stop()
			go func() {
				for asked.Err() == nil {
					short, cancel := context.WithTimeout(asked, b.AckWait)
					_, _ = runner.Claim(short, b.key("a"), claim("c1"))
					cancel()
				}
			}()
			<-began
			stop()
			cancel()
			time.AfterFunc(b.AckWait/4, func() { close(release) })
			if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
				b.Errorf("serve ended with %v", err)
			}
			if !finished.Load() {
				b.Error("serve came back while a request was in hand")
			}
		}},
	})
}

func silent(ctx context.Context, _ events.Key, _ protocol.Request) {}

func claim(id string) protocol.Claim {
	return protocol.Claim{V: protocol.Version, Call: events.CallID{Turn: 1, Step: 1, Ordinal: 1}, Rev: 3, Claim: id, Delivery: 1, Runner: "r1"}
}

// serve answers requests in both processes until the rule ends.
func (b *bench) serve(h protocol.Handlers) {
	b.background(func(ctx context.Context) error { return b.Bus.Requests.Serve(ctx, h) })
	b.background(func(ctx context.Context) error { return b.Other.Requests.Serve(ctx, h) })
}

func (b *bench) respond(r protocol.Request, answer any) {
	body, err := json.Marshal(answer)
	if err != nil {
		b.Errorf("answer: %v", err)
	}
	if err := r.Respond(body); err != nil {
		b.Errorf("respond: %v", err)
	}
}

// untilServed asks again until somebody serves: nobody says when Serve is ready.
func (b *bench) untilServed(ask func(ctx context.Context) error) {
	b.Helper()
	b.eventually("the request is answered", func() bool {
		ctx, cancel := context.WithTimeout(b.ctx, patience/10)
		defer cancel()
		return ask(ctx) == nil
	})
}

// upload keeps chunks, and joins them, as orchestrators do.
func (b *bench) upload(ctx context.Context, k events.Key, r protocol.Request) {
	var u protocol.Upload
	if err := json.Unmarshal(r.Body(), &u); err != nil {
		b.Errorf("upload: %v", err)
	}
	content := u.Data
	for _, d := range u.Chunks {
		chunk, err := b.Blobs.Get(ctx, k, d)
		if err != nil {
			b.respond(r, protocol.UploadAnswer{Error: err.Error()})
			return
		}
		content = append(content, chunk...)
	}
	digest := events.DigestOf(content)
	if len(u.Data) > protocol.MaxChunkBytes || u.Blob != "" && u.Blob != digest {
		b.Errorf("upload of %d bytes in a chunk, as %s with digest %s", len(u.Data), u.Blob, digest)
	}
	if err := b.Blobs.Put(ctx, k, digest, content); err != nil {
		b.respond(r, protocol.UploadAnswer{Error: err.Error()})
		return
	}
	b.respond(r, protocol.UploadAnswer{Blob: digest})
}

func (b *bench) download(ctx context.Context, k events.Key, r protocol.Request) {
	var d protocol.Download
	if err := json.Unmarshal(r.Body(), &d); err != nil {
		b.Errorf("download: %v", err)
	}
	content, err := b.Other.Blobs.Get(ctx, k, d.Blob)
	if err != nil || d.Offset > int64(len(content)) {
		b.respond(r, protocol.DownloadAnswer{Error: "no such content"})
		return
	}
	end := min(int64(len(content)), d.Offset+protocol.MaxChunkBytes)
	b.respond(r, protocol.DownloadAnswer{Data: content[d.Offset:end], Bytes: int64(len(content))})
}
