package streams

import (
	"fmt"
	"slices"
	"testing"
)

// A list that is longer than a page is read whole, also while names before and behind
// the place that was reached are deleted.
func TestSubjectsAreListedWhileOthersAreDeleted(t *testing.T) {
	t.Parallel()
	const all, pageSize = 10_000, 2_500
	for _, deleted := range []int{0, 1, 900, 2_000, 2_400} { // of the others, between two pages
		t.Run(fmt.Sprint(deleted), func(t *testing.T) {
			t.Parallel()
			var stored []string
			for i := range all {
				stored = append(stored, fmt.Sprintf("%05d", i))
			}
			mine := func(subject string) bool { return subject[4] == '7' }
			var want, got []string
			for _, subject := range stored {
				if mine(subject) {
					want = append(want, subject)
				}
			}
			err := eachSubject(func(offset int) ([]string, int, error) {
				some := stored[min(offset, len(stored)):min(offset+pageSize, len(stored))]
				total, left := len(stored), deleted
				page := slices.Clone(some)
				slices.Reverse(page) // the server gives them in no order
				stored = slices.DeleteFunc(slices.Clone(stored), func(subject string) bool {
					if mine(subject) || left == 0 {
						return false
					}
					left--
					return true
				})
				return page, total, nil
			}, func(subject string) {
				if mine(subject) {
					got = append(got, subject)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(want, got) {
				t.Errorf("%d are listed of %d", len(got), len(want))
			}
		})
	}
}
