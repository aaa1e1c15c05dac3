package audit

import (
	"context"
	"errors"
	"fmt"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/replay"
	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// prompt gives what a model was shown for a step.
func (a *Audit) prompt(ctx context.Context, tenant string, q transcript.PromptRequest) (transcript.Prompt, error) {
	k, err := question.Key(tenant, q.Chat, q.V)
	if err != nil {
		return transcript.Prompt{}, err
	}
	if q.Attempt < 0 {
		return transcript.Prompt{}, question.Refuse(events.CodeBadCommand, "attempt: want 0 or more")
	}
	f := a.folding(ctx, k)
	var asked events.StepRequested
	var there chat.State
	rev, err := a.read(ctx, k, q.Rev, func(m entry) error {
		c, err := f.add(m)
		if err != nil {
			return err
		}
		for _, e := range c.Events {
			if r, ok := e.(events.StepRequested); ok && wanted(q, r) {
				asked, there = r, f.State()
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return transcript.Prompt{}, err
	case !there.Exists():
		return transcript.Prompt{}, question.Refuse(events.CodeUnknownTurn, "up to rev %d no such step was requested", rev)
	}
	return a.shown(ctx, k, there, asked, q.Full)
}

// wanted reports whether the question may be about that request.
func wanted(q transcript.PromptRequest, r events.StepRequested) bool {
	return (q.Step == events.StepID{} || r.Step == q.Step) && (q.Attempt == 0 || r.Attempt == q.Attempt)
}

// shown is the answer.
func (a *Audit) shown(ctx context.Context, k events.Key, s chat.State, asked events.StepRequested, full bool) (transcript.Prompt, error) {
	var fill *filling
	var with *replay.Filling
	if full {
		fill = &filling{room: maxFillBytes}
		with = fill.from(ctx, a, k)
	}
	p, err := replay.Show(s, asked, with)
	if errors.Is(err, protocol.ErrNotFound) || errors.Is(err, protocol.ErrDamaged) {
		return transcript.Prompt{}, question.Refuse(events.CodeUnavailable, "not all of it can be had in full: %v", err)
	}
	if err != nil {
		return transcript.Prompt{}, err
	}
	answer := transcript.Prompt{
		Chat: p.Chat, Step: p.Step, Purpose: asked.Purpose, Attempt: p.Attempt, Rev: p.Rev,
		Recorded: p.Recorded, Digest: p.Digest, Same: p.Same, Bytes: p.Bytes,
	}
	raw, err := question.Encode(p.Request)
	if err != nil {
		return answer, err
	}
	answer.Request, answer.Cut, err = fit(raw)
	if fill != nil && fill.left > 0 {
		answer.Cut = append(answer.Cut, fmt.Sprintf("%d times a digest stands in place of content: all of it has more than %d bytes", fill.left, maxFillBytes))
	}
	return answer, err
}

// filling has room for that many bytes more, and has left out so many contents.
type filling struct{ room, left int }

func (f *filling) from(ctx context.Context, a *Audit, k events.Key) *replay.Filling {
	return &replay.Filling{
		Content: func(d events.Digest) ([]byte, error) {
			if f.full() {
				return nil, replay.ErrLeftOut
			}
			content, err := a.Blobs.Get(ctx, k, d)
			f.room -= len(content)
			return content, err
		},
		Manifest: func(d events.Digest) (protocol.Manifest, error) {
			if f.full() {
				return protocol.Manifest{}, replay.ErrLeftOut
			}
			m, err := a.Manifest(ctx, d)
			f.room -= len(m.Description) + len(m.Schema)
			return m, err
		},
	}
}

func (f *filling) full() bool {
	if f.room <= 0 {
		f.left++
	}
	return f.room <= 0
}
