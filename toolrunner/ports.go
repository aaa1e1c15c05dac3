package toolrunner

import (
	"context"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Bus is everything a tool runner needs of the outside. It writes to no stream
// and no bucket: what it wants stored it asks an orchestrator for.
type Bus interface {
	// Fetch waits for at least one call of the group and hands over at most limit.
	Fetch(ctx context.Context, group string, limit int) ([]protocol.Delivery, error)

	// Claim asks for the licence to run a call. Each asking has a reply subject
	// of its own, so an answer always belongs to its question. An error means no
	// answer came in time; the licence may have been given and lost.
	Claim(ctx context.Context, k events.Key, c protocol.Claim) (protocol.ClaimAnswer, error)

	// Result reports what a call came to. An error means no answer came in time.
	Result(ctx context.Context, k events.Key, r protocol.Result) (protocol.ResultAnswer, error)

	// Ask asks a person, or what became of that. An error means no answer came in time.
	Ask(ctx context.Context, k events.Key, a protocol.Ask) (protocol.AskAnswer, error)

	// Offer tells orchestrators which tools the group has.
	Offer(ctx context.Context, o protocol.Offer) (protocol.OfferAnswer, error)

	// Upload stores content of a chat and gives its digest.
	Upload(ctx context.Context, k events.Key, content []byte) (events.Digest, error)

	// Download gives content of a chat, checked against its digest.
	Download(ctx context.Context, k events.Key, d events.Digest) ([]byte, error)

	// Stops calls on for each stop message until ctx ends. Messages may be lost.
	Stops(ctx context.Context, on func(events.Key, protocol.Stop)) error

	// Answer answers the question whether a claim of this process still runs,
	// until ctx ends.
	Answer(ctx context.Context, process string, running func(protocol.RunnerQuestion) bool) error

	// Progress says what a running tool says. It does not wait for the server.
	Progress(ctx context.Context, k events.Key, p protocol.Progress) error
}
