package sim

import (
	"slices"
	"testing"
)

// What is left of a run that fails because of two things together is those two.
func TestShrinkFindsWhatMatters(t *testing.T) {
	t.Parallel()

	const all = 100
	tries := 0
	without := shrinkSet(nil, all, func(without map[int]bool) bool {
		tries++
		return !without[17] && !without[64]
	})
	if got := left(without, all); !slices.Equal(got, []int{17, 64}) {
		t.Errorf("left %v, want 17 and 64", got)
	}
	if tries > 3*all {
		t.Errorf("it took %d tries", tries)
	}
}
