package client

import (
	"context"
	"fmt"
	"iter"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/transcript"
)

// Commits yields the commits of a chat with after < rev <= through, in order; through 0
// stands for the newest there is. It asks for them by pages, and ends with an error, or
// when it has yielded all.
//
// Each is checked to go on from the one before it: a log that was altered shows. What
// only a newer release can read is an [*events.VersionError].
func (c *Client) Commits(ctx context.Context, chat string, after, through uint64) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		request := transcript.CommitsRequest{Chat: chat, After: after, Through: through}
		before := events.Recorded{Commit: events.Commit{Rev: after}} // its hash is not known
		for {
			var page transcript.Commits
			if err := c.Query(ctx, transcript.QueryCommits, request, &page); err != nil {
				yield(events.Recorded{}, err)
				return
			}
			for _, raw := range page.Commits {
				commit, err := c.recorded(chat, raw, before)
				if err != nil {
					yield(events.Recorded{}, err)
					return
				}
				if !yield(commit, nil) {
					return
				}
				before = commit
			}
			if page.Next == 0 {
				return
			}
			request.After = page.Next
			if request.Through == 0 {
				request.Through = page.Rev // one moment, however long the reading takes
			}
		}
	}
}

// recorded reads a commit that follows another one, whose hash is empty if it was not
// read.
func (c *Client) recorded(chat string, raw []byte, before events.Recorded) (events.Recorded, error) {
	commit, err := events.Decode(raw)
	if err != nil {
		return events.Recorded{}, fmt.Errorf("chat %s: %w", chat, err)
	}
	follows := commit.Rev == before.Rev+1 && (before.Hash == "" || commit.Prev == before.Hash)
	if commit.Key != c.Key(chat) || !follows {
		return events.Recorded{}, fmt.Errorf("chat %s: the commit of rev %d does not follow rev %d: the log is damaged", chat, commit.Rev, before.Rev)
	}
	return events.Recorded{Commit: commit, Hash: events.Hash(raw)}, nil
}
