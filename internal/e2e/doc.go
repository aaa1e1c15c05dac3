// Package e2e tests Everturn as real processes: it builds the binaries, starts
// them on a port of its own, kills or suspends them without warning, and demands
// that every chat ends as if nothing had happened. It holds nothing but tests,
// which take minutes and are built only with the tag processes: make e2e.
package e2e
