package events

// Usage counts the tokens of one attempt, or of a whole turn. Input does not
// include what was read from or written to the provider's cache.
type Usage struct {
	Input      int64 `json:"input,omitempty"`
	Output     int64 `json:"output,omitempty"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"` // part of Output
}

// Plus is the sum of both.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output,
		CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		Reasoning: u.Reasoning + v.Reasoning,
	}
}

// Totals is what a turn took.
type Totals struct {
	Steps    int   `json:"steps"`
	Attempts int   `json:"attempts"`
	Calls    int   `json:"calls"`
	Usage    Usage `json:"usage"`
}
