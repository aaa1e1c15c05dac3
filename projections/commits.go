package projections

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections/question"
)

// Limits of a page of commits. A commit is of 512 KiB at most, so that one always fits.
const (
	maxCommitsLimit     = 1_000
	defaultCommitsLimit = 100
)

// commits is the query "commits". What is stored goes into the answer as it is: the
// library would write it anew.
func (p *Projections) commits(ctx context.Context, tenant string, body []byte) ([]byte, error) {
	q, err := question.Decode[CommitsRequest](body)
	if err != nil {
		return nil, err
	}
	page, err := p.Commits(ctx, tenant, q)
	if err != nil {
		return nil, err
	}
	raw := page.Commits
	page.Commits = []json.RawMessage{}
	around, err := question.Encode(page)
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
	k, err := question.Key(tenant, q.Chat, q.V)
	if err != nil {
		return Commits{}, err
	}
	if q.Limit < 0 || q.Limit > maxCommitsLimit {
		return Commits{}, question.Refuse(events.CodeBadCommand, "limit: want 0 to %d", maxCommitsLimit)
	}
	if q.Through != 0 && q.Through < q.After {
		return Commits{}, question.Refuse(events.CodeBadCommand, "through: want at least after, which is %d", q.After)
	}
	if q.Limit == 0 {
		q.Limit = defaultCommitsLimit
	}
	last, err := question.Newest(ctx, p.log, k)
	if err != nil {
		return Commits{}, err
	}
	if q.After > last.Rev {
		return Commits{}, question.Refuse(events.CodeBadCommand, "after: %d is behind the chat's newest commit, which is %d", q.After, last.Rev)
	}
	if q.Through == 0 || q.Through > last.Rev {
		q.Through = last.Rev
	}
	return p.commitPage(ctx, k, q, last)
}

// commitPage reads a page whose bounds are those of the chat.
func (p *Projections) commitPage(ctx context.Context, k events.Key, q CommitsRequest, last question.Place) (Commits, error) {
	page := Commits{Chat: k.Chat, Rev: last.Rev, Commits: []json.RawMessage{}, Next: last.Rev}
	around, err := question.Encode(page)
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
	room, reached := question.MaxAnswerBytes-len(around), from.Rev
	for m, err := range p.log.Read(ctx, k, from.Sequence, last.Sequence) {
		if err != nil {
			return page, fmt.Errorf("read %s: %w", k, err)
		}
		rev, err := question.RevOf(k, m)
		switch {
		case err != nil:
			return page, err
		case rev <= reached:
			return page, question.Refuse(events.CodeChatStopped, "the chat's log is damaged behind rev %d", reached)
		case rev > q.Through:
			return page, nil
		}
		if rev > q.After {
			if room -= len(m.Body) + len(","); len(page.Commits) == q.Limit || room < 0 {
				if len(page.Commits) == 0 {
					return page, question.Refuse(events.CodeTooLarge, "rev %d has %d bytes, more than fit into an answer", rev, len(m.Body))
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

// maxSkipped is how many commits are read in vain before it is worth to look where in
// the stream a rev is.
const maxSkipped = 64

// place finds a commit at rev or, by a few, before it. Only the chat's own log knows
// where in the stream its revs are, so it is looked for by halves, and by what would be
// its place if the chat had grown evenly, in turns.
func (p *Projections) place(ctx context.Context, k events.Key, rev uint64, last question.Place) (question.Place, error) {
	low, high := question.Place{}, last
	for even := true; rev-low.Rev > maxSkipped && low.Sequence < high.Sequence; even = !even {
		behind := low.Sequence + (high.Sequence-low.Sequence)/2
		if wide, step := high.Rev-low.Rev, rev-maxSkipped/2-low.Rev; even && step < wide {
			behind = low.Sequence + uint64(float64(high.Sequence-low.Sequence)*(float64(step)/float64(wide)))
		}
		behind = min(behind, high.Sequence-1)
		found, err := p.firstBehind(ctx, k, behind, last.Sequence)
		switch {
		case err != nil:
			return low, err
		case found.Rev > rev:
			high = question.Place{Sequence: behind, Rev: max(found.Rev, low.Rev+1)}
		default:
			low = found
		}
	}
	return low, nil
}

// firstBehind is the chat's first commit behind a sequence.
func (p *Projections) firstBehind(ctx context.Context, k events.Key, sequence, through uint64) (question.Place, error) {
	for m, err := range p.log.Read(ctx, k, sequence, through) {
		if err != nil {
			return question.Place{}, fmt.Errorf("read %s: %w", k, err)
		}
		rev, err := question.RevOf(k, m)
		return question.Place{Sequence: m.Sequence, Rev: rev}, err
	}
	return question.Place{}, fmt.Errorf("read %s: nothing stands behind sequence %d", k, sequence)
}
