package verify

import (
	"fmt"

	"github.com/everturn/everturn/events"
)

// Rule is the number of a rule that every log keeps.
type Rule string

// The rules that are checked, under the numbers by which tests and reports cite them.
const (
	RuleChain      Rule = "I1"  // dense revisions, an unbroken chain, one writer
	RuleCommands   Rule = "I2"  // one deciding commit for each command
	RuleTurns      Rule = "I3"  // one turn at a time, one end for each start
	RuleBelonging  Rule = "I4"  // what happens in a turn lies inside it
	RuleAttempts   Rule = "I5"  // one attempt at a time, each closed once
	RuleSteps      Rule = "I6"  // steps in order, none before the last is settled
	RuleCalls      Rule = "I7"  // calls numbered, keyed and unchanged
	RuleResults    Rule = "I8"  // one result for each call
	RuleLicence    Rule = "I9"  // nothing runs unless it was allowed to
	RuleOnce       Rule = "I11" // no effect twice
	RuleInterrupts Rule = "I12" // nothing starts after an interrupt
	RuleInputs     Rule = "I13" // each input taken or withdrawn once, in order
	RuleOutcomes   Rule = "I14" // a turn's end says what happened in it
	RulePrompts    Rule = "I16" // what the model is shown is whole and as recorded
	RuleTenants    Rule = "I18" // one tenant, and content that has its digest
	RuleBounds     Rule = "I20" // within the limits, and deaf to the clock
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
