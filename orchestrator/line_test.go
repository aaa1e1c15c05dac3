package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

// synced is a log that takes a while for each commit.
type synced struct{ orchestrator.Log }

func (l synced) Append(ctx context.Context, a protocol.Append) (uint64, error) {
	select {
	case <-time.After(5 * time.Millisecond):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return l.Log.Append(ctx, a)
}

func TestACommandNeedNotStandBehindThousandsOfAnotherTenant(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		const queued = 3_000
		o := r.start(answers(says("fine")), func(c *orchestrator.Config, b *orchestrator.Bus) {
			c.Mailboxes, b.Log = 64, synced{b.Log}
		})
		r.do(of("polite", 0), create()) // it was there lately
		began := time.Now()
		last := func() protocol.Reply { return protocol.Reply{} }
		for n := range queued {
			_, last = r.command(of("greedy", n), create())
		}
		r.do(of("polite", 0), send("hello"))
		took := time.Since(began)
		if reply := last(); !reply.OK {
			t.Errorf("the last of the others is answered %+v", reply)
		}
		all := time.Since(began)
		if took > all/8 {
			t.Errorf("the command of the other tenant took %v, those before it %v", took, all)
		}
		if o.counted("commands.passed") == 0 {
			t.Error("nothing has passed the line")
		}
		if faults := o.counted("faults"); faults != 0 {
			t.Errorf("there were %d faults", faults)
		}
		r.eventually("every command is gone", func() bool { return len(r.server.Commands()) == 0 })
		if got := len(r.log(of("polite", 0))); got < 2 {
			t.Errorf("the other's log has %d commits", got)
		}
	})
}

// unwritable is a log that nothing can be written to.
type unwritable struct{ orchestrator.Log }

func (unwritable) Append(ctx context.Context, _ protocol.Append) (uint64, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// A command counts its time from when it was taken, also while it waits for others of
// its tenant: while the store is away nobody has all the mailboxes for minutes.
func TestCommandsThatWaitForTheirTenantMakeRoomInTime(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		const mailboxes, patience = 64, 10 * time.Second
		o := r.start(answers(says("fine")), func(c *orchestrator.Config, b *orchestrator.Bus) {
			c.Mailboxes, b.Log = mailboxes, unwritable{b.Log}
		})
		r.command(of("polite", 0), create())
		for n := range mailboxes - 1 {
			r.command(of("greedy", n), create())
		}
		<-time.After(patience + patience/2)
		if got := o.counted("given_back"); got < mailboxes {
			t.Errorf("%d of %d commands are given back", got, mailboxes)
		}
	})
}
