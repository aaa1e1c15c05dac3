//go:build !race

package verify_test

const (
	usualLogs      = 10_000
	usualSequences = 20_000
)
