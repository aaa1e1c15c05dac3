package crash

import (
	"context"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// Runner is the bus with points around all its effects.
func (p *Points) Runner(b toolrunner.Bus) toolrunner.Bus { return runner{b, p} }

type runner struct {
	toolrunner.Bus
	points *Points
}

// Fetch implements [toolrunner.Bus].
func (r runner) Fetch(ctx context.Context, group string, limit int) ([]protocol.Delivery, error) {
	taken, err := r.Bus.Fetch(ctx, group, limit)
	return r.points.take("call of", taken), err
}

// Claim implements [toolrunner.Bus].
func (r runner) Claim(ctx context.Context, k events.Key, c protocol.Claim) (answer protocol.ClaimAnswer, err error) {
	err = r.points.around(k, "claim", func() error {
		answer, err = r.Bus.Claim(ctx, k, c)
		return err
	})
	return answer, err
}

// Result implements [toolrunner.Bus].
func (r runner) Result(ctx context.Context, k events.Key, result protocol.Result) (answer protocol.ResultAnswer, err error) {
	err = r.points.around(k, "result", func() error {
		answer, err = r.Bus.Result(ctx, k, result)
		return err
	})
	return answer, err
}

// Ask implements [toolrunner.Bus].
func (r runner) Ask(ctx context.Context, k events.Key, a protocol.Ask) (answer protocol.AskAnswer, err error) {
	err = r.points.around(k, "ask", func() error {
		answer, err = r.Bus.Ask(ctx, k, a)
		return err
	})
	return answer, err
}

// Offer implements [toolrunner.Bus].
func (r runner) Offer(ctx context.Context, o protocol.Offer) (answer protocol.OfferAnswer, err error) {
	err = r.points.around(events.Key{}, "offer", func() error {
		answer, err = r.Bus.Offer(ctx, o)
		return err
	})
	return answer, err
}

// Upload implements [toolrunner.Bus].
func (r runner) Upload(ctx context.Context, k events.Key, content []byte) (digest events.Digest, err error) {
	err = r.points.around(k, "upload", func() error {
		digest, err = r.Bus.Upload(ctx, k, content)
		return err
	})
	return digest, err
}

// Progress implements [toolrunner.Bus].
func (r runner) Progress(ctx context.Context, k events.Key, progress protocol.Progress) error {
	return r.points.around(k, "progress", func() error { return r.Bus.Progress(ctx, k, progress) })
}

// Tools are the tools with points around what they do.
func (p *Points) Tools(list []toolrunner.Tool) []toolrunner.Tool {
	watched := make([]toolrunner.Tool, len(list))
	for i, t := range list {
		watched[i] = tool{Tool: t, points: p, effect: "running " + t.Manifest().Name}
	}
	return watched
}

type tool struct {
	toolrunner.Tool
	points *Points
	effect string
}

// Run implements [toolrunner.Tool].
func (t tool) Run(ctx context.Context, c toolrunner.Call) (output toolrunner.Output, err error) {
	err = t.points.around(c.Chat, t.effect, func() error {
		output, err = t.Tool.Run(ctx, c)
		return err
	})
	return output, err
}
