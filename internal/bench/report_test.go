package bench

import (
	"strings"
	"testing"
	"time"
)

func TestPercentileOfSortedDurations(t *testing.T) {
	t.Parallel()

	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, tt := range []struct {
		name   string
		sorted []time.Duration
		p      float64
		want   time.Duration
	}{
		{"one is its own median", hundred[:1], 0.5, 1},
		{"half are below the median", hundred, 0.5, 51},
		{"99 of 100 are below the 99th", hundred, 0.99, 100},
		{"the 100th is the last", hundred, 1, 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			if got := percentile(tt.sorted, tt.p); got != tt.want {
				t.Errorf("percentile %v is %d, want %d", tt.p, got, tt.want)
			}
		})
	}
}

func TestShares(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ whole, parts int }{{0, 3}, {2, 4}, {500, 20}, {1000, 7}} {
		sum := 0
		for n := range tt.parts {
			got := share(tt.whole, n, tt.parts)
			if low := tt.whole / tt.parts; got < low || got > low+1 {
				t.Errorf("share %d of %d in %d parts is %d, want %d or one more", n, tt.whole, tt.parts, got, low)
			}
			sum += got
		}
		if sum != tt.whole {
			t.Errorf("%d parts of %d make %d", tt.parts, tt.whole, sum)
		}
	}
}

func run(p50 float64, perSecond ...float64) Run {
	r := Run{Sequential: Sequential{P50: p50}}
	for i, n := range perSecond {
		r.Concurrent = append(r.Concurrent, Concurrent{Chats: 16 << (2 * i), PerSec: n})
	}
	return r
}

// The pair in the middle counts, so that one that was disturbed does not.
func TestSummaryIsTheMedianPair(t *testing.T) {
	t.Parallel()

	r := Report{Sync: "default", Pairs: []Pair{
		{Real: run(3, 1, 80), Floor: run(2, 1, 100)},
		{Real: run(90, 1, 1), Floor: run(2, 1, 100)},
		{Real: run(5, 1, 70), Floor: run(2, 1, 100)},
	}}
	r.summarize()
	if r.P50Ratio != 2.5 || r.ThroughputRatio != 0.7 {
		t.Errorf("ratios are %v and %v, want 2.5 and 0.7", r.P50Ratio, r.ThroughputRatio)
	}

	r.Load = &Load{Events: 2000, Others: 1_000_000, WithSnapshot: 3.21, Tail: 60, WithOlder: 6.5, WithoutSnapshot: 45, EventsPerSecond: 1e5}
	var table strings.Builder
	if err := r.Print(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"everturn 3", "floor 3", "turns/s @64", "p50 is 2.50 times", "3.2 ms with a snapshot", "60 commits old"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, table.String())
		}
	}
}
