package orchestrator_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

// watched counts how often the leader is asked for a chat's newest commit, and
// may keep to itself which ones are stored.
type watched struct {
	orchestrator.Log
	deaf  bool
	looks *atomic.Int64
}

func (l watched) Last(ctx context.Context, k events.Key) (protocol.Stored, error) {
	l.looks.Add(1)
	return l.Log.Last(ctx, k)
}

func (l watched) Heads(ctx context.Context, head func(protocol.Head), ready func()) error {
	if l.deaf {
		head = func(protocol.Head) {}
	}
	return l.Log.Heads(ctx, head, ready)
}

// slower is work that comes after the news of its commit, as it nearly always does.
type slower struct {
	orchestrator.Work
	by time.Duration
}

func (w slower) FetchModel(ctx context.Context, pool string, limit int) ([]protocol.Delivery, error) {
	list, err := w.Work.FetchModel(ctx, pool, limit)
	<-time.After(w.by) // of the bubble: everything else comes to rest
	return list, err
}

// Asking a model costs money: it takes the leader's word, news of the very commit
// that wants it, or that commit just written here and its work handed out once.
func TestWhoTellsThatAModelIsToBeAsked(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name  string
		deaf  bool
		by    time.Duration // the work comes later
		again bool          // the command is sent twice, and so the work handed out
		want  int64         // looks at the log
	}{
		{"told of the newest commit", false, time.Millisecond, false, 0},
		{"told of it long ago", false, time.Second, false, 0},
		{"told of nothing, but has just written it", true, time.Millisecond, false, 0},
		{"told of nothing, and has written it a while ago", true, time.Second, false, 1},
		{"told of nothing, and has handed the work out twice", true, time.Millisecond, true, 2}, // the command looks, too
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(r *rig) {
				var looks atomic.Int64
				r.start(answers(says("fine")), func(_ *orchestrator.Config, b *orchestrator.Bus) {
					b.Log = watched{Log: b.Log, deaf: tt.deaf, looks: &looks}
					b.Work = slower{Work: b.Work, by: tt.by}
				})
				r.do(chatA, create())
				before := looks.Load()
				id, outcome := r.command(chatA, send("hi"))
				outcome()
				if tt.again {
					r.raw(chatA, "send", id, []byte(`{"v":1,"parts":[{"type":"text","text":"hi"}]}`))()
				}
				r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
				if n := looks.Load() - before; n != tt.want {
					r.Errorf("the leader was asked %d times, want %d", n, tt.want)
				}
			})
		})
	}
}
