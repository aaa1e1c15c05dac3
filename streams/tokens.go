package streams

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
)

const tokensStream = bucketPrefix + TokensBucket

// Sizes of tokens.
const (
	tokenPrefix   = "evt_" // so that people and scanners see what it is
	tokenBytes    = 32     // of chance
	maxTokenBytes = 256    // of what may be one
)

// Tokens are the tokens that gateways take, of all tenants, in the bucket TOKENS. It
// has their hashes: nobody who reads the bucket can use a token.
type Tokens struct{ c *connection }

// Token is what is kept of a token.
type Token struct {
	Tenant  string      `json:"tenant"`
	Name    string      `json:"name"` // by which it is revoked; one of a tenant
	By      string      `json:"by,omitempty"`
	Created events.Time `json:"created"`
	Expires events.Time `json:"expires,omitzero"` // never, if zero
}

// TokenHash is what is kept in place of a token, as the key of its entry. There is
// chance enough in a token that its hash needs no salt and no time.
type TokenHash string

// HashToken is the hash of what somebody shows as a token; empty if it cannot be one.
func HashToken(token string) TokenHash {
	if !strings.HasPrefix(token, tokenPrefix) || len(token) > maxTokenBytes {
		return ""
	}
	sum := sha256.Sum256([]byte(token))
	return TokenHash(hex.EncodeToString(sum[:]))
}

// NewToken mints a token.
func NewToken() string {
	chance := make([]byte, tokenBytes)
	_, _ = rand.Read(chance) // it never fails
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(chance)
}

// OpenTokens gives the tokens alone. The connection stays the caller's to close,
// after [Tokens.Close].
func OpenTokens(nc *nats.Conn, o Options) (*Tokens, error) {
	c, err := newConnection(nc, o)
	if err != nil {
		return nil, err
	}
	return &Tokens{c: c}, nil
}

// Close ends what the tokens hold. Its methods must have returned.
func (t *Tokens) Close() { t.c.close() }

// Put keeps what there is to know of a token under its hash.
func (t *Tokens) Put(ctx context.Context, h TokenHash, token Token) error {
	body, err := json.Marshal(token)
	if err != nil {
		return fmt.Errorf("store token %s: %w", token.Name, err)
	}
	return translate(t.c.keep(ctx, bucketSubject(TokensBucket, string(h)), body), "store token %s", token.Name)
}

// Delete takes a token away. One that is not there is no error.
func (t *Tokens) Delete(ctx context.Context, h TokenHash) error {
	return translate(t.c.forget(ctx, bucketSubject(TokensBucket, string(h))), "remove token %.8s", h)
}

// List gives all tokens, those past their time included.
func (t *Tokens) List(ctx context.Context) (map[TokenHash]Token, error) {
	return listed(ctx, t.follow)
}

// Watch calls on with all tokens, first and after each change, until ctx ends or it
// may have missed one: then call it again. What on gets is not changed any more.
// [ErrNoStreams] means that the bucket is not there.
func (t *Tokens) Watch(ctx context.Context, on func(map[TokenHash]Token)) error {
	return t.follow(ctx, func(all map[TokenHash]Token) error {
		on(all)
		return nil
	})
}

// follow is Watch until on fails.
func (t *Tokens) follow(ctx context.Context, on func(map[TokenHash]Token) error) error {
	all := map[TokenHash]Token{}
	take := func(m *nats.Msg, told bool) error {
		if told {
			all = maps.Clone(all)
		}
		enterToken(all, m)
		return nil
	}
	err := t.c.mirror(ctx, tokensStream, bucketSubject(TokensBucket, ">"), take, func() error { return on(all) })
	if codeOf(err) == jetstream.JSErrCodeStreamNotFound {
		return fmt.Errorf("%w: %w", ErrNoStreams, err)
	}
	return err
}

// enterToken changes all as a message of the bucket says. What nobody can read is no
// token: it opens nothing.
func enterToken(all map[TokenHash]Token, m *nats.Msg) {
	h := TokenHash(strings.TrimPrefix(m.Subject, bucketSubject(TokensBucket, "")))
	delete(all, h)
	if m.Header.Get(bucketOperation) != "" {
		return
	}
	var token Token
	if err := json.Unmarshal(m.Data, &token); err != nil || token.Tenant == "" {
		return
	}
	all[h] = token
}
