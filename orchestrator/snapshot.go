package orchestrator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/s2"
)

// Limits of snapshots.
const (
	maxSnapshotBytes     = 900 << 10 // stored; the server's message limit leaves room for headers
	maxStateBytes        = 64 << 20  // unpacked
	commitsPerSnapshot   = 64
	snapshotsThatWait    = 4096     // more are not written
	maxWaitingBytes      = 64 << 20 // of the commits that the waiting ones are of, if they are several
	fromSnapshot         = "snapshot"
	fromStart            = "start"
	minWorthwhileCommits = 2 // reading fewer costs no more than reading a snapshot

	// snapshotDelay is between a state and its snapshot, so that a busy chat is
	// not written at each of its turns. Who loads it meanwhile reads a longer tail.
	snapshotDelay = 2 * time.Second

	// maxSnapshotAge is how old a state may be when it is written. Of an older one the
	// chat may be erased, and its snapshots deleted: nobody would delete this one.
	maxSnapshotAge = events.EraseDelay / 2
)

// snapshot is a folded state as the store holds it. It is believed when the
// commit at Seq in the log turns out to have Hash. Rules and PromptRules are those its writer knew: a
// state may hold turns that ran under them.
type snapshot struct {
	Seq         uint64         `json:"seq"`
	Rev         uint64         `json:"rev"`
	Hash        string         `json:"hash"`
	Rules       int            `json:"rules"`
	PromptRules int            `json:"prompt_rules"`
	Sum         uint32         `json:"sum"` // of all the others: nothing else would tell that a byte is another one
	State       jsontext.Value `json:"state"`
}

// checksum is of everything but itself.
func (s snapshot) checksum() uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	head := fmt.Sprintf("%d %d %s %d %d ", s.Seq, s.Rev, s.Hash, s.Rules, s.PromptRules)
	return crc32.Update(crc32.Checksum([]byte(head), table), table, s.State)
}

// packer makes snapshots. What it gives is good until it makes the next.
type packer struct{ plain, stored []byte }

// maxPackerBytes bounds what a packer keeps for the next snapshot.
const maxPackerBytes = 1 << 20

// pack is the snapshot of e as it is stored.
func (p *packer) pack(e entry) ([]byte, error) {
	state, err := chat.Encode(e.state)
	if err != nil {
		return nil, err
	}
	head := snapshot{
		Seq: e.sequence, Rev: e.state.Rev(), Hash: e.state.Prev(), Rules: chat.Rules, PromptRules: chat.PromptRules, State: state,
	}
	head.Sum = head.checksum()
	head.State = nil
	b, err := jsonv2.Marshal(head)
	if err != nil {
		return nil, fmt.Errorf("encode snapshot: %w", err)
	}
	// The state is JSON, and the last of all: to have it looked at again would cost as much as making it.
	p.plain = append(p.plain[:0], bytes.TrimSuffix(b, []byte("null}"))...)
	p.plain = append(append(p.plain, state...), '}')
	p.stored = slices.Grow(p.stored[:0], s2.MaxEncodedLen(len(p.plain)))
	stored := s2.Encode(p.stored[:cap(p.stored)], p.plain)
	if len(p.plain) > maxPackerBytes {
		*p = packer{}
	}
	return stored, nil
}

// unpacked is the inverse of packed. Its entry is not believed yet.
func unpacked(content []byte) (entry, error) {
	if n, err := s2.DecodedLen(content); err != nil || n > maxStateBytes {
		return entry{}, fmt.Errorf("decode snapshot: %d bytes unpacked: %w", n, err)
	}
	b, err := s2.Decode(nil, content)
	if err != nil {
		return entry{}, fmt.Errorf("decode snapshot: %w", err)
	}
	var s snapshot
	if err := jsonv2.Unmarshal(b, &s); err != nil {
		return entry{}, fmt.Errorf("decode snapshot: %w", err)
	}
	if s.Rules > chat.Rules || s.PromptRules > chat.PromptRules {
		return entry{}, errors.New("decode snapshot: a newer release wrote it")
	}
	if s.Sum != s.checksum() {
		return entry{}, errors.New("decode snapshot: its bytes are not those that were stored")
	}
	state, err := chat.Decode(s.State)
	if err != nil {
		return entry{}, err
	}
	if s.Seq == 0 || s.Rev == 0 || state.Rev() != s.Rev || state.Prev() != s.Hash {
		return entry{}, errors.New("decode snapshot: its state is not the one it names")
	}
	return entry{state: state, sequence: s.Seq, bytes: int64(len(s.State))}, nil
}

// ReadSnapshot is the state that a stored snapshot holds. The error is why no
// orchestrator of this release would use it.
func ReadSnapshot(content []byte) (chat.State, error) {
	e, err := unpacked(content)
	return e.state, err
}

// snapshot gives the stored snapshot of a chat, or an empty entry; and which of
// the two it is. Whatever is wrong with a snapshot, the log has it all.
func (o *Orchestrator) snapshot(ctx context.Context, k events.Key) (e entry, from string) {
	try, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
	defer cancel()
	content, err := o.bus.Snapshots.Get(try, k, chat.FoldVersion)
	if errors.Is(err, protocol.ErrNotFound) {
		return entry{}, fromStart
	}
	if err == nil {
		e, err = unpacked(content)
	}
	if err == nil && e.state.Key() != k {
		err = errors.New("snapshot of another chat")
	}
	if err != nil {
		o.log.Warn("snapshot not used", "chat", k, "error", err)
		return entry{}, fromStart
	}
	return e, fromSnapshot
}

// snapshots are the states to be written, each chat's newest, in the order in
// which the chats came.
type snapshots struct {
	order chan offered

	mu     sync.Mutex
	newest map[events.Key]waiting
	bytes  int64 // of the commits of newest
}

// waiting is a state that is to be written.
type waiting struct {
	entry entry
	since time.Time // when it was the chat's newest
}

type offered struct {
	key events.Key
	at  time.Time
}

func newSnapshots() *snapshots {
	return &snapshots{order: make(chan offered, snapshotsThatWait), newest: make(map[events.Key]waiting)}
}

// offer is to be told each state worth a snapshot; false if too many wait.
func (s *snapshots) offer(e entry) bool {
	k := e.state.Key()
	s.mu.Lock()
	defer s.mu.Unlock()
	known, waits := s.newest[k]
	if !waits {
		if len(s.newest) > 0 && s.bytes+e.bytes > maxWaitingBytes {
			return false
		}
		select {
		case s.order <- offered{key: k, at: time.Now()}:
		default:
			return false
		}
	}
	s.newest[k] = waiting{entry: e, since: time.Now()}
	s.bytes += e.bytes - known.entry.bytes
	return true
}

// take gives the chat's newest state, once.
func (s *snapshots) take(k events.Key) waiting {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.newest[k]
	delete(s.newest, k)
	s.bytes -= w.entry.bytes
	return w
}

// offerSnapshot hands a state over to be written when a turn has ended, and
// every so many commits. It never waits: a snapshot is worth no delay.
func (o *Orchestrator) offerSnapshot(ctx context.Context, e entry, list []events.Event) {
	if e.state.EraseRequested() || e.state.Rev() < minWorthwhileCommits || e.state.Rev()%commitsPerSnapshot != 0 && !endsTurn(list) {
		return
	}
	if !o.snapshots.offer(e) {
		o.metrics.unsnapped.Add(ctx, 1)
	}
}

func endsTurn(list []events.Event) bool {
	for _, e := range list {
		switch e.(type) {
		case events.TurnCompleted, events.TurnFailed, events.TurnInterrupted:
			return true
		}
	}
	return false
}

// writeSnapshots writes what is offered until ctx ends.
func (o *Orchestrator) writeSnapshots(ctx context.Context) {
	var p packer
	for {
		select {
		case next := <-o.snapshots.order:
			if !pause(ctx, time.Until(next.at.Add(snapshotDelay))) {
				return
			}
			w := o.snapshots.take(next.key)
			if time.Since(w.since) > maxSnapshotAge {
				o.metrics.unsnapped.Add(ctx, 1)
				continue
			}
			o.writeSnapshot(ctx, &p, w.entry)
		case <-ctx.Done():
			return
		}
	}
}

func (o *Orchestrator) writeSnapshot(ctx context.Context, p *packer, e entry) {
	k := e.state.Key()
	content, err := p.pack(e)
	if err == nil && len(content) > maxSnapshotBytes {
		err = fmt.Errorf("%d bytes, at most %d are stored", len(content), maxSnapshotBytes)
	}
	if err == nil {
		try, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
		defer cancel()
		err = o.bus.Snapshots.Put(try, k, chat.FoldVersion, content)
	}
	if ctx.Err() != nil {
		return // what a stop leaves unwritten is only a cache
	}
	if err != nil {
		o.metrics.unsnapped.Add(ctx, 1)
		o.log.Warn("snapshot not written", "chat", k, "rev", e.state.Rev(), "error", err)
		return
	}
	o.metrics.snapshots.Add(ctx, 1)
}
