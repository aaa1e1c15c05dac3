package projections

import (
	"context"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections/question"
)

// path is the turns from the first one to the end of a branch. Nil is every turn:
// a chat that has only one branch needs no list.
type path map[int]bool

func (p path) has(turn int) bool { return p == nil || p[turn] }

// path is the one to the end of a turn, or to where the chat goes on if that is 0;
// false if there is no such turn.
func (f *fold) path(turn int) (path, bool) {
	if turn == 0 {
		turn = f.end()
	} else if f.turn(turn) == nil {
		return nil, false
	}
	if n := len(f.turns); n == 0 || !f.branched && f.turns[n-1].Turn == turn {
		return nil, true
	}
	p := make(path)
	for t := f.turn(turn); t != nil; t = f.parent(*t) {
		p[t.Turn] = true
	}
	return p, true
}

// end is the turn where people read on: the open one, or else the tip.
func (f *fold) end() int {
	if n := len(f.turns); n > 0 && f.turns[n-1].Status == TurnRunning {
		return f.turns[n-1].Turn
	}
	return f.tip
}

// turn is the turn of that number, or nil. They are sorted by it.
func (f *fold) turn(number int) *Turn {
	i, found := slices.BinarySearchFunc(f.turns, number, func(t Turn, n int) int { return t.Turn - n })
	if !found {
		return nil
	}
	return &f.turns[i]
}

// parent is the turn that another one follows, or nil. It is an earlier one: else a
// log that makes no sense would be followed for ever.
func (f *fold) parent(t Turn) *Turn {
	if t.Parent >= t.Turn {
		return nil
	}
	return f.turn(t.Parent)
}

// turnsOn are the turns of a path, each with those that it may be exchanged for.
func (f *fold) turnsOn(p path) []Turn {
	if !f.branched {
		return append([]Turn{}, f.turns...)
	}
	children := make(map[int][]int)
	for _, t := range f.turns {
		children[t.Parent] = append(children[t.Parent], t.Turn)
	}
	list := []Turn{}
	for _, t := range f.turns {
		if !p.has(t.Turn) {
			continue
		}
		if beside := children[t.Parent]; len(beside) > 1 {
			t.Siblings = beside
		}
		list = append(list, t)
	}
	return list
}

// shownHead is the head with the tip, where that says something.
func (f *fold) shownHead() Head {
	h := f.head
	if f.tip != h.Turn {
		h.Tip = f.tip
	}
	return h
}

// sayAgain repeats in a turn what was said in the one beside which it begins.
func (f *fold) sayAgain(id string, turn, again int) {
	for _, m := range slices.Backward(f.messages) {
		if m.Turn == again && m.Role == RoleUser && m.Input == id {
			m.Turn = turn
			f.say(m)
			return
		}
	}
}

func (f *fold) branchSelected(e events.BranchSelected) {
	f.tip = e.Turn
	if e.Input != "" {
		f.promote(events.InputPromoted{Input: e.Input, Place: 1}) // it is taken before all that waits
	}
}

// maxBranches is how many branches an answer lists, the newest ones.
const maxBranches = 500

// Branches lists the branches of a chat.
func (p *Projections) Branches(ctx context.Context, tenant string, q BranchesRequest) (Branches, error) {
	k, err := question.Key(tenant, q.Chat, q.V)
	if err != nil {
		return Branches{}, err
	}
	var b Branches
	err = p.folded(ctx, k, Point{}, q.MinRev, func(f *fold) error {
		b = f.branches()
		return f.gone()
	})
	return b, err
}

// branches are told by their last turns: those that none follows, and the one that
// is selected.
func (f *fold) branches() Branches {
	selected, _ := f.path(0)
	followed := make(map[int]bool)
	for _, t := range f.turns {
		followed[t.Parent] = true
	}
	b := Branches{Head: f.shownHead(), Branches: []Branch{}}
	for _, t := range f.turns {
		if !followed[t.Turn] || t.Turn == f.end() {
			b.Branches = append(b.Branches, f.branch(t, selected))
		}
	}
	b.Branches = b.Branches[max(0, len(b.Branches)-maxBranches):]
	return b
}

// branch is the one that ends with a turn.
func (f *fold) branch(last Turn, selected path) Branch {
	b := Branch{Turn: last.Turn, Status: last.Status, At: last.Started, Selected: last.Turn == f.end()}
	if last.Ended != 0 {
		b.At = last.Ended
	}
	for t := f.turn(last.Turn); t != nil; t = f.parent(*t) {
		b.TurnCount++
		if !selected.has(t.Turn) {
			b.From = t.Parent
		}
		if b.Text == "" && t.First <= t.Last {
			b.Text = beginning(plain(f.messages[t.First-1].Parts))
		}
	}
	return b
}

func plain(parts []Part) []events.Part {
	list := make([]events.Part, len(parts))
	for i, p := range parts {
		list[i] = p.Part
	}
	return list
}
