package protocol

import (
	"context"
	"errors"

	"github.com/everturn/everturn/events"
)

// ErrNotFound means that what was asked for is not stored, by the word of the
// stream's leader or, for a blob, of its store.
var ErrNotFound = errors.New("not found")

// ErrStorageFull means that a stream has reached its limit or its disk: nothing
// was stored, and nothing older was dropped for it. It works again after room
// was made.
var ErrStorageFull = errors.New("storage is full")

// ErrDamaged means that something that was stored cannot be read any more. It
// does not come back by waiting.
var ErrDamaged = errors.New("what was stored is damaged")

// ErrReplaced means that a stream is not the one that was read before: it ends before
// what was read, so it was made anew, or comes from an older backup. What was made of
// it must be made again.
//
// It comes wrapped: ask with [errors.Is].
var ErrReplaced = errors.New("the stream is not the one that was read before")

// Handlers answer requests. Each call runs on a goroutine of its own, and may
// come more than once for one question.
type Handlers struct {
	Claim    func(ctx context.Context, k events.Key, r Request)
	Result   func(ctx context.Context, k events.Key, r Request)
	Ask      func(ctx context.Context, k events.Key, r Request)
	Upload   func(ctx context.Context, k events.Key, r Request)
	Download func(ctx context.Context, k events.Key, r Request)
	Offer    func(ctx context.Context, group string, r Request)
}

// ToolEntry is a line of the tool registry.
type ToolEntry struct {
	Manifest Manifest
	Digest   events.Digest
	Runner   string      // process that offered it last
	At       events.Time // when
}
