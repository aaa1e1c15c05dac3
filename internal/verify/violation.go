package verify

import (
	"fmt"

	"github.com/everturn/everturn/events"
)

// Place is one commit of a chat. The zero value is no place.
type Place struct {
	Rev      uint64
	Sequence uint64 // in the stream
}

func (p Place) known() bool { return p != Place{} }

// Violation says that a rule was broken, and where. Clash is the earlier place
// that the later one contradicts, if there is one.
type Violation struct {
	Rule     Rule
	Chat     events.Key
	Rev      uint64
	Sequence uint64
	Detail   string
	Clash    Place
}

// String is the violation on one line.
func (v Violation) String() string {
	s := fmt.Sprintf("%s %s rev %d sequence %d: %s", v.Rule, v.Chat, v.Rev, v.Sequence, v.Detail)
	if v.Clash.known() {
		s += fmt.Sprintf(" (see rev %d sequence %d)", v.Clash.Rev, v.Clash.Sequence)
	}
	return s
}
