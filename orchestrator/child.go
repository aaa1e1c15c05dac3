package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// wordsAtOnce bounds the words between chats that are in hand.
const wordsAtOnce = 64

// saidLost stands for content of a child that is not there any more.
const saidLost = "[content that is lost]"

// handleWord carries a word between a chat and the one that works for it.
func (o *Orchestrator) handleWord(ctx context.Context, d protocol.Delivery) {
	p := o.commandPatience(time.Now())
	w, err := protocol.Read[protocol.ChatWork](d.Body())
	if err = errors.Join(err, w.Key().Validate()); err != nil {
		// What the parent owes stands in its log, and whoever sweeps it sends it again.
		o.fault(ctx, "word", w.Key(), err)
		o.endDelivery(ctx, d, "word", w.Key(), nil)
		return
	}
	hush := o.speakUp(ctx, d)
	err = caught(func() error { return o.carry(ctx, w, p) })
	hush()
	o.endDelivery(ctx, d, "word", w.Key(), err)
}

// carry brings a call and its child to where they should be, whatever the word was:
// all of it follows from how both stand. The parent's mailbox is not held while the
// child is looked at. If the parent is interrupted meanwhile it owes the child the
// next word.
func (o *Orchestrator) carry(ctx context.Context, w protocol.ChatWork, p patience) error {
	if o.isStopping() {
		return errStopping
	}
	parent, err := o.fresh(ctx, w.Key())
	if err != nil {
		return err
	}
	birth, waits := parent.state.BirthOf(w.Call)
	if !waits { // any more: whoever had this word before may be gone before its dispatch
		return o.dispatch(ctx, parent.state, p)
	}
	child, err := o.bear(ctx, w.Tenant, birth, p)
	if err != nil {
		return fmt.Errorf("child of call %s: %w", w.Call, err)
	}
	report, ended := child.ReportTo(birth.Parent)
	if !ended {
		return nil // it tells when it has
	}
	if report.Parts, err = o.handOver(ctx, child.Key(), w.Key(), report.Parts, p); err != nil {
		return fmt.Errorf("answer of the child of call %s: %w", w.Call, err)
	}
	_, err = o.settleInTurn(ctx, w.Key(), report, p)
	return err
}

// bear makes a child if there is none yet, has it end if nobody waits for it, and
// gives it as the leader has it, with all that it owes dispatched. That the fence of
// a birth was missed only says that somebody else made the child.
func (o *Orchestrator) bear(ctx context.Context, tenant string, b chat.Birth, p patience) (chat.State, error) {
	k := protocol.ChildKey(events.Key{Tenant: tenant, Chat: b.Parent.Chat}, b.Parent.Call)
	out, err := o.settleInTurn(ctx, k, b, p)
	if err == nil && b.Stopped { // who made it may not have known that
		out, err = o.settleInTurn(ctx, k, chat.Recall{Parent: b.Parent}, p)
	}
	return out.entry.state, err
}

// stopChildren has the children end that a timer of their parent leaves alone. A state
// that knows the commit behind the timer knows all of them, however old it is: no
// other call gets one. In a child whose log is damaged nothing goes on.
func (o *Orchestrator) stopChildren(ctx context.Context, t protocol.Timer, name protocol.TimerName, p patience) error {
	if o.isStopping() {
		return errStopping
	}
	e, fresh, err := o.load(ctx, t.Key())
	if err == nil && !fresh && e.state.Rev() < t.Rev {
		e, err = o.fresh(ctx, t.Key())
	}
	if err != nil {
		return err
	}
	for _, b := range e.state.Abandoned(name) {
		if _, err := o.bear(ctx, t.Tenant, b, p); err != nil && !isStopped(err) {
			return fmt.Errorf("child of call %s: %w", b.Parent.Call, err)
		}
	}
	return nil
}

// handOver is what a child has said as its parent can keep it: text in its place, and
// images and files among the parent's own content.
func (o *Orchestrator) handOver(ctx context.Context, child, parent events.Key, said []events.Part, p patience) ([]events.Part, error) {
	parts := slices.Clone(said)
	for i, part := range parts {
		if part.Blob == "" {
			continue
		}
		err := o.patiently(ctx, p, func() error {
			content, err := o.blob(ctx, child, part.Blob)
			switch {
			case err != nil:
				return err
			case isStored(part):
				parts[i] = part.Attach(content)
				return nil
			}
			return o.putBlob(ctx, parent, chat.Content{Digest: part.Blob, Bytes: content})
		})
		switch {
		case errors.Is(err, protocol.ErrNotFound), errors.Is(err, protocol.ErrDamaged):
			parts[i] = events.Text(saidLost)
		case err != nil:
			return nil, err
		}
	}
	return parts, nil
}
