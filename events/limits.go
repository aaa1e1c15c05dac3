package events

import "time"

// Sizes that a log may rely on. What is cut at one of them says so where it
// stands; everything else that is too large is turned away.
const (
	MaxCommitBytes    = 512 << 10 // one commit; the server's max_msg_size of LOG leaves room for headers
	MaxInlineBytes    = 64 << 10  // larger content goes to the object store
	MaxArgumentsBytes = 256 << 10 // arguments of one call
	MaxPartialBytes   = 256 << 10 // text kept of an interrupted step
	MaxResultBytes    = 32 << 10  // of a tool's result, shown to the model
	MaxRawUsageBytes  = 4 << 10   // of a provider's own reports of usage
	MaxErrorChars     = 500       // of an error's message, shown to people

	MaxWaitingInputs    = 64  // inputs of one chat that wait for their turn
	MaxStepsPerTurn     = 256 // default of the step limit
	MaxCallsPerStep     = 128
	MaxAttemptsPerStep  = 25
	MaxQuickRetries     = 5  // of interrupted streams, before the slow ones
	MaxStartsIdempotent = 5  // tool.started of one idempotent call, then its result is error
	MaxRemembered       = 64 // approvals that hold for the whole chat; the oldest is forgotten
	MaxGrants           = 32 // permissions granted with one call
	MaxGrantBytes       = 256
	MaxBudget           = 1 << 53 // a bound of a budget: sums of several still fit a number

	// MaxTokens is the most tokens of one kind that one attempt can have used. The
	// largest contexts that models are offered with are of some 10,000,000 tokens, a
	// hundred thousandth of it; and all that the attempts of a turn may use, 256 steps
	// with 25 attempts each, is still less than [MaxSum].
	MaxTokens = 1 << 40

	// MaxSum is the most that is counted together, of tokens or of money. No budget is
	// larger, so one is used up before it; and every reader of JSON has the number.
	MaxSum = MaxBudget
)

// Times that decisions and the checker share. Grant, Skew and Dead are one
// argument: an effect starts within Grant of its claim, clocks agree within
// Skew, so that after Dead nothing licensed can still begin.
const (
	Grant               = 1 * time.Second
	Skew                = 3 * time.Second
	EndDelay            = Grant + Skew       // from turn.interrupt_requested to the end timer
	EraseDelay          = 20 * time.Second   // from chat.erased to the deletion of the content
	Dead                = 2 * (Grant + Skew) // a claim this old is not running unless its runner says so
	DefaultToolTimeout  = 120 * time.Second  // of a tool that names none
	MaxBackoff          = 60 * time.Second   // between attempts
	DefaultApprovalTime = 24 * time.Hour     // a call waits for approval
	MaxApprovalTime     = 30 * 24 * time.Hour
	MaxBudgetTime       = 30 * 24 * time.Hour // of a turn's budget
	MaxRetryFor         = time.Hour           // a provider's Retry-After above it is absurd and ignored
)
