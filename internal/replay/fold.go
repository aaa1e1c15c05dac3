package replay

import (
	"fmt"
	"slices"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// Fold is the chat after those commits, its log from rev 1 on. The error is about
// a log that makes no sense.
func Fold(commits []events.Commit) (chat.State, error) {
	var s chat.State
	for _, c := range commits {
		next := s.Apply(c, "")
		if wrong := next.Wrong(); wrong != "" {
			return s, fmt.Errorf("rev %d cannot be folded: %s", next.Rev(), wrong)
		}
		s = next
	}
	return s, nil
}

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
