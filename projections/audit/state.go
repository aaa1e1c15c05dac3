package audit

import (
	"context"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol/transcript"
)

// state gives what decisions are made from, as it was at some rev.
func (a *Audit) state(ctx context.Context, tenant string, q transcript.StateRequest) (transcript.State, error) {
	k, err := question.Key(tenant, q.Chat, q.V)
	if err != nil {
		return transcript.State{}, err
	}
	f := a.folding(ctx, k)
	_, err = a.read(ctx, k, q.Rev, func(m entry) error {
		_, err := f.add(m)
		return err
	})
	if err != nil {
		return transcript.State{}, err
	}
	s := f.State()
	raw, err := chat.Encode(s)
	if err != nil {
		return transcript.State{}, err
	}
	answer := transcript.State{Chat: k.Chat, Rev: s.Rev(), At: s.At(), Fold: chat.FoldVersion, Hash: s.Hash()}
	answer.State, answer.Cut, err = fit(raw)
	return answer, err
}
