package events

// Usage counts the tokens of one attempt, or of a whole turn. Input does not
// include what was read from or written to the provider's cache. No attempt has less
// than 0 or more than [MaxTokens] of a kind, whatever its provider said; the first
// release wrote that down as it came.
type Usage struct {
	Input      int64 `json:"input,omitempty"`
	Output     int64 `json:"output,omitempty"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"` // part of Output
}

// Plus is the sum of both. It never leaves 0 to [MaxSum], whatever was counted.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		Input: plus(u.Input, v.Input), Output: plus(u.Output, v.Output),
		CacheRead: plus(u.CacheRead, v.CacheRead), CacheWrite: plus(u.CacheWrite, v.CacheWrite),
		Reasoning: plus(u.Reasoning, v.Reasoning),
	}
}

// Bounded is u with each count bounded as [Tokens] does it.
func (u Usage) Bounded() Usage {
	return Usage{
		Input: Tokens(u.Input), Output: Tokens(u.Output),
		CacheRead: Tokens(u.CacheRead), CacheWrite: Tokens(u.CacheWrite), Reasoning: Tokens(u.Reasoning),
	}
}

// Total is how many tokens were used, of every kind. Each count is bounded first, so
// that none can hide another one.
func (u Usage) Total() int64 {
	u = u.Bounded()
	return u.Input + u.Output + u.CacheRead + u.CacheWrite
}

// Tokens is what somebody else counted as a number of tokens of one attempt: 0 to
// [MaxTokens]. What cannot be true counts as the nearest that can, so a budget is
// used up rather than gone round.
func Tokens(n int64) int64 { return min(max(n, 0), MaxTokens) }

// Cost is what an attempt is said to have cost, 0 to [MaxSum]; nil, which is unknown,
// if it is said to have earned something.
func Cost(micros *int64) *int64 {
	if micros == nil || *micros < 0 {
		return nil
	}
	return new(min(*micros, MaxSum))
}

// PlusCost is the sum of two costs, unknown if one of them is.
func PlusCost(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	return new(plus(*a, *b))
}

// plus is the sum of what was counted, 0 to [MaxSum].
func plus(a, b int64) int64 {
	a, b = min(max(a, 0), MaxSum), min(max(b, 0), MaxSum)
	return min(a+b, MaxSum)
}

// Totals is what a turn took.
type Totals struct {
	Steps    int   `json:"steps"`
	Attempts int   `json:"attempts"`
	Calls    int   `json:"calls"`
	Usage    Usage `json:"usage"`
}
