package verify

// Rule is the number of a rule that every log keeps.
type Rule string

// The rules, under the numbers by which tests and reports cite them.
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
	RuleApprovals  Rule = "I10" // one decision for each call that asks for one
	RuleOnce       Rule = "I11" // no effect twice
	RuleInterrupts Rule = "I12" // nothing starts after an interrupt
	RuleInputs     Rule = "I13" // each input taken or withdrawn once, in order
	RuleOutcomes   Rule = "I14" // a turn's end says what happened in it
	RuleCompaction Rule = "I15" // what is made shorter stays whole
	RulePrompts    Rule = "I16" // what the model is shown is whole and as recorded
	RuleChildren   Rule = "I17" // one child for each call that starts one
	RuleTenants    Rule = "I18" // one tenant, and content that has its digest
	RuleReplay     Rule = "I19" // folding again, in any way, gives the same
	RuleBounds     Rule = "I20" // within the limits, and deaf to the clock
)

// RuleInfo is what a rule demands, and how much of that is judged today.
type RuleInfo struct {
	Rule  Rule
	Means string

	// NotYet is what the rule will also be about once the features exist. Until
	// then no log can hold anything of it: its events are not known.
	NotYet string

	// Judged is false if nothing of the rule applies yet.
	Judged bool
}

// Rules lists every rule, in the order of their numbers.
func Rules() []RuleInfo {
	return []RuleInfo{
		{RuleChain, "revs count from 1, prev is the hash of the commit before, sequence and clock never go back; a chat that goes on from another one begins with that one's whole log, and one that is erased with its tombstone", "", true},
		{RuleCommands, "ids of commits are unique; a command is decided once, in order, by what its verb can bring about", "", true},
		{RuleTurns, "one turn at a time, numbered without gaps, with one end", "turns beside others, of an edit", true},
		{RuleBelonging, "what happens in a turn lies between its start and its end", "", true},
		{RuleAttempts, "one attempt at a time, closed once and by its own message; another only after a failure that asks for it", "", true},
		{RuleSteps, "steps count from 1; the next begins when all calls of the last have results, and then at once", "", true},
		{RuleCalls, "calls are numbered, have keys of their own, and the arguments that the model wrote, or that an approval says somebody made of them", "", true},
		{RuleResults, "each call has one result, between its step and its turn's end", "", true},
		{RuleLicence, "a call is handed out in its order, and runs, only if everything allows it; a result that no runner sent has its reason", "calls of clients and providers", true},
		{RuleApprovals, "each call that needs approval asks for it once and gets one decision, of the same arguments, from who can make it", "", true},
		{RuleOnce, "a call that must not run twice has one licence, any other has one for each later delivery; the ledger agrees", "", true},
		{RuleInterrupts, "nothing starts in a turn that is to end; what is open then is closed, and nothing is called cancelled without it", "", true},
		{RuleInputs, "each input is taken or withdrawn once, in the order of its mode unless a person moved it, and waits for nothing but a turn; none completes over what it should read", "", true},
		{RuleOutcomes, "a turn has an input or a cause, at most one final answer, and the end that fits what happened in it", "", true},
		{RuleCompaction, "what models are shown is made shorter only where nothing is open, by a fifth at least, and by itself once between two answers, after old outputs of tools at most; instructions stay, and of outputs those that failed, are new, or were not read", "", true},
		{RulePrompts, "what the model is shown is paired, readable, and what was recorded", "the window of the model, which is not in the log", true},
		{RuleChildren, "a call that delegates has one child, of its own name and tenant, not too deep and not too many at once, which ends just before its result; where both chats are read, each says of the other what is so", "shares of a budget", true},
		{RuleTenants, "subject, commit and content belong to one tenant; content and settings have their digest", "", true},
		{RuleReplay, "folded from a snapshot, the rest of the log gives the same state", "", true},
		{RuleBounds, "sizes, counts and delays are within their limits; the state knows no clock", "", true},
	}
}
