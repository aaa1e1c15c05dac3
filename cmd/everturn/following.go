package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/protocol"
)

// following is a turn that a talk shows while it runs.
type following struct {
	*talk

	turn        *shownTurn
	others      *kin // what waits for a person in chats that work for this one
	sights      chan client.Sight
	ended       chan turnEnd
	interrupted bool // by a signal; the next one leaves
}

// turnEnd is how a turn has ended, or why that cannot be seen.
type turnEnd struct {
	turn client.Outcome
	err  error
}

// followOne shows what happens until the turn that a reply is about has ended.
func (t *talk) followOne(ctx context.Context, reply protocol.Reply) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &following{
		talk: t, turn: &shownTurn{viewer: t.view, turn: reply.Turn},
		others: &kin{client: t.client, chat: t.chat, wait: time.Duration(t.c.Wait)},
		sights: make(chan client.Sight), ended: make(chan turnEnd, 1),
	}
	if t.watcher.Running() { // those others were made before
		f.lookAtOthers(ctx)
	}
	go f.watch(ctx, reply)
	defer t.release()
	t.approving, t.acting = approving{}, nil
	end, err := f.toEnd(ctx)
	if end == nil {
		cancel()
		<-f.ended
		return err
	}
	if end.err == nil {
		t.end(end.turn)
		t.shown(end.turn.Turn)
	}
	return end.err
}

// watch gives what there is to see until the turn has ended.
func (f *following) watch(ctx context.Context, reply protocol.Reply) {
	turn, err := f.watcher.Until(ctx, reply, func(s client.Sight) {
		select {
		case f.sights <- s:
		case <-ctx.Done():
		}
	})
	f.ended <- turnEnd{turn, err}
}

// toEnd gives how the turn has ended, or the reason to leave it before that.
func (f *following) toEnd(ctx context.Context) (*turnEnd, error) {
	if err := f.catchUp(ctx); err != nil {
		return nil, err
	}
	for {
		if err := f.left(); err != nil {
			return nil, err
		}
		asked := f.asking != nil || len(f.approving.open) > 0
		select {
		case line, ok := <-f.linesFor(asked):
			if err := f.during(ctx, asked, line, ok); err != nil {
				return nil, err
			}
		case sight := <-f.sights:
			f.turn.see(sight)
			f.see(ctx, sight)
		case <-f.others.soon():
			f.lookAtOthers(ctx)
		case sig := <-f.signals:
			if err := f.signalled(ctx, sig); err != nil {
				return nil, err
			}
		case end := <-f.ended:
			return &end, nil
		}
	}
}

// catchUp shows what the chat waited for before the talk began.
func (f *following) catchUp(ctx context.Context) error {
	open := f.open
	if open == nil {
		return nil
	}
	f.open = nil
	if err := open.show(f.turn, f.s.stdout, f.c.JSON); err != nil {
		return err
	}
	f.see(ctx, open.sight())
	return nil
}

// linesFor are the lines that are of use now: while something is asked, the one that
// was read before as well.
func (f *following) linesFor(asked bool) <-chan line {
	switch {
	case asked:
		return f.nextLines()
	case f.held != nil:
		return nil
	default:
		return f.lines
	}
}

// see notes what follows from a sight for the talk.
func (f *following) see(ctx context.Context, sight client.Sight) {
	f.others.see(sight)
	f.taken(sight)
	f.notice(ctx, sight)
	if f.approving.see(sight) {
		f.approving.ask(f.s.stderr)
	}
}

// lookAtOthers shows what else waits for a person in the chats that work for this one.
func (f *following) lookAtOthers(ctx context.Context) {
	f.turn.awaits(f.others.look(ctx))
}

// signalled interrupts the turn, once; an error is the reason to leave.
func (f *following) signalled(ctx context.Context, sig os.Signal) error {
	if f.interrupted || sig != os.Interrupt {
		return cli.Signalled(sig)
	}
	f.interrupted = true
	if err := f.interrupt(ctx, f.turn.turn); err != nil {
		fmt.Fprintln(f.s.stderr, "everturn:", err)
	}
	return nil
}

// interrupt stops the turn that runs: the one our line began, or the one it
// waits for.
func (t *talk) interrupt(ctx context.Context, turn int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(t.c.Wait))
	defer cancel()
	if turn == 0 {
		head, err := t.client.Head(ctx, t.chat)
		if err != nil {
			return err
		}
		turn = head.Turn
	}
	fmt.Fprintf(t.s.stderr, "\ninterrupting turn %d; Ctrl-C again leaves\n", turn)
	_, err := t.client.Interrupt(ctx, t.chat, turn, "interrupted at the command line")
	if rejected, ok := errors.AsType[*client.RejectedError](err); ok && rejected.Code == events.CodeAlreadyFinished {
		return nil // it was over before
	}
	return err
}

// shownTurn knows which turn is being shown.
type shownTurn struct {
	viewer
	turn int
}

func (v *shownTurn) see(s client.Sight) {
	if s.Delta != nil {
		v.turn = s.Delta.Turn
	}
	if s.Commit != nil {
		for _, e := range s.Commit.Events {
			if e, ok := e.(events.TurnStarted); ok {
				v.turn = e.Turn
			}
		}
	}
	v.viewer.see(s)
}
