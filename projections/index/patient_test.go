package index

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// away is content that cannot be had until then.
type away struct{ until time.Time }

func (a *away) Get(context.Context, events.Key, events.Digest) ([]byte, error) {
	if time.Now().Before(a.until) {
		return nil, errors.New("nobody answers")
	}
	return []byte("content"), nil
}

// A server that fails over loses nothing; one that stays away holds up what comes behind
// once, not for each content.
func TestContentIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &away{until: time.Now().Add(20 * time.Second)}
		p := &patient{blobs: a}
		get := func() (waited time.Duration, err error) {
			begun := time.Now()
			_, err = p.Get(t.Context(), events.Key{}, "")
			return time.Since(begun), err
		}
		if _, err := get(); err != nil {
			t.Errorf("after a while: %v", err)
		}
		a.until = time.Now().Add(time.Hour)
		if waited, err := get(); err == nil || waited < contentPatience || waited > 2*contentPatience {
			t.Errorf("waited %v for what never came, error %v", waited, err)
		}
		if waited, err := get(); err == nil || waited > 0 {
			t.Errorf("waited %v once more, error %v", waited, err)
		}
		a.until = time.Time{}
		if _, err := get(); err != nil {
			t.Errorf("when it is back: %v", err)
		}
		a.until = time.Now().Add(20 * time.Second)
		if _, err := get(); err != nil {
			t.Errorf("the next time: %v", err)
		}
		p.blobs = nil
		if _, err := get(); !errors.Is(err, protocol.ErrNotFound) {
			t.Errorf("without any: %v", err)
		}
	})
}
