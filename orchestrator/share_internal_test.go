package orchestrator

import (
	"slices"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// attemptOf is the first attempt of a chat.
func attemptOf(tenant, chat string) protocol.ModelWork {
	return protocol.ModelWork{Tenant: tenant, Chat: chat, Pool: "default", Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1}
}

func TestWhatWaitsIsPutBackInTheOrderInWhichItCame(t *testing.T) {
	t.Parallel()

	now := time.Unix(1, 0)
	s := newShare(16)
	s.standBack(attemptOf("acme", "a"), now)
	s.standBack(attemptOf("acme", "b"), now)
	s.queue(attemptOf("acme", "new"), now)
	s.standBack(attemptOf("acme", "c"), now)

	var got []string
	for at := now.Add(ackSettles); ; {
		next, ok := s.next(at, true)
		if !ok {
			break
		}
		got = append(got, next.work.Chat)
	}
	if want := []string{"a", "b", "c", "new"}; !slices.Equal(got, want) {
		t.Errorf("put back were %v, want %v", got, want)
	}
}

// What has just been taken out of the queue holds up nothing else of its tenant.
func TestWhatIsTooFreshToBePutBackHoldsUpNothing(t *testing.T) {
	t.Parallel()

	now := time.Unix(1, 0)
	s := newShare(16)
	s.standBack(attemptOf("acme", "fresh"), now)
	s.queue(attemptOf("acme", "new"), now)
	if next, ok := s.next(now, false); !ok || next.work.Chat != "new" {
		t.Errorf("put back is %q, want the one that was never in the queue", next.work.Chat)
	}
	if next, ok := s.next(now, false); ok {
		t.Errorf("%q is put back before the queue knows that it is gone", next.work.Chat)
	}
}

// BenchmarkStandBack measures what it costs to put off an attempt of a tenant whose
// attempts wait by the ten thousand.
func BenchmarkStandBack(b *testing.B) {
	const waiting = 10_000
	now := time.Unix(1, 0)
	s := newShare(16)
	for n := range waiting {
		s.standBack(attemptOf("acme", time.Duration(n).String()), now)
	}
	later := now.Add(ackSettles)
	b.ReportAllocs()
	for b.Loop() {
		next, ok := s.next(later, true)
		if !ok {
			b.Fatal("nothing waits")
		}
		s.standBack(next.work, now)
	}
}
