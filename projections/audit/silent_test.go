package audit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/protocol"
)

// silent is a log that does not answer.
type silent struct{ *shelf }

func (silent) Last(ctx context.Context, _ events.Key) (protocol.Stored, error) {
	<-ctx.Done()
	return protocol.Stored{}, ctx.Err()
}

// A chat is not called too long by a log that does not answer: it may be asked for again.
func TestALogThatDoesNotAnswerIsNotTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := chatgen.New(ann)
		c.Create(events.Settings{})
		a := shelfOf(c).open(t)
		a.Log = silent{shelfOf(c)}
		for _, name := range []string{"state", "prompt", "verify"} {
			if _, err := ask[map[string]any](t, a, name, `{"chat":"ann"}`); codeOf(err) != events.CodeUnavailable {
				t.Errorf("%s: error %v, want code %s", name, err, events.CodeUnavailable)
			}
		}
	})
}

func TestALogThatCannotBeReadIsNoAnswer(t *testing.T) {
	t.Parallel()

	c := chatgen.New(ann)
	c.Create(events.Settings{})
	s := shelfOf(c)
	s.broken = errors.New("nobody answers")
	for _, name := range []string{"state", "prompt", "verify"} {
		if _, err := ask[map[string]any](t, s.open(t), name, `{"chat":"ann"}`); !errors.Is(err, s.broken) || codeOf(err) != "" {
			t.Errorf("%s: error %v, want %v and no code", name, err, s.broken)
		}
	}
}
