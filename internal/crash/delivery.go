package crash

import (
	"context"
	"encoding/json"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// delivery is a message that was taken, with points around how it is settled.
type delivery struct {
	protocol.Delivery
	points *Points
	key    events.Key
	what   string
}

// take passes a point for each message that was taken.
func (p *Points) take(kind string, taken []protocol.Delivery) []protocol.Delivery {
	list := make([]protocol.Delivery, len(taken))
	for i, d := range taken {
		k, what := subjectOf(kind, d)
		p.pass(k, "after taking "+what)
		list[i] = delivery{Delivery: d, points: p, key: k, what: what}
	}
	return list
}

// subjectOf says whose a message is and what it is about. One that cannot be
// read belongs to no chat.
func subjectOf(kind string, d protocol.Delivery) (events.Key, string) {
	if k, verb, err := protocol.ParseCommandSubject(d.Subject()); err == nil {
		return k, kind + " " + verb
	}
	var body struct {
		Tenant string `json:"tenant"`
		Chat   string `json:"chat"`
		Name   string `json:"name"` // of a timer
		Tool   string `json:"tool"`
	}
	if err := json.Unmarshal(d.Body(), &body); err != nil {
		return events.Key{}, kind
	}
	if about := purpose(body.Name) + body.Tool; about != "" {
		kind += " " + about
	}
	return events.Key{Tenant: body.Tenant, Chat: body.Chat}, kind
}

// InProgress implements [protocol.Delivery].
func (d delivery) InProgress(ctx context.Context) error {
	return d.points.around(d.key, "in progress "+d.what, func() error { return d.Delivery.InProgress(ctx) })
}

// Ack implements [protocol.Delivery].
func (d delivery) Ack(ctx context.Context) error {
	return d.points.around(d.key, "ack "+d.what, func() error { return d.Delivery.Ack(ctx) })
}

// Later implements [protocol.Delivery].
func (d delivery) Later(ctx context.Context, delay time.Duration) error {
	return d.points.around(d.key, "give back "+d.what, func() error { return d.Delivery.Later(ctx, delay) })
}

// request is a question with points around its answer.
type request struct {
	protocol.Request
	points *Points
	key    events.Key
	what   string
}

// heard is the handler with a point before it, and two around its answer.
func (p *Points) heard(what string, handle func(context.Context, events.Key, protocol.Request)) func(context.Context, events.Key, protocol.Request) {
	return func(ctx context.Context, k events.Key, q protocol.Request) {
		p.pass(k, "after hearing "+what)
		handle(ctx, k, request{Request: q, points: p, key: k, what: what})
	}
}

// Respond implements [protocol.Request].
func (r request) Respond(body []byte) error {
	return r.points.around(r.key, "answer "+r.what, func() error { return r.Request.Respond(body) })
}
