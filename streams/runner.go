package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Runner is the bus of a tool runner, which may live in an account without
// streams of its own. It implements the bus port of tool runners.
type Runner struct {
	c *connection

	mu     sync.Mutex
	queues map[string]*queue // by group
}

// OpenRunner gives the bus of a tool runner over a connection, which stays the
// caller's to close, after [Runner.Close]. It asks the server nothing: a runner
// may be there before the streams are.
func OpenRunner(nc *nats.Conn, o Options) (*Runner, error) {
	c, err := newConnection(nc, o)
	if err != nil {
		return nil, err
	}
	return &Runner{c: c, queues: map[string]*queue{}}, nil
}

// Close ends what the runner holds. Its methods must have returned.
func (r *Runner) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.queues {
		q.close()
	}
	r.c.close()
}

// Fetch waits for at least one call of the group and hands over at most limit.
// It waits too while the group's queue is not there: whoever takes up the
// group's offer makes it.
func (r *Runner) Fetch(ctx context.Context, group string, limit int) ([]protocol.Delivery, error) {
	r.mu.Lock()
	q, ok := r.queues[group]
	if !ok {
		q = newQueue(r.c, WorkStream, ToolConsumer(group))
		r.queues[group] = q
	}
	r.mu.Unlock()
	return q.fetch(ctx, limit)
}

// Claim asks for the licence to run a call. An error means no answer came in
// time; the licence may have been given and lost.
func (r *Runner) Claim(ctx context.Context, k events.Key, c protocol.Claim) (protocol.ClaimAnswer, error) {
	var answer protocol.ClaimAnswer
	err := r.c.ask(ctx, protocol.ClaimSubject(k), c, &answer)
	return answer, err
}

// Result reports what a call came to. An error means no answer came in time.
func (r *Runner) Result(ctx context.Context, k events.Key, result protocol.Result) (protocol.ResultAnswer, error) {
	var answer protocol.ResultAnswer
	err := r.c.ask(ctx, protocol.ResultSubject(k), result, &answer)
	return answer, err
}

// Ask asks a person, or what became of that. An error means no answer came in time.
func (r *Runner) Ask(ctx context.Context, k events.Key, a protocol.Ask) (protocol.AskAnswer, error) {
	var answer protocol.AskAnswer
	err := r.c.ask(ctx, protocol.AskSubject(k), a, &answer)
	return answer, err
}

// Offer tells orchestrators which tools the group has.
func (r *Runner) Offer(ctx context.Context, o protocol.Offer) (protocol.OfferAnswer, error) {
	var answer protocol.OfferAnswer
	err := r.c.ask(ctx, protocol.OfferSubject(o.Group), o, &answer)
	return answer, err
}

// Upload stores content of a chat and gives its digest: in one piece if it is
// small, else chunk by chunk and then as what they make together.
func (r *Runner) Upload(ctx context.Context, k events.Key, content []byte) (events.Digest, error) {
	if len(content) > protocol.MaxUploadBytes {
		return "", fmt.Errorf("upload: %d bytes, at most %d are allowed", len(content), protocol.MaxUploadBytes)
	}
	digest := events.DigestOf(content)
	if len(content) <= protocol.MaxChunkBytes {
		return digest, r.upload(ctx, k, protocol.Upload{V: protocol.Version, Data: content, Blob: digest}, digest)
	}
	whole := protocol.Upload{V: protocol.Version, Blob: digest}
	for start := 0; start < len(content); start += protocol.MaxChunkBytes {
		chunk := content[start:min(start+protocol.MaxChunkBytes, len(content))]
		d := events.DigestOf(chunk)
		if err := r.upload(ctx, k, protocol.Upload{V: protocol.Version, Data: chunk, Blob: d}, d); err != nil {
			return "", err
		}
		whole.Chunks = append(whole.Chunks, d)
	}
	return digest, r.upload(ctx, k, whole, digest)
}

func (r *Runner) upload(ctx context.Context, k events.Key, u protocol.Upload, want events.Digest) error {
	var answer protocol.UploadAnswer
	switch err := r.c.ask(ctx, protocol.UploadSubject(k), u, &answer); {
	case err != nil:
		return err
	case answer.Error != "":
		return fmt.Errorf("upload: %s", answer.Error)
	case answer.Blob != want:
		return fmt.Errorf("upload: %s was stored as %s", want, answer.Blob)
	}
	return nil
}

// Download gives content of a chat, checked against its digest.
func (r *Runner) Download(ctx context.Context, k events.Key, d events.Digest) ([]byte, error) {
	var content []byte
	for {
		var answer protocol.DownloadAnswer
		question := protocol.Download{V: protocol.Version, Blob: d, Offset: int64(len(content))}
		if err := r.c.ask(ctx, protocol.DownloadSubject(k), question, &answer); err != nil {
			return nil, err
		}
		if answer.Error != "" {
			return nil, fmt.Errorf("download %s: %s", d, answer.Error)
		}
		content = append(content, answer.Data...)
		if int64(len(content)) >= answer.Bytes {
			break
		}
		if len(answer.Data) == 0 || answer.Bytes > protocol.MaxUploadBytes {
			return nil, fmt.Errorf("download %s: %d of %d bytes came", d, len(content), answer.Bytes)
		}
	}
	if events.DigestOf(content) != d {
		return nil, fmt.Errorf("download %s: %w", d, errDamaged)
	}
	return content, nil
}

var errDamaged = errors.New("the content does not have this digest: it was damaged on its way or where it is stored")

// Stops calls on for each stop message until ctx ends. Messages may be lost.
func (r *Runner) Stops(ctx context.Context, on func(events.Key, protocol.Stop)) error {
	return r.c.stops(ctx, on)
}

// Answer answers the question whether a claim of this process still runs, until
// ctx ends.
func (r *Runner) Answer(ctx context.Context, process string, running func(protocol.RunnerQuestion) bool) error {
	return r.c.listen(ctx, protocol.RunnerSubject(process), func(m *nats.Msg) {
		if !isInbox(m.Reply) {
			r.c.dropped.Add(1)
			return
		}
		var q protocol.RunnerQuestion
		if json.Unmarshal(m.Data, &q) != nil {
			return // whoever asked waits in vain, as for a process that is gone
		}
		_ = r.c.tell(m.Reply, protocol.RunnerAnswer{Running: running(q)}) // likewise
	})
}

// Progress says what a running tool says. It does not wait for the server.
func (r *Runner) Progress(_ context.Context, k events.Key, p protocol.Progress) error {
	return r.c.tell(protocol.FeedProgressSubject(k), p)
}

// Dropped is how many questions were not answered because their reply subject
// was no inbox.
func (r *Runner) Dropped() uint64 { return r.c.dropped.Load() }
