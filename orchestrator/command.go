package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// maxByBytes bounds who a sender may say it is.
const maxByBytes = 256

// command is a stored command, read.
type command struct {
	id      string
	message chat.Command
	stored  protocol.Stored
	refused *protocol.RefusedError // every replica would refuse it for ever
}

// identified is a stored command with its id, not read yet.
func identified(m protocol.Stored) command {
	c := command{stored: m}
	id, err := protocol.CommandID(m.Get(protocol.HeaderID), m.Time, m.Sequence)
	if err != nil {
		id = protocol.DerivedCommandID(m.Time, m.Sequence)
		c.refuse(err)
	}
	c.id = id
	return c
}

// read takes the command apart. What is wrong with it stands in refused.
func (c *command) read() {
	_, verb, err := protocol.ParseCommandSubject(c.stored.Subject)
	if err != nil {
		c.refuse(err)
	}
	c.message = chat.Command{
		ID: c.id, Sequence: c.stored.Sequence, Verb: protocol.Verb(verb), By: events.RepairText(c.stored.Get(protocol.HeaderBy)),
	}
	if len(c.message.By) > maxByBytes {
		c.refuse(fmt.Errorf("header %s: at most %d bytes are allowed", protocol.HeaderBy, maxByBytes))
	}
	if c.refused == nil {
		c.message.Body, err = protocol.DecodeCommand(verb, c.stored.Body)
		c.refuse(err)
	}
}

// refuse remembers the first thing that is wrong with the command.
func (c *command) refuse(err error) {
	if err == nil || c.refused != nil {
		return
	}
	if !errors.As(err, &c.refused) {
		c.refused = &protocol.RefusedError{Code: events.CodeBadCommand, Detail: err.Error()}
	}
}

// handling is one delivery of a command in hand.
type handling struct {
	delivery protocol.Delivery
	key      events.Key
	own      command
	taken    time.Time
	deciding string // id of the command being decided, while one is: a panic is counted against it
	noted    string // id of the command whose try was noted
}

// takeCommand puts a command into its chat's mailbox, that was taken at that time.
func (o *Orchestrator) takeCommand(ctx context.Context, d protocol.Delivery, taken time.Time, done func()) {
	k, _, _ := protocol.ParseCommandSubject(d.Subject()) // a wrong one is refused when it is read
	h := &handling{delivery: d, key: k, taken: taken, own: identified(storedOf(d))}
	o.boxes.post(k, task{
		run:  func() error { return o.handleCommand(ctx, h) },
		done: func(err error) { o.endCommand(ctx, h, err); done() },
	})
}

// storedOf is a delivered command as it lies in the stream.
func storedOf(d protocol.Delivery) protocol.Stored {
	m := protocol.Stored{Subject: d.Subject(), Sequence: d.Sequence(), Time: d.Stored(), Body: d.Body(), Header: map[string][]string{}}
	for _, key := range []string{protocol.HeaderID, protocol.HeaderBy, protocol.HeaderTraceparent} {
		if v := d.Header(key); v != "" {
			m.Header[key] = []string{v}
		}
	}
	return m
}

// handleCommand does for a delivered command all that it causes, answers and
// acknowledges.
func (o *Orchestrator) handleCommand(ctx context.Context, h *handling) error {
	if o.isStopping() {
		return errStopping
	}
	p := o.commandPatience(h.taken)
	if time.Now().After(p.until) {
		return errTooLate // others shall have the room
	}
	h.deciding = h.own.id
	h.own.read()
	h.deciding = ""
	if h.own.refused != nil {
		return o.refuse(ctx, h, h.own.refused)
	}
	s, err := o.decideInOrder(ctx, h, p)
	if refused, ok := errors.AsType[*protocol.RefusedError](err); ok {
		return o.refuse(ctx, h, refused)
	}
	if stopped, ok := errors.AsType[*stoppedError](err); ok {
		return o.refuse(ctx, h, &protocol.RefusedError{Code: events.CodeChatStopped, Detail: stopped.why})
	}
	if err != nil {
		return err
	}
	if err := o.dispatch(ctx, s, p); err != nil {
		return err
	}
	if reply, ok := s.Outcome(h.own.id); ok {
		o.reply(ctx, h.key, reply)
	}
	return o.ack(ctx, h.delivery)
}

// refuse answers a command with a no that leaves no trace in the log. It is told when
// the command is gone: one that came again might be a yes by then, as what it names
// has been made, and nobody is told both.
func (o *Orchestrator) refuse(ctx context.Context, h *handling, no *protocol.RefusedError) error {
	if err := o.ack(ctx, h.delivery); err != nil {
		return err
	}
	o.metrics.rejected.add(ctx, string(no.Code))
	if h.key.ValidateTenant() == nil { // else nobody can have listened
		o.reply(ctx, h.key, protocol.Reply{ID: h.own.id, Code: no.Code, Message: no.Detail})
	}
	return nil
}

// reply tells a command's outcome to whoever listens. It may be lost: a client
// that hears nothing asks for the record.
func (o *Orchestrator) reply(ctx context.Context, k events.Key, r protocol.Reply) {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
	defer cancel()
	if err := o.bus.Commands.Reply(ctx, k.Tenant, r); err != nil {
		o.log.Debug("reply not sent", "chat", k, "command", r.ID, "error", err)
	}
}

// endCommand says what becomes of a delivery that was not acknowledged.
func (o *Orchestrator) endCommand(ctx context.Context, h *handling, err error) {
	switch {
	case err == nil:
		return
	case errors.Is(err, errStopping):
	case o.isFault(err):
		if h.deciding != "" {
			o.faults.add(h.deciding)
		}
		o.fault(ctx, "command", h.key, err)
	case o.isVersion(ctx, err):
		o.log.Info("chat left to a newer release", "chat", h.key, "error", err)
	default:
		o.log.Warn("command given back", "chat", h.key, "command", h.own.id, "error", err)
	}
	o.giveBack(ctx, h.delivery)
}

// isFault reports whether err is our own failure and no fact of life.
func (o *Orchestrator) isFault(err error) bool {
	_, panicked := errors.AsType[*panicError](err)
	return panicked || errors.Is(err, errTooLarge)
}

// isVersion reports, and counts, that a newer release must handle the message.
func (o *Orchestrator) isVersion(ctx context.Context, err error) bool {
	_, version := errors.AsType[*events.VersionError](err)
	if version {
		o.metrics.versions.Add(ctx, 1)
	}
	return version
}

// fault counts and reports one.
func (o *Orchestrator) fault(ctx context.Context, where string, k events.Key, err error) {
	o.metrics.faults.add(ctx, where)
	if p, ok := errors.AsType[*panicError](err); ok {
		o.log.Error("fault", "where", where, "chat", k, "error", err, "stack", string(p.stack))
		return
	}
	o.log.Error("fault", "where", where, "chat", k, "error", err)
}
