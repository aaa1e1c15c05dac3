package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Commits name the sequences that their commands had in COMMANDS, and a chat
// takes a command with a sequence up to the last of them for one that it has
// decided. So COMMANDS must never count from a lower number than any commit
// names: new commands would be acknowledged and have no effect. It would do so
// when it was deleted and made again, or restored from an older moment than the
// log. The first is kept from happening here, the second noticed and mended.

const (
	// clocksApart is by how much the times that servers give to what they store
	// may disagree.
	clocksApart = 10 * time.Second

	// maxSkipped is how many numbers are skipped one by one. A backup that was
	// taken while the service ran lacks fewer.
	maxSkipped = 10_000

	skipVerb = "skip" // no verb: should an orchestrator get hold of it, it is refused
)

// NumberingError means that COMMANDS counts from lower numbers than the log
// names. Nothing should run on it: new commands would have no effect.
type NumberingError struct {
	Last  uint64 // number of the newest command
	Named uint64 // the highest that a commit names
	Why   string // it is not mended; empty if nobody tried
}

func (e *NumberingError) Error() string {
	what := fmt.Sprintf("stream %s has come to number %d, and the log names %d: it was restored from an older moment than the log, and new commands would have no effect",
		CommandsStream, e.Last, e.Named)
	if e.Why == "" {
		return what + ": run `everturn streams apply`"
	}
	return what + ": " + e.Why
}

// firstNumber is where a COMMANDS begins that is made for a log that has
// commits: at the time in microseconds. No stream before it has come so far,
// unless it stored more than a million commands a second.
func firstNumber(now time.Time) uint64 { return uint64(now.UnixMicro()) }

// hasCommits reports whether any of the log's streams ever held one.
func (t *Topology) hasCommits(have map[string]existing) bool {
	for _, a := range t.assets {
		if a.log && have[a.config.Name].last > 0 {
			return true
		}
	}
	return false
}

// numbering is the change that COMMANDS needs if it counts too low, else none.
// Where streams are missing nobody can say it yet.
func (t *Topology) numbering(ctx context.Context, js jetstream.JetStream, have map[string]existing) (Plan, error) {
	for _, a := range t.assets {
		if _, ok := have[a.config.Name]; !ok && (a.log || a.config.Name == CommandsStream) {
			return nil, nil
		}
	}
	if !t.hasCommits(have) {
		return nil, nil
	}
	c, err := newConnection(js.Conn(), Options{Domain: js.Options().Domain})
	if err != nil {
		return nil, err
	}
	defer c.close()
	err = c.checkNumbering(ctx, t.Shards())
	low, ok := errors.AsType[*NumberingError](err)
	if !ok {
		return nil, err
	}
	return Plan{{
		Action: Update, Stream: CommandsStream, low: low,
		Fields: []Field{{Name: "last sequence", From: fmt.Sprint(low.Last), To: fmt.Sprint(low.Named)}},
	}}, nil
}

// checkNumbering looks whether any commit names a higher number than COMMANDS
// has come to: a [*NumberingError].
//
// Such a commit was stored after the last command that is known here, as its own
// command came later still, unless COMMANDS was made anew or commands came after
// it was restored. So commits before that need not be read.
func (c *connection) checkNumbering(ctx context.Context, shards int) error {
	stream, err := c.js.Stream(ctx, CommandsStream)
	if err != nil {
		return translate(err, "check stream %s", CommandsStream)
	}
	info := stream.CachedInfo()
	since := info.State.LastTime
	if first := info.Config.FirstSeq; since.IsZero() && first > 0 { // made for a log that had commits, and empty since
		since = time.UnixMicro(int64(first)) //nolint:gosec // of firstNumber; another only makes the reading longer
	}
	logs := make([]*jetstream.StreamInfo, shards)
	for n := range logs {
		log, err := c.js.Stream(ctx, LogStream(n))
		if err != nil {
			return translate(err, "check stream %s", LogStream(n))
		}
		logs[n] = log.CachedInfo()
	}
	if remade(info, logs) {
		since = time.Time{}
	}
	var named uint64
	for n, log := range logs {
		highest, err := c.highestNamed(ctx, n, log.State.LastSeq, since.Add(-clocksApart))
		if err != nil {
			return fmt.Errorf("check the numbers of commands: %w", err)
		}
		named = max(named, highest)
	}
	if named <= info.State.LastSeq {
		return nil
	}
	// Commands came meanwhile, and were decided. Each had its number before.
	if info, err = stream.Info(ctx); err != nil {
		return translate(err, "check stream %s", CommandsStream)
	}
	if named <= info.State.LastSeq {
		return nil
	}
	return &NumberingError{Last: info.State.LastSeq, Named: named}
}

// remade reports whether COMMANDS was made when the log had commits already, by
// somebody who let it count from 1: then any of them can name a higher number than
// a command that came since.
func remade(commands *jetstream.StreamInfo, logs []*jetstream.StreamInfo) bool {
	return commands.Config.FirstSeq <= 1 && slices.ContainsFunc(logs, func(log *jetstream.StreamInfo) bool {
		first := log.State.FirstTime
		return !first.IsZero() && first.Before(commands.Created)
	})
}

// highestNamed is the highest number of a command that a shard's commits of the
// time since then name, up to that sequence.
func (c *connection) highestNamed(ctx context.Context, shard int, through uint64, since time.Time) (uint64, error) {
	stream, subjects := LogStream(shard), logSubjects(shard)
	question := get{Next: subjects, Sequence: 1}
	if !since.Before(time.Unix(0, 0)) {
		question = get{Next: subjects, Since: &since}
	}
	var highest uint64
	for after := uint64(0); after < through; question = (get{Next: subjects, Sequence: after + 1}) {
		m, err := c.leader(ctx, stream, question)
		if errors.Is(err, protocol.ErrNotFound) {
			break
		}
		if err != nil {
			return 0, err
		}
		highest, after = max(highest, commandNamed(m.Body)), m.Sequence
		more, err := c.batch(ctx, stream, subjects, after, through)
		if err != nil {
			return 0, err
		}
		for _, m := range more {
			highest, after = max(highest, commandNamed(m.Body)), m.Sequence
		}
	}
	return highest, nil
}

// commandNamed is the number of the command that caused a commit, 0 if none did.
// It also reads commits of releases to come, and skips what is none.
func commandNamed(commit []byte) uint64 {
	var named struct {
		Cause events.Cause `json:"cause"`
	}
	if err := json.Unmarshal(commit, &named); err != nil {
		return 0 // damage is for those to find who read chats
	}
	return named.Cause.Sequence
}

// skipNumbers stores and removes messages that mean nothing until COMMANDS has
// come as far as the log names. What is stored there stays as it is.
func skipNumbers(ctx context.Context, js jetstream.JetStream, low *NumberingError) error {
	if low.Named-low.Last > maxSkipped {
		low.Why = fmt.Sprintf("it is too old to be mended: delete it with `nats stream rm %s`, which loses what is stored in it, and apply again", CommandsStream)
		return low
	}
	c, err := newConnection(js.Conn(), Options{Domain: js.Options().Domain})
	if err != nil {
		return err
	}
	defer c.close()
	nothing := protocol.CommandSubject(events.Key{Tenant: "default", Chat: "-"}, skipVerb)
	for last := low.Last; last < low.Named; {
		if last, err = c.publish(ctx, &nats.Msg{Subject: nothing, Data: []byte("{}")}); err != nil {
			low.Why = fmt.Sprintf("numbers cannot be skipped: %v", err)
			return low
		}
		err = translate(c.remove(ctx, CommandsStream, last), "remove %d", last)
		if err != nil && !errors.Is(err, protocol.ErrNotFound) { // an orchestrator may have taken it
			return err
		}
	}
	return nil
}
