package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

const (
	// maxDetailBytes is what is told of one violation.
	maxDetailBytes = 1 << 10

	// maxFoldedCommits is up to where the rules are judged that need the state at every
	// rev: what models were shown is made once more for each of their steps.
	maxFoldedCommits = 1_000
)

// verify judges a chat's log.
func (a *Audit) verify(ctx context.Context, tenant string, q transcript.VerifyRequest) (transcript.Verdict, error) {
	k, err := question.Key(tenant, q.Chat, q.V)
	if err != nil {
		return transcript.Verdict{}, err
	}
	last, err := a.newest(ctx, k)
	if err != nil {
		return transcript.Verdict{}, err
	}
	long := last.Rev > maxFoldedCommits
	beside := beside{audit: a}
	checker := verify.New(verify.Options{
		Shards: a.Shards, SkipFold: long,
		Blob:   func(k events.Key, d events.Digest) ([]byte, error) { return beside.content(ctx, k, d) },
		Schema: func(manifest events.Digest) (json.RawMessage, error) { return beside.schema(ctx, manifest) },
	})
	rev, err := a.read(ctx, k, 0, func(m entry) error {
		checker.Add(verify.Entry{Subject: m.Subject, Sequence: m.Sequence, Commit: m.Body})
		return beside.failed
	})
	if err != nil {
		return transcript.Verdict{}, err
	}
	verdict := transcript.Verdict{Chat: k.Chat, Rev: rev, Violations: []transcript.Violation{}}
	if long {
		for _, rule := range []verify.Rule{verify.RulePrompts, verify.RuleReplay, verify.RuleBounds} {
			verdict.Skipped = append(verdict.Skipped, string(rule))
		}
	}
	means := make(map[verify.Rule]string)
	for _, r := range verify.Rules() {
		means[r.Rule] = r.Means
	}
	for _, v := range checker.Finish(nil) {
		verdict.Violations = append(verdict.Violations, transcript.Violation{
			Rule: string(v.Rule), Means: means[v.Rule], Rev: v.Rev, Detail: events.CutText(v.Detail, maxDetailBytes), Clash: v.Clash.Rev,
		})
	}
	for _, u := range checker.Unread() {
		verdict.Unread = fmt.Sprintf("not judged from sequence %d on: %v", u.Sequence, u.Err)
	}
	return verdict, nil
}

// beside gives the checker what lies outside of the log, and keeps the first reason for
// which it could not.
type beside struct {
	audit  *Audit
	failed error
}

func (b *beside) content(ctx context.Context, k events.Key, d events.Digest) ([]byte, error) {
	content, err := b.audit.Blobs.Get(ctx, k, d)
	return content, b.seen(err)
}

func (b *beside) schema(ctx context.Context, manifest events.Digest) (json.RawMessage, error) {
	m, err := b.audit.Manifest(ctx, manifest)
	return m.Schema, b.seen(err)
}

// seen keeps an error that says nothing about the content.
func (b *beside) seen(err error) error {
	if err == nil || errors.Is(err, protocol.ErrNotFound) || errors.Is(err, protocol.ErrDamaged) {
		return err
	}
	b.failed = err
	return fmt.Errorf("%w: %w", verify.ErrNotSeen, err)
}
