package projections

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Limits of a page of commits. A commit is of 512 KiB at most, so that one always fits.
const (
	maxCommitsLimit     = 1_000
	defaultCommitsLimit = 100
)

// commits is the query "commits". What is stored goes into the answer as it is: the
// library would write it anew.
func (p *Projections) commits(ctx context.Context, tenant string, body []byte) ([]byte, error) {
	q, err := decode[CommitsRequest](body)
	if err != nil {
		return nil, err
	}
	page, err := p.Commits(ctx, tenant, q)
	if err != nil {
		return nil, err
	}
	raw := page.Commits
	page.Commits = []json.RawMessage{}
	around, err := encode(page)
	if err != nil {
		return nil, err
	}
	before, after, _ := bytes.Cut(around, []byte(`[]`))
	return slices.Concat(before, []byte("["), bytes.Join(rawBytes(raw), []byte(",")), []byte("]"), after), nil
}

func rawBytes(list []json.RawMessage) [][]byte {
	raw := make([][]byte, len(list))
	for i, m := range list {
		raw[i] = m
	}
	return raw
}

// Commits gives a page of a chat's commits, as they are stored.
func (p *Projections) Commits(ctx context.Context, tenant string, q CommitsRequest) (Commits, error) {
	k, err := key(tenant, q.Chat, q.V)
	if err != nil {
		return Commits{}, err
	}
	if q.Limit < 0 || q.Limit > maxCommitsLimit {
		return Commits{}, refuse(events.CodeBadCommand, "limit: want 0 to %d", maxCommitsLimit)
	}
	if q.Through != 0 && q.Through < q.After {
		return Commits{}, refuse(events.CodeBadCommand, "through: want at least after, which is %d", q.After)
	}
	if q.Limit == 0 {
		q.Limit = defaultCommitsLimit
	}
	last, err := p.log.Last(ctx, k)
	if errors.Is(err, protocol.ErrNotFound) {
		return Commits{}, refuse(events.CodeUnknownChat, "there is no chat %s", k.Chat)
	}
	if err != nil {
		return Commits{}, fmt.Errorf("last commit of %s: %w", k, err)
	}
	if events.Erased(last.Body) {
		return Commits{}, p.folded(ctx, k, Point{}, 0, (*fold).gone)
	}
	head, err := revOf(k, last)
	if err != nil {
		return Commits{}, err
	}
	if q.After > head {
		return Commits{}, refuse(events.CodeBadCommand, "after: %d is behind the chat's newest commit, which is %d", q.After, head)
	}
	if q.Through == 0 || q.Through > head {
		q.Through = head
	}
	return p.commitPage(ctx, k, q, stored{last.Sequence, head})
}

// commitPage reads a page whose bounds are those of the chat.
func (p *Projections) commitPage(ctx context.Context, k events.Key, q CommitsRequest, last stored) (Commits, error) {
	page := Commits{Chat: k.Chat, Rev: last.rev, Commits: []json.RawMessage{}, Next: last.rev}
	around, err := encode(page)
	if err != nil {
		return page, err
	}
	page.Next = 0
	if q.After == q.Through {
		return page, nil
	}
	from, err := p.place(ctx, k, q.After, last)
	if err != nil {
		return page, err
	}
	room, reached := maxPageBytes-len(around), from.rev
	for m, err := range p.log.Read(ctx, k, from.sequence, last.sequence) {
		if err != nil {
			return page, fmt.Errorf("read %s: %w", k, err)
		}
		rev, err := revOf(k, m)
		switch {
		case err != nil:
			return page, err
		case rev <= reached:
			return page, refuse(events.CodeChatStopped, "the chat's log is damaged behind rev %d", reached)
		case rev > q.Through:
			return page, nil
		}
		if rev > q.After {
			if room -= len(m.Body) + len(","); len(page.Commits) == q.Limit || room < 0 {
				if len(page.Commits) == 0 {
					return page, refuse(events.CodeTooLarge, "rev %d has %d bytes, more than fit into an answer", rev, len(m.Body))
				}
				page.Next = reached
				return page, nil
			}
			page.Commits = append(page.Commits, m.Body)
		}
		if reached = rev; reached == q.Through {
			return page, nil
		}
	}
	return page, fmt.Errorf("read %s: ended at rev %d, before %d", k, reached, q.Through)
}

// stored is where a commit is in the stream. The zero value is before the first.
type stored struct{ sequence, rev uint64 }

// maxSkipped is how many commits are read in vain before it is worth to look where in
// the stream a rev is.
const maxSkipped = 64

// place finds a commit at rev or, by a few, before it. Only the chat's own log knows
// where in the stream its revs are, so it is looked for by halves, and by what would be
// its place if the chat had grown evenly, in turns.
func (p *Projections) place(ctx context.Context, k events.Key, rev uint64, last stored) (stored, error) {
	low, high := stored{}, last
	for even := true; rev-low.rev > maxSkipped && low.sequence < high.sequence; even = !even {
		behind := low.sequence + (high.sequence-low.sequence)/2
		if wide, step := high.rev-low.rev, rev-maxSkipped/2-low.rev; even && step < wide {
			behind = low.sequence + uint64(float64(high.sequence-low.sequence)*(float64(step)/float64(wide)))
		}
		behind = min(behind, high.sequence-1)
		found, err := p.firstBehind(ctx, k, behind, last.sequence)
		switch {
		case err != nil:
			return low, err
		case found.rev > rev:
			high = stored{behind, max(found.rev, low.rev+1)}
		default:
			low = found
		}
	}
	return low, nil
}

// firstBehind is the chat's first commit behind a sequence.
func (p *Projections) firstBehind(ctx context.Context, k events.Key, sequence, through uint64) (stored, error) {
	for m, err := range p.log.Read(ctx, k, sequence, through) {
		if err != nil {
			return stored{}, fmt.Errorf("read %s: %w", k, err)
		}
		rev, err := revOf(k, m)
		return stored{m.Sequence, rev}, err
	}
	return stored{}, fmt.Errorf("read %s: nothing stands behind sequence %d", k, sequence)
}

// revOf is the rev of stored bytes. They may be of a newer release: nothing else is
// looked at, but that they are one JSON object and say that they are of the chat.
func revOf(k events.Key, m protocol.Stored) (uint64, error) {
	var c struct {
		Tenant string `json:"tenant"`
		Chat   string `json:"chat"`
		Rev    uint64 `json:"rev"`
	}
	object := bytes.HasPrefix(m.Body, []byte("{")) && bytes.HasSuffix(m.Body, []byte("}"))
	err := json.Unmarshal(m.Body, &c)
	if !object || err != nil || c.Tenant != k.Tenant || c.Chat != k.Chat || c.Rev == 0 {
		return 0, refuse(events.CodeChatStopped, "the chat's log is damaged: what is stored at sequence %d is no commit of it", m.Sequence)
	}
	return c.Rev, nil
}
