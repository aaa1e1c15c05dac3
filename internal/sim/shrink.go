package sim

import (
	"maps"
	"slices"
	"testing"
)

// maxTries bounds how many runs a shrinking takes.
const maxTries = 1500

// Shrink looks for the smallest run with the seed of o that still fails: it
// leaves out faults and commands, many at first, then one by one. What it gives
// still fails, if the run of o does.
func Shrink(t *testing.T, o Options) Options {
	t.Helper()
	o.Trace = false
	tries := 0
	fails := func(o Options) bool {
		tries++
		return tries <= maxTries && len(Run(t, o).Broken) > 0
	}
	report := Run(t, o)
	if len(report.Broken) == 0 {
		return o
	}
	for before := -1; before != len(o.WithoutFaults)+len(o.WithoutCommands); {
		before = len(o.WithoutFaults) + len(o.WithoutCommands)
		o.WithoutCommands = shrinkSet(o.WithoutCommands, report.Commands, func(without map[int]bool) bool {
			try := o
			try.WithoutCommands = without
			return fails(try)
		})
		o.WithoutFaults = shrinkSet(o.WithoutFaults, report.Faults, func(without map[int]bool) bool {
			try := o
			try.WithoutFaults = without
			return fails(try)
		})
	}
	return o
}

// shrinkSet leaves out as many of the numbers 1 to n as it can, in runs of
// halving length, the last first: what comes early changes all that follows.
func shrinkSet(without map[int]bool, n int, fails func(without map[int]bool) bool) map[int]bool {
	best := maps.Clone(without)
	if best == nil {
		best = map[int]bool{}
	}
	for size := n; size > 0; size /= 2 {
		for to := n; to > 0; to -= size {
			try := maps.Clone(best)
			for i := max(1, to-size+1); i <= to; i++ {
				try[i] = true
			}
			if len(try) > len(best) && fails(try) {
				best = try
			}
		}
	}
	return best
}

// left lists the numbers up to n that are not left out.
func left(without map[int]bool, n int) []int {
	var all []int
	for i := range n {
		if !without[i+1] {
			all = append(all, i+1)
		}
	}
	return slices.Clip(all)
}
