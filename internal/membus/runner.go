package membus

import (
	"context"
	"errors"
	"fmt"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// runner implements [toolrunner.Bus].
type runner struct{ p *Process }

func (r runner) Fetch(ctx context.Context, group string, limit int) ([]protocol.Delivery, error) {
	return r.p.server.work.fetch(ctx, r.p, "work.tool", prefixOf(protocol.ToolWorkFilter(group)), limit)
}

func (r runner) Claim(ctx context.Context, k events.Key, c protocol.Claim) (protocol.ClaimAnswer, error) {
	return ask[protocol.ClaimAnswer](ctx, r.p, "runner.claim", protocol.ClaimSubject(k), c.Call.String(), c,
		keyed(k, func(h protocol.Handlers) func(context.Context, events.Key, protocol.Request) { return h.Claim }))
}

func (r runner) Result(ctx context.Context, k events.Key, result protocol.Result) (protocol.ResultAnswer, error) {
	return ask[protocol.ResultAnswer](ctx, r.p, "runner.result", protocol.ResultSubject(k), result.Call.String(), result,
		keyed(k, func(h protocol.Handlers) func(context.Context, events.Key, protocol.Request) { return h.Result }))
}

func (r runner) Ask(ctx context.Context, k events.Key, a protocol.Ask) (protocol.AskAnswer, error) {
	return ask[protocol.AskAnswer](ctx, r.p, "runner.ask", protocol.AskSubject(k), a.Call.String(), a,
		keyed(k, func(h protocol.Handlers) func(context.Context, events.Key, protocol.Request) { return h.Ask }))
}

func (r runner) Offer(ctx context.Context, o protocol.Offer) (protocol.OfferAnswer, error) {
	return ask[protocol.OfferAnswer](ctx, r.p, "runner.offer", protocol.OfferSubject(o.Group), "", o,
		func(h protocol.Handlers) func(context.Context, protocol.Request) {
			if h.Offer == nil {
				return nil
			}
			return func(ctx context.Context, q protocol.Request) { h.Offer(ctx, o.Group, q) }
		})
}

// Upload sends chunks, and then what joins them.
func (r runner) Upload(ctx context.Context, k events.Key, content []byte) (events.Digest, error) {
	if len(content) <= protocol.MaxChunkBytes {
		return r.upload(ctx, k, protocol.Upload{V: protocol.Version, Data: content})
	}
	join := protocol.Upload{V: protocol.Version, Blob: events.DigestOf(content)}
	for at := 0; at < len(content); at += protocol.MaxChunkBytes {
		chunk := content[at:min(len(content), at+protocol.MaxChunkBytes)]
		d, err := r.upload(ctx, k, protocol.Upload{V: protocol.Version, Data: chunk})
		if err != nil {
			return "", err
		}
		join.Chunks = append(join.Chunks, d)
	}
	return r.upload(ctx, k, join)
}

func (r runner) upload(ctx context.Context, k events.Key, u protocol.Upload) (events.Digest, error) {
	which := string(events.DigestOf(u.Data))
	a, err := ask[protocol.UploadAnswer](ctx, r.p, "runner.upload", protocol.UploadSubject(k), which, u,
		keyed(k, func(h protocol.Handlers) func(context.Context, events.Key, protocol.Request) { return h.Upload }))
	if err != nil {
		return "", err
	}
	if a.Error != "" {
		return "", fmt.Errorf("upload: %w", errors.New(a.Error))
	}
	return a.Blob, nil
}

func (r runner) Download(ctx context.Context, k events.Key, d events.Digest) ([]byte, error) {
	var content []byte
	for {
		a, err := ask[protocol.DownloadAnswer](ctx, r.p, "runner.download", protocol.DownloadSubject(k), string(d),
			protocol.Download{V: protocol.Version, Blob: d, Offset: int64(len(content))},
			keyed(k, func(h protocol.Handlers) func(context.Context, events.Key, protocol.Request) { return h.Download }))
		if err != nil {
			return nil, err
		}
		if a.Error != "" {
			return nil, fmt.Errorf("download: %w", errors.New(a.Error))
		}
		content = append(content, a.Data...)
		if int64(len(content)) >= a.Bytes {
			break
		}
		if len(a.Data) == 0 {
			return nil, fmt.Errorf("download: %d bytes of %d, then none", len(content), a.Bytes)
		}
	}
	if events.DigestOf(content) != d {
		return nil, errors.New("download: content does not have its digest")
	}
	return content, nil
}

func (r runner) Stops(ctx context.Context, on func(events.Key, protocol.Stop)) error {
	return hearStops(ctx, r.p, on)
}

func (r runner) Answer(ctx context.Context, process string, running func(protocol.RunnerQuestion) bool) error {
	return answerQuestions(ctx, r.p, process, running)
}

// Progress is for watching only, and nobody watches here.
func (r runner) Progress(context.Context, events.Key, protocol.Progress) error { return nil }
