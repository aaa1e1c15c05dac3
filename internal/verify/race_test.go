//go:build race

package verify_test

// usualLogs is fewer here: the race detector takes ten times as long, and what
// it looks for does not depend on how many logs there are.
const (
	usualLogs      = 2_000
	usualSequences = 1_000
)
