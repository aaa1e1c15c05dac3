package replay

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// Options say what there is beside the log. The zero value is a log alone and
// the rules of this release.
type Options struct {
	// Blob gives content by its digest, Schema the JSON Schema for the arguments of
	// the tool with that manifest. Nil, or an error, means that there is none.
	Blob   func(events.Key, events.Digest) ([]byte, error)
	Schema func(events.Digest) (json.RawMessage, error)

	// Rules are those to compare with. What is nil is that of package chat.
	Rules Rules
}

// Rules decide. They are pure.
type Rules struct {
	Decide  func(chat.State, chat.Message, events.Time, chat.Live) chat.Decision
	Advance func(chat.State, events.Time, chat.Live) []events.Event
}

// History is one chat's log, replayed commit by commit. It stops at the first
// difference: behind it both sides tell another story. It is not safe for
// concurrent use.
type History struct {
	options Options
	state   chat.State
	known   known
	schemas map[events.Digest]*chat.Schema // nil for one that cannot be had
	found   *Difference
	newer   error
	counted Counts

	// inherited is what the chat goes on from, until its first commit is folded.
	inherited *chat.History
}

// Counts are numbers of commits.
type Counts struct {
	Commits  int // read
	Believed int // of them those that only the log itself can speak for
}

// New is a history that has read nothing.
func New(o Options) *History {
	if o.Rules.Decide == nil {
		o.Rules.Decide = chat.Decide
	}
	if o.Rules.Advance == nil {
		o.Rules.Advance = chat.Advance
	}
	return &History{options: o, known: newKnown(), schemas: make(map[events.Digest]*chat.Schema)}
}

// Add replays the chat's next commit. After the first difference, or a commit of
// a newer release, it does nothing.
func (h *History) Add(sequence uint64, commit []byte) {
	if h.found != nil || h.newer != nil {
		return
	}
	c, err := events.Decode(commit)
	if isNewer(err) {
		h.newer = fmt.Errorf("sequence %d: %w", sequence, err)
		return
	}
	if err == nil && !h.state.Exists() {
		if first, ok := c.Events[0].(events.ChatInherited); ok {
			if err := h.begin(c.Key, first); err != nil {
				h.newer = fmt.Errorf("sequence %d: %w", sequence, err)
				return
			}
		}
	}
	h.counted.Commits++
	d := h.compare(c, err, commit)
	if d != nil {
		d.Chat, d.Sequence = h.state.Key(), sequence
		if d.Rev == 0 {
			d.Rev = h.state.Rev() + 1
		}
		h.found = d
	}
}

// Difference is the first one, nil if there is none.
func (h *History) Difference() *Difference { return h.found }

// Newer says from where on the log cannot be read, since only a newer release
// can, or since the history that it goes on from is not at hand; nil if all of it
// can.
func (h *History) Newer() error { return h.newer }

// Counts are how far the history has come.
func (h *History) Counts() Counts { return h.counted }

// State is the chat as folded so far.
func (h *History) State() chat.State { return h.state }

// compare judges one commit and folds it.
func (h *History) compare(c events.Commit, err error, raw []byte) (d *Difference) {
	if err != nil {
		return &Difference{Decided: "a commit", Logged: err.Error()}
	}
	defer func() {
		// Rules never judge a log, so one that is not legal can break them.
		if r := recover(); r != nil {
			d = &Difference{Rev: c.Rev, Logged: "what cannot be folded or decided upon", Decided: fmt.Sprint(r)}
		}
	}()
	cut := h.cut(c)
	if misplaced := h.place(c, cut); misplaced != nil {
		return misplaced
	}
	if cut {
		h.counted.Believed++
	} else if d := h.decided(c); d != nil {
		d.Rev = c.Rev
		return d
	}
	next := h.state.Apply(c, events.Hash(raw))
	if wrong := next.Wrong(); wrong != "" {
		return &Difference{Rev: c.Rev, Logged: "what makes no sense", Decided: wrong}
	}
	h.state = next
	h.known.read(c)
	h.inherited = nil
	return nil
}

// begin makes the history that a chat goes on from its past.
func (h *History) begin(k events.Key, first events.ChatInherited) error {
	inherited, err := inheritedBy(k, first, h.options.Blob)
	if err != nil {
		return err
	}
	h.inherited, h.state = inherited, inherited.State
	for _, c := range inherited.Commits {
		h.known.read(c.Commit)
	}
	return nil
}

// cut reports whether a commit is a tombstone, and what it was decided from is deleted.
func (h *History) cut(c events.Commit) bool {
	_, erased := c.Events[0].(events.ChatErased)
	return erased && c.Rev > h.state.Rev()+1
}

// place judges where the commit stands.
func (h *History) place(c events.Commit, cut bool) *Difference {
	s := h.state
	switch {
	case s.Exists() && c.Key != s.Key():
		return &Difference{Field: "chat", Logged: quoted(c.Key.String()), Decided: quoted(s.Key().String())}
	case cut: // its rev and prev are those of a log that is not there any more
	case c.Rev != s.Rev()+1:
		return &Difference{Field: "rev", Logged: fmt.Sprint(c.Rev), Decided: fmt.Sprint(s.Rev() + 1)}
	case c.Prev != s.Prev():
		return &Difference{Field: "prev", Logged: quoted(c.Prev), Decided: quoted(s.Prev())}
	case c.At < s.At():
		return &Difference{Field: "at", Logged: quoted(c.At.String()), Decided: quoted(s.At().String()) + " or later"}
	}
	return nil
}

// decided judges what the commit says happened. If several messages could have
// caused it, one that explains it is enough; else the one that explains most of
// it is told about.
func (h *History) decided(c events.Commit) *Difference {
	if h.known.otherRules(h.state, c) {
		h.counted.Believed++
		return nil
	}
	messages, judged := h.messages(c)
	if !judged {
		h.counted.Believed++
		return nil
	}
	live := h.known.live(c)
	var best *Difference
	for _, m := range messages {
		for _, at := range h.times(c, m) {
			for _, then := range slices.Compact([]events.Time{max(at, h.state.At()), at}) { // releases before took the same
				d := h.try(c, m, at, then, live)
				if d == nil {
					return nil
				}
				if best == nil || d.Event > best.Event {
					best = d
				}
			}
		}
	}
	return best
}

// try decides upon one message at one time, and what follows then, and compares.
func (h *History) try(c events.Commit, m guess, at, then events.Time, live chat.Live) *Difference {
	if cause := chat.CauseOf(m.message); cause != c.Cause {
		return &Difference{Field: "cause", Logged: inJSON(c.Cause), Decided: inJSON(cause)}
	}
	next := h.options.Rules.Decide(h.state, m.message, at, live).Events
	if m.verdicts != nil {
		next = m.verdicts(next)
	}
	s, n := h.state, 0
	for {
		from := n
		for _, e := range next {
			if n == len(c.Events) {
				return differ(n, nil, e)
			}
			if d := differ(n, c.Events[n], m.asLogged(e, c.Events[n])); d != nil {
				return d
			}
			n++
		}
		if n == from { // nothing more follows
			break
		}
		s = s.Apply(events.Commit{Key: c.Key, At: c.At, Events: c.Events[from:n]}, "")
		next = h.options.Rules.Advance(s, then, live)
	}
	if n < len(c.Events) {
		return differ(n, c.Events[n], nil)
	}
	return nil
}
