package projections

import (
	"slices"

	"github.com/everturn/everturn/events"
)

// waitingInput is what was said and is in no turn yet.
type waitingInput struct {
	accepted events.InputAccepted // as it was changed since
	rev      uint64
	at       events.Time
}

func (f *fold) indexWaiting(id string) int {
	return slices.IndexFunc(f.waiting, func(w waitingInput) bool { return w.accepted.Input == id })
}

func (f *fold) takeWaiting(id string) (waitingInput, bool) {
	i := f.indexWaiting(id)
	if i < 0 {
		return waitingInput{}, false
	}
	taken := f.waiting[i]
	f.waiting = slices.Delete(f.waiting, i, i+1)
	return taken, true
}

// takeInputs makes inputs that waited messages of a turn, and those of another one
// that it begins beside.
func (f *fold) takeInputs(turn int, ids []string, again int) {
	for _, id := range ids {
		in, ok := f.takeWaiting(id)
		if !ok {
			f.sayAgain(id, turn, again)
			continue
		}
		f.say(Message{
			At: in.at, Turn: turn, Role: RoleUser, Input: id, By: in.accepted.By, Parts: partsOf(in.accepted.Parts),
		})
	}
}

func (f *fold) edit(e events.InputEdited) {
	if i := f.indexWaiting(e.Input); i >= 0 {
		f.waiting[i].accepted.Parts, f.waiting[i].rev = e.Parts, f.head.Rev
	}
}

func (f *fold) promote(e events.InputPromoted) {
	in, ok := f.takeWaiting(e.Input)
	if !ok {
		return
	}
	in.rev = f.head.Rev
	if e.Interrupt && in.accepted.Mode != events.ModeRollback {
		in.accepted.Mode = events.ModeInterrupt
	}
	f.waiting = slices.Insert(f.waiting, min(max(e.Place-1, 0), len(f.waiting)), in)
}
