package streams

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Headers of messages in DEAD.
const (
	deadCommand  = "Everturn-Dead-Command"  // id of the command
	deadWhy      = "Everturn-Dead-Why"      // why it was set aside; a note has none
	deadSubject  = "Everturn-Dead-Subject"  // where it was published
	deadSequence = "Everturn-Dead-Sequence" // its sequence in COMMANDS
	deadNote     = "Everturn-Dead-Note"     // of a note: how many tries count
)

// noteConflictPause is between two tries to note something when somebody else
// notes something about the same chat.
const noteConflictPause = 2 * time.Millisecond

// Dead keeps commands that nobody could decide, and the notes that lead there.
// It implements the dead port of orchestrators.
type Dead struct{ c *connection }

// Put stores a copy of the message with the reason. Of its headers only ours
// are kept: the others could mean something to the server.
func (d *Dead) Put(ctx context.Context, k events.Key, m protocol.Stored, command, why string) error {
	header := nats.Header{
		deadCommand:  {command},
		deadWhy:      {oneLine(why)},
		deadSubject:  {m.Subject},
		deadSequence: {strconv.FormatUint(m.Sequence, 10)},
	}
	for _, key := range []string{protocol.HeaderID, protocol.HeaderBy, protocol.HeaderTraceparent} {
		if value := m.Get(key); value != "" {
			header[key] = []string{value}
		}
	}
	_, err := d.c.publish(ctx, &nats.Msg{Subject: protocol.DeadSubject(k), Header: header, Data: m.Body})
	return translate(err, "set command %s of %s aside", command, k)
}

// Note durably counts one try to decide a command, and gives the count with it.
// The fence makes it exact also when several replicas try.
func (d *Dead) Note(ctx context.Context, k events.Key, command string) (int, error) {
	n, err := d.note(ctx, k, command, +1)
	if err != nil {
		return 0, fmt.Errorf("note a try of command %s: %w", command, err)
	}
	return n, nil
}

// Forgive takes one note back: the try did its process no harm.
func (d *Dead) Forgive(ctx context.Context, k events.Key, command string) error {
	if _, err := d.note(ctx, k, command, -1); err != nil {
		return fmt.Errorf("forgive a try of command %s: %w", command, err)
	}
	return nil
}

// note changes how many tries count and gives their number.
func (d *Dead) note(ctx context.Context, k events.Key, command string, change int) (int, error) {
	for {
		count, fence, err := d.count(ctx, k, command)
		if err != nil {
			return 0, err
		}
		count = max(count+change, 0)
		_, err = d.c.publish(ctx, &nats.Msg{Subject: protocol.DeadSubject(k), Header: nats.Header{
			fenceHeader: {strconv.FormatUint(fence, 10)},
			deadCommand: {command},
			deadNote:    {strconv.Itoa(count)},
		}})
		if !conflict(err) {
			return count, translate(err, "publish the note")
		}
		sleep(ctx, noteConflictPause)
		if err := ctx.Err(); err != nil {
			return 0, translate(err, "publish the note")
		}
	}
}

// count is the newest count noted for a command, and the last sequence of all
// that is kept of its chat: little, and read seldom.
func (d *Dead) count(ctx context.Context, k events.Key, command string) (count int, last uint64, err error) {
	for {
		m, err := d.c.leader(ctx, DeadStream, get{Next: protocol.DeadSubject(k), Sequence: last + 1})
		if errors.Is(err, protocol.ErrNotFound) {
			return count, last, nil
		}
		if err != nil {
			return 0, 0, err
		}
		last = m.Sequence
		if n, err := strconv.Atoi(m.Get(deadNote)); err == nil && m.Get(deadCommand) == command {
			count = n
		}
	}
}

// oneLine makes text a header's value.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
