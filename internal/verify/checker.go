// Package verify judges logs: it reads commits and says which rules they break.
//
// It is a judgement of its own. It does not ask package chat what should have
// been decided; it states what must hold whatever was decided. Only three rules
// fold the log with chat, because they are about that fold: what the model was
// shown (I16), that a snapshot and the rest give the same (I19), and that the
// clock has no say (I20).
//
// [Rules] lists all twenty, and says what is still to come. A commit with an event
// that this release does not know is not judged but told, see [Unread].
//
// Most rules are about one chat. That a child and its parent say the same of each
// other is judged where both are read.
package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Windows within which repetition is seen. A command's id is remembered as long
// as a chat itself remembers its outcome, and with the chat's folded state for ever.
const (
	recentCommits  = 1 << 16 // ids of commits, over all chats
	recentCommands = 256     // ids of decided commands, per chat
	recentInputs   = 64      // settled inputs, per chat
	recentSettings = 64      // recorded settings, per chat
	recentTurns    = 64      // ended turns, per chat

	// maxPerRule bounds what is reported of one rule in one chat: past it, nothing
	// new is learned. No rule keeps another from being reported.
	maxPerRule = 25
)

// Options choose how much is judged. The zero value is a log that may still be
// growing, without its stream's number of shards and without its content.
type Options struct {
	// Idle says that everything has come to rest: whatever is still open when
	// Finish is called is a violation.
	Idle bool

	// Shards is the number of LOG streams; with it, each subject must name the
	// right one. 0 leaves that unjudged.
	Shards int

	// SkipFold leaves out what needs the chats' folded states: I16, I19, and the
	// clock's part of I20. Without them memory no longer grows with content.
	SkipFold bool

	// Snapshot gives the stored snapshot of a chat, as [chat.Encode] wrote it, or
	// nothing if there is none. Nil means that snapshots are judged only as far
	// as one made on the way goes.
	Snapshot func(events.Key) []byte

	// Effects is the ledger of what tools really did, in order. Nil judges none.
	Effects []Effect

	// Blob gives content that is referred to by its digest, to be hashed. Nil
	// means that only the form of the references is judged. Any error means that
	// the content is missing or damaged, unless it wraps [ErrNotSeen].
	Blob func(events.Key, events.Digest) ([]byte, error)

	// Schema gives the JSON Schema that a tool's manifest has for arguments. Nil,
	// or an error, leaves it unjudged whether arguments fit.
	Schema func(manifest events.Digest) (json.RawMessage, error)
}

// ErrNotSeen is for a Blob that could not look: nothing is reported then.
var ErrNotSeen = errors.New("content not seen")

// Entry is a commit as it lies in a stream.
type Entry struct {
	Subject  string
	Sequence uint64
	Commit   []byte
}

// Checker reads the commits of any number of chats, interleaved in any way, each
// chat's in order, once. It holds what is open in each chat and little else.
// It is not safe for concurrent use.
type Checker struct {
	options  Options
	chats    map[events.Key]*history
	families families
	commits  *recent[commitPlace]
	schemas  *schemas
	unread   []Unread
	found    []Violation
}

type commitPlace struct {
	key events.Key
	at  Place
}

// Unread is a commit that a newer release wrote, or the first one of a chat that
// goes on from a history which cannot be read. Its chat is not judged from there
// on.
type Unread struct {
	Chat     events.Key
	Sequence uint64
	Err      error
}

// New is a checker that has read nothing.
func New(o Options) *Checker {
	return &Checker{
		options:  o,
		chats:    make(map[events.Key]*history),
		families: make(families),
		commits:  newRecent[commitPlace](recentCommits),
		schemas:  newSchemas(o.Schema),
	}
}

// Add reads the next commit and gives the rules it breaks.
func (c *Checker) Add(e Entry) []Violation {
	before := len(c.found)
	c.add(e)
	return slices.Clone(c.found[before:])
}

// Violations is everything found so far, in the order of finding.
func (c *Checker) Violations() []Violation { return slices.Clone(c.found) }

// Unread lists the commits behind which nothing was judged.
func (c *Checker) Unread() []Unread { return slices.Clone(c.unread) }

// Chats lists the chats read, sorted.
func (c *Checker) Chats() []events.Key {
	return slices.SortedFunc(maps.Keys(c.chats), events.Key.Compare)
}

func (c *Checker) add(e Entry) {
	shard, key, err := protocol.ParseLogSubject(e.Subject)
	if err != nil {
		c.found = append(c.found, Violation{Rule: RuleTenants, Sequence: e.Sequence, Detail: err.Error()})
		return
	}
	h := c.history(key)
	if h.newer {
		return
	}
	commit, err := events.Decode(e.Commit)
	if version := (*events.VersionError)(nil); errors.As(err, &version) {
		h.newer = true
		c.unread = append(c.unread, Unread{Chat: key, Sequence: e.Sequence, Err: err})
		return
	}
	h.here = Place{Rev: h.last.Rev + 1, Sequence: e.Sequence}
	if err != nil {
		h.breaks(RuleChain, h.last, "%v", err)
		return
	}
	h.here.Rev = commit.Rev
	if want := c.options.Shards; want > 0 && shard != protocol.Shard(key, want) {
		h.breaks(RuleTenants, Place{}, "subject names shard %d, the chat belongs to %d", shard, protocol.Shard(key, want))
	}
	c.commitID(h, commit)
	if first, ok := commit.Events[0].(events.ChatInherited); ok && !h.last.known() {
		if err := h.inherit(first); err != nil {
			h.newer = true
			c.unread = append(c.unread, Unread{Chat: key, Sequence: e.Sequence, Err: err})
			return
		}
	}
	h.read(commit, e)
	c.settle(h)
}

func (c *Checker) commitID(h *history, commit events.Commit) {
	if commit.ID == "" {
		h.breaks(RuleCommands, Place{}, "the commit has no id")
		return
	}
	if other, ok := c.commits.get(commit.ID); ok {
		where := "of this chat"
		if other.key != h.key {
			where = "of chat " + other.key.String()
		}
		h.breaks(RuleCommands, other.at, "commit id %s is that of an earlier commit %s", commit.ID, where)
	}
	c.commits.put(commit.ID, commitPlace{key: h.key, at: h.here})
}

func (c *Checker) history(k events.Key) *history {
	h, ok := c.chats[k]
	if !ok {
		h = newHistory(k, c.options, c.schemas, &c.found)
		h.kin = c.families
		c.chats[k] = h
	}
	return h
}

// StoredCommand is a command that still lies in COMMANDS.
type StoredCommand struct {
	Key      events.Key
	ID       string
	Sequence uint64
}

// Finish judges what only the end shows, and gives everything found from first
// to last. Nothing can be added after it. Stored are the commands not yet
// deleted; they are judged with Options.Idle only.
func (c *Checker) Finish(stored []StoredCommand) []Violation {
	keys := c.Chats()
	for _, k := range keys {
		c.chats[k].fold.finish(c.chats[k])
	}
	c.kindred()
	if c.options.Idle {
		for _, k := range keys {
			c.chats[k].rest()
		}
		for _, s := range stored {
			c.stored(s)
		}
	}
	c.effects()
	return c.Violations()
}

// stored judges a command that is left when everything is at rest. Commands take
// effect in the order they were stored, so one at or before the newest decided
// has been decided too, and should be gone.
func (c *Checker) stored(s StoredCommand) {
	h, ok := c.chats[s.Key]
	if !ok || h.newer {
		return // to a chat that does not exist: answered without a log
	}
	h.here = h.last
	if at, decided := h.commands.get(s.ID); decided {
		h.breaks(RuleCommands, at, "command %s was decided and is still stored", s.ID)
	} else if s.Sequence <= h.command.sequence {
		h.breaks(RuleCommands, h.command.at, "command %s, sequence %d, is still stored, though sequence %d was decided",
			s.ID, s.Sequence, h.command.sequence)
	}
}

func describe(id fmt.Stringer, what string) string { return what + " " + id.String() }
