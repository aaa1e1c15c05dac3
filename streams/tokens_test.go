package streams_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/streams"
)

type everyToken = map[streams.TokenHash]streams.Token

func openTokens(t *testing.T, s stage) *streams.Tokens {
	t.Helper()
	tokens, err := streams.OpenTokens(s.js.Conn(), streams.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tokens.Close)
	return tokens
}

func TestTokensAreFollowedAsTheyChange(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tokens := openTokens(t, s)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	first := streams.Token{Tenant: "acme", Name: "ci", By: "service:ci", Created: events.At(time.Unix(1, 0)), Expires: events.At(time.Unix(2, 0))}
	second := streams.Token{Tenant: "other", Name: "ci", Created: events.At(time.Unix(1, 0))}
	gone := streams.HashToken(streams.NewToken())
	must(tokens.Put(ctx, gone, first))
	must(tokens.Delete(ctx, gone))
	h1, h2 := streams.HashToken(streams.NewToken()), streams.HashToken(streams.NewToken())
	must(tokens.Put(ctx, h1, first))
	for _, body := range []string{"{", "{}", "null"} { // by hand
		_, err := s.js.Publish(ctx, "$KV.TOKENS."+string(gone), []byte(body))
		must(err)
	}

	told := make(chan everyToken, 10)
	watching, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- tokens.Watch(watching, func(all everyToken) { told <- all }) }()
	next := func(want everyToken) everyToken {
		t.Helper()
		select {
		case got := <-told:
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			return got
		case <-ctx.Done():
			t.Fatal("nothing is told")
		}
		return nil
	}
	was := next(everyToken{h1: first})
	must(tokens.Put(ctx, h2, second))
	next(everyToken{h1: first, h2: second})
	must(tokens.Delete(ctx, h1))
	next(everyToken{h2: second})
	if diff := cmp.Diff(everyToken{h1: first}, was); diff != "" {
		t.Errorf("what was told has changed since:\n%s", diff)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the watch ended with %v", err)
	}
	list, err := tokens.List(ctx)
	if diff := cmp.Diff(everyToken{h2: second}, list); err != nil || diff != "" {
		t.Errorf("listed (-want +got): %v\n%s", err, diff)
	}
}

func TestTheBucketHasNoToken(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	tokens := openTokens(t, s)
	token := streams.NewToken()
	if err := tokens.Put(t.Context(), streams.HashToken(token), streams.Token{Tenant: "acme", Name: "ci"}); err != nil {
		t.Fatal(err)
	}
	bucket, err := s.js.Stream(t.Context(), "KV_TOKENS")
	if err != nil {
		t.Fatal(err)
	}
	m, err := bucket.GetMsg(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if stored := m.Subject + string(m.Data); strings.Contains(stored, strings.TrimPrefix(token, "evt_")) {
		t.Errorf("the bucket has the token: %s", stored)
	}
}

func TestATokenIsHardToGuessAndEasyToKnow(t *testing.T) {
	t.Parallel()
	one, other := streams.NewToken(), streams.NewToken()
	if one == other || !strings.HasPrefix(one, "evt_") || len(one) != len("evt_")+43 {
		t.Errorf("tokens %q and %q", one, other)
	}
	if again := streams.HashToken(one); again == streams.HashToken(other) || len(again) != 64 {
		t.Error("the hash does not tell tokens apart")
	}
	for _, no := range []string{"", "x", "Bearer " + one, "evt_" + strings.Repeat("a", 300)} {
		if streams.HashToken(no) != "" {
			t.Errorf("%.20q is taken for a token", no)
		}
	}
}

func TestABusWithoutTheBucketOfTokensSaysSo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if err := s.js.DeleteStream(t.Context(), "KV_TOKENS"); err != nil {
		t.Fatal(err)
	}
	if _, err := openTokens(t, s).List(t.Context()); !errors.Is(err, streams.ErrNoStreams) {
		t.Errorf("listing says %v", err)
	}
}
