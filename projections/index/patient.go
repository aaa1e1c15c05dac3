package index

import (
	"context"
	"errors"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// How long content is waited for that cannot be had just now, before the commit counts
// without it: what lacks once lacks until the index is built anew, but content must not
// hold up all that is stored behind it.
const (
	contentPatience = 30 * time.Second // servers that fail over take less
	contentPause    = 500 * time.Millisecond
)

// patient waits for content. Only one goroutine may use it.
type patient struct {
	blobs Blobs // nil if there are none
	spent bool  // the one before was waited for in vain: the next ones are not
}

// Get implements [Blobs].
func (p *patient) Get(ctx context.Context, k events.Key, d events.Digest) ([]byte, error) {
	if p.blobs == nil {
		return nil, protocol.ErrNotFound
	}
	for begun := time.Now(); ; {
		b, err := p.blobs.Get(ctx, k, d)
		if err == nil || errors.Is(err, protocol.ErrNotFound) || errors.Is(err, protocol.ErrDamaged) {
			p.spent = false
			return b, err
		}
		if p.spent = p.spent || time.Since(begun) >= contentPatience; p.spent {
			return nil, err
		}
		if err := pause(ctx, contentPause); err != nil {
			return nil, err
		}
	}
}
