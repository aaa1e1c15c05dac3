package orchestrator

import (
	"context"
	"fmt"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// askOf reads what a runner of a group asks a person.
func askOf(group string, body []byte) (chat.Ask, error) {
	m := chat.Ask{Group: group}
	if err := decodeRequest(body, &m.Ask); err != nil {
		return m, err
	}
	if len(m.Claim) > maxWordBytes {
		return m, fmt.Errorf("claim: at most %d bytes are allowed", maxWordBytes)
	}
	return m, nil
}

// askPerson has a person asked in the middle of a call, or says what became of that. The
// group is whose account the wish came from, if that is known. It does not wait for
// the person: the runner comes again.
func (o *Orchestrator) askPerson(ctx context.Context, k events.Key, group string, body []byte) any {
	m, err := askOf(group, body)
	if err != nil {
		o.refusedRequest(ctx, "ask", k, err)
		return protocol.AskAnswer{Answer: protocol.AskRefused, Why: err.Error()}
	}
	out, err := o.settleInTurn(ctx, k, m, patience{until: time.Now().Add(o.cfg.TryTimeout)})
	if err != nil || out.decision.Asked == nil {
		o.failedRequest(ctx, "ask", k, err)
		return protocol.AskAnswer{Answer: protocol.AskUnavailable, Why: "nobody can be asked now"}
	}
	return *out.decision.Asked
}
