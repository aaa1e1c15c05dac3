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
	w, err := protocol.ReadChatWork(d.Subject(), d.Body())
	if err != nil {
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
// all of it follows from how both stand, and from a timer that is about to go on
// without the child and left it the word to stop. The parent's mailbox is not held
// while the child is looked at. If the parent is interrupted meanwhile it owes the
// child the next word.
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
		if err := o.dispatch(ctx, parent.state, p); err != nil {
			return err
		}
		return o.recall(ctx, w, parent.state, p)
	}
	birth.Stopped = birth.Stopped || w.What == protocol.WordStop
	child, born, err := o.bear(ctx, w.Tenant, birth, p)
	if err != nil {
		return fmt.Errorf("child of call %s: %w", w.Call, err)
	}
	if born && !birth.Stopped { // meanwhile a timer may have found no child, and its parent be gone
		if parent, err = o.fresh(ctx, w.Key()); err == nil {
			err = o.recall(ctx, w, parent.state, p)
		}
		if err != nil {
			return err
		}
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
// gives it as the leader has it, with all that it owes dispatched, and whether it was
// born by that. That the fence of a birth was missed only says that somebody else made
// the child.
func (o *Orchestrator) bear(ctx context.Context, tenant string, b chat.Birth, p patience) (child chat.State, born bool, err error) {
	k := protocol.ChildKey(events.Key{Tenant: tenant, Chat: b.Parent.Chat}, b.Parent.Call)
	out, err := o.settleInTurn(ctx, k, b, p)
	born = out.committed
	if err == nil && b.Stopped { // who made it may not have known that
		out, err = o.settleInTurn(ctx, k, chat.Recall{Parent: b.Parent}, p)
	}
	return out.entry.state, born, err
}

// recall has the child of a call end, if there is one, once its parent waits for it no
// more. The parent went on without it then, and does not owe it that any more: so the
// word that has it done stays until it is.
func (o *Orchestrator) recall(ctx context.Context, w protocol.ChatWork, parent chat.State, p patience) error {
	if !parent.Gone(w.Call) {
		return nil
	}
	_, err := o.settleInTurn(ctx, protocol.ChildKey(w.Key(), w.Call), chat.Recall{Parent: events.Parent{Chat: w.Chat, Call: w.Call}}, p)
	if err != nil {
		return fmt.Errorf("child of call %s, which is closed: %w", w.Call, err)
	}
	return nil
}

// stopChildren has the children end that a timer of their parent leaves alone. A state
// that knows the commit behind the timer knows all of them, however old it is: no
// other call gets one.
//
// A child that cannot be told does not hold up its parent: it is left a word, which is
// carried when it can be, see [Orchestrator.recall].
func (o *Orchestrator) stopChildren(
	ctx context.Context, d protocol.Delivery, t protocol.Timer, name protocol.TimerName, p patience,
) error {
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
	try, cancel := context.WithDeadline(ctx, p.until) // somebody may have the child's mailbox for longer
	defer cancel()
	for _, b := range e.state.Abandoned(name) {
		_, _, err := o.bear(try, t.Tenant, b, p)
		if err == nil {
			continue
		}
		if o.isStopping() || ctx.Err() != nil || !o.gaveUp(d, err) {
			return fmt.Errorf("child of call %s: %w", b.Parent.Call, err)
		}
		o.log.Warn("child not told in time that nobody waits for it", "chat", t.Key(), "call", b.Parent.Call, "error", err)
		word := protocol.ChatWork{
			V: protocol.Version, Tenant: t.Tenant, Chat: t.Chat, Rev: e.state.Rev(), What: protocol.WordStop, Call: b.Parent.Call,
		}
		if _, err := o.put(ctx, word); err != nil {
			return fmt.Errorf("word to the child of call %s: %w", b.Parent.Call, err)
		}
	}
	return nil
}

// gaveUp reports whether a timer goes on although a child could not be told, for that
// reason: nothing that happens soon would help, or a patience was spent on it, the last
// pause of which may be left out.
func (o *Orchestrator) gaveUp(d protocol.Delivery, err error) bool {
	return hopeless(err) || o.isFault(err) || errors.Is(err, errAgentsUnknown) || o.cfg.Clock().Sub(d.Stored()) > o.cfg.CommandTime/2
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
