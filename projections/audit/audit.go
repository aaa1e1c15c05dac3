// Package audit answers questions about what stands behind a chat: the state that
// decisions were made from, what a model was shown, and whether the log breaks a rule.
//
// Nothing is kept: each question reads the chat's log from the start, so what it may
// cost is bounded. Who has the log itself is not: everturn log, prompt and verify.
package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/replay"
	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// What one question may cost.
const (
	maxCommits   = 20_000
	maxReadBytes = 64 << 20 // of commits
	maxFillBytes = 8 << 20  // of content and manifests in the place of their digests
	maxTime      = 4 * time.Second

	// Questions that are looked into at a time, and those of one tenant among them. The
	// others wait, at most as long as one may take.
	maxAtOnce   = 3
	maxOfTenant = 2
)

// Log is the append-only log of all chats, for reading.
type Log interface {
	question.Log

	// Read yields the chat's commits with after < sequence <= through, in order:
	// all of them, or an error.
	Read(ctx context.Context, k events.Key, after, through uint64) iter.Seq2[protocol.Stored, error]
}

// Blobs keeps large content by its digest.
type Blobs interface {
	// Get gives content that hashes to d, or [protocol.ErrNotFound], or an error
	// that says the stored bytes are damaged.
	Get(ctx context.Context, k events.Key, d events.Digest) ([]byte, error)
}

// Config is what an audit needs. All of it is required.
type Config struct {
	Log      Log
	Blobs    Blobs
	Manifest func(context.Context, events.Digest) (protocol.Manifest, error) // by its digest
	Shards   int                                                             // of the log
}

// Audit answers questions. It is safe for concurrent use.
type Audit struct {
	Config
	turns *question.Turns
}

// New makes an audit.
func New(c Config) (*Audit, error) {
	if c.Log == nil || c.Blobs == nil || c.Manifest == nil || c.Shards < 1 {
		return nil, errors.New("audit: config: want Log, Blobs, Manifest and Shards")
	}
	return &Audit{Config: c, turns: question.NewTurns(maxAtOnce, maxOfTenant)}, nil
}

// Queries are the queries by name.
func (a *Audit) Queries() map[string]question.Query {
	return map[string]question.Query{
		transcript.QueryState:  question.Answered(bounded(a, a.state)),
		transcript.QueryPrompt: question.Answered(bounded(a, a.prompt)),
		transcript.QueryVerify: question.Answered(bounded(a, a.verify)),
	}
}

// logsThemselves is where to go with what costs too much here.
const logsThemselves = "everturn log, prompt and verify read the log themselves"

// bounded has a question answered when its turn comes, and within maxTime.
func bounded[Q, A any](a *Audit, ask func(context.Context, string, Q) (A, error)) func(context.Context, string, Q) (A, error) {
	return func(ctx context.Context, tenant string, q Q) (A, error) {
		var none A
		waiting, stop := context.WithTimeout(ctx, maxTime)
		defer stop()
		done, err := a.turns.Take(waiting, tenant)
		if err != nil && ctx.Err() == nil {
			return none, question.Refuse(events.CodeUnavailable, "other chats are looked into; ask again")
		}
		if err != nil {
			return none, err
		}
		defer done()
		ctx, cancel := context.WithTimeout(ctx, maxTime)
		defer cancel()
		answer, err := ask(ctx, tenant, q)
		if _, refused := errors.AsType[*protocol.RefusedError](err); err != nil && !refused && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return none, question.Refuse(events.CodeTooLarge, "it takes longer than %s; %s", maxTime, logsThemselves)
		}
		return answer, err
	}
}

// newest finds the newest commit of a chat. A log that does not answer in time says
// nothing about how long the chat is.
func (a *Audit) newest(ctx context.Context, k events.Key) (question.Place, error) {
	last, err := question.Newest(ctx, a.Log, k)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return last, question.Refuse(events.CodeUnavailable, "the log does not answer within %s; ask again", maxTime)
	}
	return last, err
}

// read calls take with the commits of a chat up to a rev, 0 being the newest. It gives
// the rev of the last.
func (a *Audit) read(ctx context.Context, k events.Key, through uint64, take func(entry) error) (uint64, error) {
	last, err := a.newest(ctx, k)
	switch {
	case err != nil:
		return 0, err
	case through > last.Rev:
		return 0, question.Refuse(events.CodeBadCommand, "rev: %d is behind the chat's newest commit, which is %d", through, last.Rev)
	case through == 0:
		through = last.Rev
	}
	if through > maxCommits {
		return 0, question.Refuse(events.CodeTooLarge, "rev %d is behind more than %d commits; %s", through, maxCommits, logsThemselves)
	}
	return through, a.each(ctx, k, question.Place{Sequence: last.Sequence, Rev: through}, take)
}

// entry is a commit of the log, as it is stored.
type entry struct {
	protocol.Stored

	rev uint64
}

// each calls take with the commits up to a place.
func (a *Audit) each(ctx context.Context, k events.Key, through question.Place, take func(entry) error) error {
	bytes, reached := 0, uint64(0)
	for m, err := range a.Log.Read(ctx, k, 0, through.Sequence) {
		if err != nil {
			return fmt.Errorf("read %s: %w", k, err)
		}
		rev, err := question.RevOf(k, m)
		if err != nil {
			return err
		}
		if bytes += len(m.Body); bytes > maxReadBytes {
			return question.Refuse(events.CodeTooLarge, "the commits up to rev %d have more than %d bytes; %s", rev, maxReadBytes, logsThemselves)
		}
		if err := errors.Join(ctx.Err(), take(entry{m, rev})); err != nil {
			return err
		}
		if reached = rev; reached >= through.Rev {
			return nil
		}
	}
	return fmt.Errorf("read %s: ended at rev %d, before %d", k, reached, through.Rev)
}

// folding folds what is read. It does not believe a broken chain: what that says would
// be made up.
type folding struct {
	key events.Key
	replay.Folding
}

func (a *Audit) folding(ctx context.Context, k events.Key) *folding {
	return &folding{k, replay.Folding{
		Blob: func(k events.Key, d events.Digest) ([]byte, error) { return a.Blobs.Get(ctx, k, d) },
	}}
}

// add folds a commit.
func (f *folding) add(m entry) (events.Commit, error) {
	c, err := events.Decode(m.Body)
	if version := (*events.VersionError)(nil); errors.As(err, &version) {
		return c, question.Refuse(events.CodeUnavailable, "rev %d: %v", m.rev, err)
	}
	before := f.State()
	if err != nil || c.Rev != before.Rev()+1 || c.Rev > 1 && c.Prev != before.Prev() {
		return c, question.Refuse(events.CodeChatStopped, "the chat's log is damaged behind rev %d", before.Rev())
	}
	if err := f.Add(c, events.Hash(m.Body)); err != nil {
		return c, question.Refuse(events.CodeChatStopped, "%v", err)
	}
	return c, nil
}
