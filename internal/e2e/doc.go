// Package e2e tests Everturn as real processes: it builds the binaries, starts
// them on a port of its own, kills them without warning, and demands that every
// chat ends as if nothing had happened. It holds nothing but tests.
package e2e
