package chat

import (
	"slices"

	"github.com/everturn/everturn/events"
)

// The turns of a chat form a tree: each follows its parent, and several may
// follow the same one. What is said next follows the tip. The path are the turns
// from the root to it, and nothing else is shown to a model.

// newest is the number of the turn that was started last, 0 if none was.
func (s State) newest() int {
	if s.f.Current != nil {
		return s.f.Current.Number
	}
	if n := len(s.f.Past); n > 0 {
		return s.f.Past[n-1].Number
	}
	return 0
}

// tip is the open turn, or else the ended turn that the next one follows; nil if
// there is none, so that the next one begins anew.
func (s State) tip() *turn {
	if s.f.Current != nil {
		return s.f.Current
	}
	if n := len(s.path); n > 0 {
		return s.path[n-1]
	}
	return nil
}

// ended is the ended turn of that number, or nil.
func (s State) ended(number int) *turn { return pastTurn(s.f.Past, number) }

// pastTurn finds a turn by its number. Turns are sorted by it, nearly always
// without a gap.
func pastTurn(past []*turn, number int) *turn {
	if len(past) == 0 {
		return nil
	}
	if i := number - past[0].Number; i >= 0 && i < len(past) && past[i].Number == number {
		return past[i]
	}
	i, found := slices.BinarySearchFunc(past, number, func(t *turn, n int) int { return t.Number - n })
	if !found {
		return nil
	}
	return past[i]
}

// pathTo is the path to the ended turn of that number, the root first. Parents
// have smaller numbers, so it comes to an end.
func pathTo(past []*turn, number int) []*turn {
	var path []*turn
	for t := pastTurn(past, number); t != nil; t = pastTurn(past, t.Parent) {
		path = append(path, t)
	}
	if len(path) == len(past) {
		return past // nearly always: there is one branch, and its turns need no second list
	}
	slices.Reverse(path)
	return path
}

// moveTip makes the turn of that number the one that the next one follows. An open
// turn keeps its own path as long as it is open.
func (s *State) moveTip(number int) {
	s.f.Tip = number
	if s.f.Current == nil {
		s.path = pathTo(s.f.Past, number)
	}
}

// startPath begins a path that leads through parent to the turn that starts.
func (s *State) startPath(started, parent int) {
	on := 0
	if n := len(s.path); n > 0 {
		on = s.path[n-1].Number
	}
	if on != parent {
		s.path = pathTo(s.f.Past, parent)
	}
	s.f.Tip = started
}

// endPath follows the newest of the ended turns, or the tip if that was moved
// while the turn was open.
func (s *State) endPath() {
	last := len(s.f.Past) - 1
	switch {
	case s.f.Tip != s.f.Past[last].Number:
		s.path = pathTo(s.f.Past, s.f.Tip)
	case len(s.path) == last:
		s.path = s.f.Past
	default:
		s.path = with(s.path, s.f.Past[last])
	}
}

// wished is what the input that led to the tip said about settings, through any
// number of retries and continuations.
func (s State) wished() events.Settings {
	for _, past := range slices.Backward(s.path) {
		if len(past.Inputs) == 0 {
			continue
		}
		return s.wishedBy(past.Inputs[0])
	}
	return events.Settings{}
}
