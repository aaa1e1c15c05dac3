package orchestrator

import (
	"context"
	"errors"
	"fmt"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// decideInOrder sees to it that h's command, and every stored one of its chat
// before it, is decided, each in its turn. Nobody waits for another replica to
// do its part: what that one holds and has not decided is decided here.
//
// The result is the chat as the leader had it after h's command was decided. A
// [*protocol.RefusedError] means that it was decided with a no that is not on
// record.
func (o *Orchestrator) decideInOrder(ctx context.Context, h *handling, p patience) (chat.State, error) {
	e, fresh, err := o.load(ctx, h.key)
	from := uint64(0)
	for n := 0; ; {
		if err == nil {
			var at position
			at, err = o.decideNext(ctx, h, position{entry: e, fresh: fresh, from: from}, p)
			if err == nil && at.done {
				return at.entry.state, nil
			}
			if err == nil {
				e, fresh, from = at.entry, at.fresh, at.from
				continue
			}
		}
		_, refused := errors.AsType[*protocol.RefusedError](err)
		switch {
		case errors.Is(err, errMoved), errors.Is(err, errNotFresh):
		case refused, hopeless(err), errors.Is(err, errUnsettled), !o.again(ctx, p, n):
			return chat.State{}, err
		default:
			n++
		}
		// The state first, then the commands: one that was decided and removed
		// in between is on record then, or its decision costs us the fence.
		e, err = o.fresh(ctx, h.key)
		fresh, from = true, 0
	}
}

// position is how far a handler has come with its chat's commands.
type position struct {
	entry entry
	fresh bool   // entry is the leader's word, given after the command came
	from  uint64 // first sequence not looked at
	done  bool
}

// errNotFresh means that a decision without a commit was made from a state that
// may be old.
var errNotFresh = errors.New("the state may be old")

// errUnsettled means that a command before this one is to make the chat out of
// what another one has left. That may be a no now and a yes in a moment, as the
// other is made, or grows, and a no leaves no record that two could agree by. So
// who has it in hand decides it, alone, and those behind it come again.
var errUnsettled = errors.New("whether the chat is made is not settled")

// decideNext looks at the chat's next stored command and decides it if nobody
// has.
func (o *Orchestrator) decideNext(ctx context.Context, h *handling, at position, p patience) (position, error) {
	// Those up to the last decided one are decided, whether or not who holds them
	// has acknowledged them yet; h's own is looked at all the same, for its answer.
	from := max(at.from, min(at.entry.state.Decided()+1, h.own.stored.Sequence))
	next, stored, err := o.firstStored(ctx, h, from)
	if err != nil {
		return position{}, err
	}
	recorded := at.entry.state.HasDecided(next.id)
	own := stored && next.stored.Sequence == h.own.stored.Sequence
	switch {
	case !stored || own && recorded: // it was decided: never decide it anew
		if !at.fresh {
			return position{}, errNotFresh
		}
		at.done = true
		return at, nil
	case recorded, next.refused != nil:
		// The same command stored twice; or its own delivery is answered with the
		// no, and it has no place in the order.
	default:
		at, err = o.decideStored(ctx, h, at, next, own, p)
	}
	at.from, at.done = next.stored.Sequence+1, own
	return at, err
}

// firstStored is the first stored command from a sequence on up to h's own;
// stored is false if not even that one is there any more.
func (o *Orchestrator) firstStored(ctx context.Context, h *handling, from uint64) (c command, stored bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
	defer cancel()
	m, err := o.bus.Commands.First(ctx, h.key, from)
	switch {
	case errors.Is(err, protocol.ErrNotFound):
		return command{}, false, nil
	case err != nil:
		return command{}, false, fmt.Errorf("read stored commands: %w", err)
	case m.Sequence > h.own.stored.Sequence:
		return command{}, false, nil
	case m.Sequence == h.own.stored.Sequence:
		return h.own, true, nil
	}
	c = identified(m)
	h.deciding = c.id
	c.read()
	h.deciding = ""
	return c, true, nil
}

// decideStored decides one command that nobody has decided. A no that leaves no
// record is an error only if the command is h's own.
func (o *Orchestrator) decideStored(
	ctx context.Context, h *handling, at position, c command, own bool, p patience,
) (position, error) {
	if !own && begins(c.message) && !at.entry.state.Exists() {
		if !at.fresh {
			return position{}, errNotFresh
		}
		return position{}, errUnsettled
	}
	message, err := c.message, error(nil)
	if !at.entry.state.EraseRequested() { // else the answer is no, whatever it says, and nothing of it may be kept
		message, err = o.judged(ctx, h, c, at.fresh)
	}
	if err != nil {
		return position{}, err
	}
	base, no := at.entry, (*protocol.RefusedError)(nil)
	h.deciding = c.id
	if begins(message) && !base.state.Exists() {
		base, message.History, no, err = o.takeOver(ctx, h, message.Body)
	}
	if err == nil {
		err = o.equip(ctx, h.key, base.state, &message, p)
	}
	if err == nil {
		err = o.agentsFor(base.state, message)
	}
	if err != nil { // what it needs is away
		h.deciding = ""
		o.survived(ctx, h, c)
		return position{}, err
	}
	now := o.at(base)
	d := chat.Decision{Refused: no}
	if no == nil {
		d = chat.Handle(base.state, message, now, o.live(h.key.Tenant))
	}
	if len(d.Events) == 0 {
		h.deciding = ""
		if h.noted == c.id { // deciding it did no harm, whatever comes of it
			o.survived(ctx, h, c)
		}
		switch {
		case !at.fresh:
			return position{}, errNotFresh
		case own && d.Refused != nil:
			return at, o.stillRefused(ctx, h, at, d.Refused)
		}
		return at, nil
	}
	w := proposal{key: h.key, message: message, at: now, decision: d, trace: c.stored.Get(protocol.HeaderTraceparent)}
	e, err := o.commit(ctx, base, w, p)
	if errors.Is(err, errTooLarge) {
		return position{}, err // the fault is c's
	}
	h.deciding = ""
	if err != nil {
		o.survived(ctx, h, c)
		return position{}, err
	}
	o.faults.forget(c.id)
	if !own {
		o.metrics.helped.Add(ctx, 1)
	}
	o.tell(ctx, h.key, message, e.state, d.Events)
	return position{entry: e, fresh: true, from: at.from}, nil
}

// equip gives a message what deciding it takes of the outside.
func (o *Orchestrator) equip(ctx context.Context, k events.Key, s chat.State, m *chat.Command, p patience) (err error) {
	if s.EraseRequested() {
		return nil
	}
	if m.Unfit, err = o.unfit(ctx, k, *m, p); err != nil {
		return err
	}
	m.Schemas, err = o.judging(ctx, s, *m, p)
	return err
}

// stillRefused gives the no back if the chat is as it was. No fence guards a no
// without a commit: a command before this one may have been decided, and
// removed, after the state was read and before the stored commands were.
func (o *Orchestrator) stillRefused(ctx context.Context, h *handling, at position, no *protocol.RefusedError) error {
	now, err := o.fresh(ctx, h.key)
	switch {
	case err != nil:
		return err
	case now.sequence != at.entry.sequence:
		return errMoved
	}
	return no
}

// judged is the message that c is decided as: itself, or, after too many
// faults, one that is rejected unread. What it keeps of a chat stays if that was
// erased meanwhile, so it does so only by the leader's word that it is not.
func (o *Orchestrator) judged(ctx context.Context, h *handling, c command, fresh bool) (chat.Command, error) {
	known := o.faults.of(c.id)
	given := known.faults
	note := given < maxFaults && !known.survived && h.delivery.Count() >= durableFrom
	if !fresh && (note || given >= maxFaults) {
		return chat.Command{}, errNotFresh
	}
	if note {
		try, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
		defer cancel()
		n, err := o.bus.Dead.Note(try, h.key, c.id)
		if err != nil {
			return chat.Command{}, fmt.Errorf("note a try: %w", err)
		}
		h.noted = c.id
		given = max(given, n-1) // the notes before this one are tries that did not end well
	}
	if given < maxFaults {
		return c.message, nil
	}
	try, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
	defer cancel()
	why := fmt.Sprintf("deciding it failed %d times", given)
	if err := o.bus.Dead.Put(try, h.key, c.stored, c.id, why); err != nil {
		return chat.Command{}, fmt.Errorf("set a command aside: %w", err)
	}
	o.metrics.undelivered.Add(ctx, 1)
	o.log.Error("command set aside", "chat", h.key, "command", c.id, "why", why)
	aside := c.message
	aside.Undeliverable, aside.Verb, aside.Body = true, c.message.Body.Verb(), nil
	return aside, nil
}

// survived says that deciding c did no harm although nothing came of it: what
// its commit needed is away.
func (o *Orchestrator) survived(ctx context.Context, h *handling, c command) {
	o.faults.survive(c.id)
	if h.noted != c.id {
		return
	}
	h.noted = ""
	try, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
	defer cancel()
	if err := o.bus.Dead.Forgive(try, h.key, c.id); err != nil {
		o.log.Warn("a try of a command counts although it did no harm", "chat", h.key, "command", c.id, "error", err)
	}
}
