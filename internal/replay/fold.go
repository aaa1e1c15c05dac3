package replay

import (
	"fmt"
	"slices"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// Blob gives content of a chat by its digest.
type Blob = func(events.Key, events.Digest) ([]byte, error)

// inheritedBy reads the history that a chat goes on from.
func inheritedBy(k events.Key, first events.ChatInherited, blob Blob) (*chat.History, error) {
	if blob == nil {
		return nil, fmt.Errorf("the history that chat %s goes on from is not here", k)
	}
	raw, err := blob(k, first.History)
	if err != nil {
		return nil, fmt.Errorf("the history that chat %s goes on from: %w", k, err)
	}
	h, err := chat.ReadHistory(raw)
	if err == nil && (h.Origin != first.Origin || h.Digest != first.History) {
		err = fmt.Errorf("%w: it is that of another origin", events.ErrHistory)
	}
	if err != nil {
		return nil, fmt.Errorf("the history that chat %s goes on from: %w", k, err)
	}
	return h, nil
}

// Fold is the chat after those commits, its log from rev 1 on. Blob is asked for
// the history of a chat that goes on from one. The error is about that, or about
// a log that makes no sense.
func Fold(commits []events.Commit, blob Blob) (chat.State, error) {
	f := Folding{Blob: blob}
	for _, c := range commits {
		if err := f.Add(c, ""); err != nil {
			return f.State(), err
		}
	}
	return f.State(), nil
}

// Folding folds a chat commit by commit. The zero Folding has read nothing.
type Folding struct {
	// Blob is asked for the history of a chat that goes on from one.
	Blob Blob

	state chat.State
}

// Add folds the next commit, whose bytes have that hash; it may be empty. After an error
// the state is as it was.
func (f *Folding) Add(c events.Commit, hash string) error {
	s := f.state
	if first, ok := c.Events[0].(events.ChatInherited); ok && !s.Exists() {
		inherited, err := inheritedBy(c.Key, first, f.Blob)
		if err != nil {
			return err
		}
		s = inherited.State
	}
	next := s.Apply(c, hash)
	if wrong := next.Wrong(); wrong != "" {
		return fmt.Errorf("rev %d cannot be folded: %s", next.Rev(), wrong)
	}
	f.state = next
	return nil
}

// State is the chat as folded so far.
func (f *Folding) State() chat.State { return f.state }

// Asked finds where a step was requested, for the given attempt or, if that is 0,
// for the last: the commits up to there, and the request.
func Asked(commits []events.Commit, step events.StepID, attempt int) ([]events.Commit, events.StepRequested, error) {
	for i, c := range slices.Backward(commits) {
		for _, e := range c.Events {
			if r, ok := e.(events.StepRequested); ok && r.Step == step && (attempt == 0 || r.Attempt == attempt) {
				return commits[:i+1], r, nil
			}
		}
	}
	return nil, events.StepRequested{}, fmt.Errorf("%w: no step %s was requested", ErrNoEvent, step)
}
