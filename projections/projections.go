package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// Config is what projections need.
type Config struct {
	// Log is where chats are read from. Required.
	Log Log

	// Blobs has large content. Nil means that it is shown by its digest only, and
	// that chats which began as another's fork or import cannot be shown.
	Blobs Blobs

	// CacheBytes bounds the transcripts that are kept folded, by the size of the
	// commits they were folded from. 0 means 64 MiB.
	CacheBytes int64
}

const defaultCacheBytes = 64 << 20

// Times of waiting for a commit that a query asks for.
const (
	maxWait  = 2 * time.Second
	lookEach = 50 * time.Millisecond
)

// Projections answers queries. It is safe for concurrent use.
type Projections struct {
	log   Log
	blobs Blobs
	cache *cache
}

// New makes projections that have read nothing yet.
func New(c Config) (*Projections, error) {
	if c.Log == nil {
		return nil, errors.New("projections: config: Log is missing")
	}
	if c.CacheBytes < 0 {
		return nil, fmt.Errorf("projections: config: CacheBytes is %d, want 0 or more", c.CacheBytes)
	}
	if c.CacheBytes == 0 {
		c.CacheBytes = defaultCacheBytes
	}
	return &Projections{log: c.Log, blobs: c.Blobs, cache: newCache(c.CacheBytes)}, nil
}

// Query answers one kind of question about the chats of a tenant. A no is a
// [*protocol.RefusedError]; any other error means "not now".
type Query = question.Query

// Names of the queries.
const (
	QueryTranscript = transcript.QueryPage
	QueryChat       = transcript.QueryHead
	QueryCommand    = transcript.QueryCommand
	QueryBranches   = transcript.QueryBranches
	QueryCommits    = transcript.QueryCommits
)

// Queries are the queries by name.
func (p *Projections) Queries() map[string]Query {
	return map[string]Query{
		QueryTranscript: question.Answered(p.Transcript),
		QueryChat:       question.Answered(p.Chat),
		QueryCommand:    question.Answered(p.Command),
		QueryBranches:   question.Answered(p.Branches),
		QueryCommits:    p.commits,
	}
}

// Transcript gives a page of a chat.
func (p *Projections) Transcript(ctx context.Context, tenant string, q TranscriptRequest) (Transcript, error) {
	k, err := question.Key(tenant, q.Chat, q.V)
	if err != nil {
		return Transcript{}, err
	}
	if q.Branch < 0 {
		return Transcript{}, question.Refuse(events.CodeBadCommand, "branch: want the number of a turn")
	}
	if q.After < 0 || q.Limit < 0 || q.Limit > maxPageLimit {
		return Transcript{}, question.Refuse(events.CodeBadCommand, "after: want 0 or more; limit: want 0 to %d", maxPageLimit)
	}
	if q.Limit == 0 {
		q.Limit = defaultPageLimit
	}
	var t Transcript
	var open []openChild
	known := false
	err = p.folded(ctx, k, q.At, max(q.MinRev, q.At.Rev), func(f *fold) error {
		t, known = f.page(q.After, q.Limit, q.Branch)
		open = f.children
		return f.gone()
	})
	if err != nil {
		return Transcript{}, err
	}
	if !known {
		return Transcript{}, question.Refuse(events.CodeUnknownTurn, "turn %d was never started", q.Branch)
	}
	if q.At.IsZero() { // how they stood then is not looked up
		room := maxKin
		if t.Children, err = p.kin(ctx, tenant, open, &room); err != nil {
			return Transcript{}, err
		}
	}
	return p.fit(ctx, k, t, q.After)
}

// Chat gives a chat's head.
func (p *Projections) Chat(ctx context.Context, tenant string, q ChatRequest) (Head, error) {
	k, err := question.Key(tenant, q.Chat, q.V)
	if err != nil {
		return Head{}, err
	}
	var head Head
	var open []openChild
	err = p.folded(ctx, k, Point{}, q.MinRev, func(f *fold) error {
		head, open = f.head, f.children
		return f.gone()
	})
	if err != nil {
		return head, err
	}
	room := maxKin
	head.Children, err = p.kin(ctx, tenant, open, &room)
	return head, err
}

// Command gives the outcome of a command, however long ago it was decided.
func (p *Projections) Command(ctx context.Context, tenant string, q CommandRequest) (protocol.Reply, error) {
	k, err := question.Key(tenant, q.Chat, q.V)
	if err != nil {
		return protocol.Reply{}, err
	}
	if q.ID == "" {
		return protocol.Reply{}, question.Refuse(events.CodeBadCommand, "id: want that of a command")
	}
	var r protocol.Reply
	err = p.folded(ctx, k, Point{}, 0, func(f *fold) error {
		known, ok := f.outcomes[q.ID]
		if ok {
			r = known
			return nil
		}
		if err := f.gone(); err != nil {
			return err
		}
		return question.Refuse(events.CodeUnavailable, "nothing was decided about this command yet")
	})
	return r, err
}

// folded calls use with a chat folded to a point, once its rev is at least rev.
// Use must not keep the fold.
func (p *Projections) folded(ctx context.Context, k events.Key, until Point, rev uint64, use func(*fold) error) error {
	patience := time.NewTimer(maxWait)
	defer patience.Stop()
	for {
		reached, err := p.tryFolded(ctx, k, until, rev, use)
		if err != nil || reached != 0 {
			return err
		}
		look := time.NewTimer(lookEach)
		select {
		case <-look.C:
		case <-patience.C:
			look.Stop()
			return question.Refuse(events.CodeUnavailable, "the chat has not reached rev %d", rev)
		case <-ctx.Done():
			look.Stop()
			return ctx.Err()
		}
	}
}

// tryFolded is folded without waiting; it gives 0 if the chat has not come that far.
func (p *Projections) tryFolded(ctx context.Context, k events.Key, until Point, rev uint64, use func(*fold) error) (uint64, error) {
	e := p.cache.entry(foldedAs{k, until})
	if err := e.enter(ctx); err != nil {
		return 0, err
	}
	defer e.leave()
	err := p.catchUp(ctx, e, until)
	p.cache.used(e, e.fold.bytes)
	switch {
	case err != nil:
		return 0, err
	case e.fold.head.Rev == 0:
		return 0, question.Refuse(events.CodeUnknownChat, "there was no chat %s then", k.Chat)
	case e.fold.head.Rev < rev && !e.fold.full && e.fold.erased == nil:
		return 0, nil
	}
	return e.fold.head.Rev, use(e.fold)
}

// catchUp folds what the log has more than the fold. After an error the fold is
// whole, up to an earlier commit.
func (p *Projections) catchUp(ctx context.Context, e *entry, until Point) error {
	k := e.as.key
	last, err := p.log.Last(ctx, k)
	if errors.Is(err, protocol.ErrNotFound) {
		e.fold = newFold(k)
		return question.Refuse(events.CodeUnknownChat, "there is no chat %s", k.Chat)
	}
	if err != nil {
		return fmt.Errorf("last commit of %s: %w", k, err)
	}
	from := e.fold.sequence
	switch {
	case e.buried(last):
		until = Point{}
		if from = e.fold.sequence; from == 0 {
			if from, err = tombstoneFrom(last); err != nil {
				return err
			}
		}
	case e.fold.full:
		return nil // the log only grows: what came before that point stays
	}
	same := last.Sequence == e.fold.sequence && events.Hash(last.Body) == e.fold.hash
	if last.Sequence <= e.fold.sequence && !same {
		e.fold, from = newFold(k), 0 // the log was replaced: restored from a backup
	}
	get := func(d events.Digest) ([]byte, error) {
		if p.blobs == nil {
			return nil, protocol.ErrNotFound
		}
		return p.blobs.Get(ctx, k, d)
	}
	for m, err := range p.log.Read(ctx, k, from, last.Sequence) {
		if err != nil {
			return fmt.Errorf("read %s: %w", k, err)
		}
		if err := e.fold.apply(m, until, get); err != nil {
			return err
		}
		if e.fold.full {
			return nil
		}
	}
	if e.fold.sequence != last.Sequence {
		return fmt.Errorf("read %s: ended at sequence %d, before %d", k, e.fold.sequence, last.Sequence)
	}
	return nil
}
