package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Letter is a command that nobody could decide, as it lies in DEAD.
type Letter struct {
	Key      events.Key
	Command  string // its id
	Verb     string
	By       string    // who the sender said it is
	Why      string    // why it was set aside
	At       time.Time // when, for the last time
	Times    int       // how often it was set aside
	Tries    int       // tries that were noted before and not taken back; few are
	Subject  string    // where it was published
	Sequence uint64    // its sequence in COMMANDS
	Bytes    int       // size of its body

	newest uint64   // sequence in DEAD of the newest copy
	kept   []uint64 // sequences in DEAD of all copies and notes, in order
}

// Letters are the commands that were set aside, for a person to look at and to
// settle. Safe for concurrent use.
type Letters struct{ c *connection }

// OpenLetters gives the letters of a server. The connection stays the caller's
// to close, after [Letters.Close].
func OpenLetters(nc *nats.Conn, o Options) (*Letters, error) {
	c, err := newConnection(nc, o)
	if err != nil {
		return nil, err
	}
	return &Letters{c: c}, nil
}

// Close ends what the letters hold. Their methods must have returned.
func (d *Letters) Close() { d.c.close() }

// List gives the letters of one chat, or of those that [protocol.Any] as tenant
// or chat stands for: one for each command, the one set aside first in front.
func (d *Letters) List(ctx context.Context, k events.Key) ([]Letter, error) {
	found := map[letterKey]*Letter{}
	var order []letterKey
	for last := uint64(0); ; {
		m, err := d.c.leader(ctx, DeadStream, get{Next: protocol.DeadSubject(k), Sequence: last + 1})
		if errors.Is(err, protocol.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("list what was set aside: %w", err)
		}
		last = m.Sequence
		key, err := protocol.ParseChatSubject(m.Subject)
		if err != nil || m.Get(deadCommand) == "" {
			continue // no orchestrator stored it
		}
		id := letterKey{key, m.Get(deadCommand)}
		l := found[id]
		if l == nil {
			l = &Letter{Key: key, Command: id.command}
			found[id] = l
			order = append(order, id)
		}
		l.add(m)
	}
	var letters []Letter
	for _, id := range order {
		if l := found[id]; l.Times > 0 { // else it is still being tried
			letters = append(letters, *l)
		}
	}
	return letters, nil
}

type letterKey struct {
	key     events.Key
	command string
}

// add counts one message of DEAD to its letter.
func (l *Letter) add(m protocol.Stored) {
	l.kept = append(l.kept, m.Sequence)
	if n, err := strconv.Atoi(m.Get(deadNote)); err == nil {
		l.Tries = n
		return
	}
	l.Times++
	l.newest, l.At, l.Bytes = m.Sequence, m.Time, len(m.Body)
	l.By, l.Why, l.Subject = m.Get(protocol.HeaderBy), m.Get(deadWhy), m.Get(deadSubject)
	l.Sequence, _ = strconv.ParseUint(m.Get(deadSequence), 10, 64) // 0 is "unknown"
	_, l.Verb, _ = protocol.ParseCommandSubject(l.Subject)         // likewise
}

// Body is the command as its client wrote it, or [protocol.ErrNotFound] if the
// letter was dropped since.
func (d *Letters) Body(ctx context.Context, l Letter) ([]byte, error) {
	m, err := d.c.leader(ctx, DeadStream, get{Sequence: l.newest})
	if err != nil {
		return nil, fmt.Errorf("read the letter of command %s: %w", l.Command, err)
	}
	return m.Body, nil
}

// Waits reports whether the command is still stored to be decided: it was set
// aside, and the no to it could not be written yet.
func (d *Letters) Waits(ctx context.Context, l Letter) (bool, error) {
	m, err := d.c.leader(ctx, CommandsStream, get{Next: protocol.CommandSubject(l.Key, protocol.Any), Sequence: l.Sequence})
	switch {
	case errors.Is(err, protocol.ErrNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for the stored command %s: %w", l.Command, err)
	}
	return m.Sequence == l.Sequence, nil
}

// Drop deletes the letter with all copies and notes that were there when it was
// listed; what came since stays. One that is gone is no error. The newest copy
// goes last: until then the letter is listed.
func (d *Letters) Drop(ctx context.Context, l Letter) error {
	order := slices.DeleteFunc(slices.Clone(l.kept), func(sequence uint64) bool { return sequence == l.newest })
	for _, sequence := range append(order, l.newest) {
		err := translate(d.c.remove(ctx, DeadStream, sequence), "drop the letter of command %s", l.Command)
		if err != nil && !errors.Is(err, protocol.ErrNotFound) {
			return err
		}
	}
	return nil
}
