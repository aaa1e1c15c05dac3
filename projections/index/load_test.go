//go:build processes

package index

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/listing"
)

// What is promised, with room for a machine that does something else besides.
const (
	leastEvents    = 100_000
	promisedRate   = 20_000                // events a second of a rebuild, on a machine of its own
	leastRate      = promisedRate / 10     // below it something is wrong with us
	promisedSearch = 50 * time.Millisecond // of half of the searches
	mostSearch     = 10 * promisedSearch
)

// 100,000 events are read in seconds.
func TestLoadARebuildIsFast(t *testing.T) {
	l := histories(t, 1, 1_200, 60)
	count, commits := l.events(t)
	if count < leastEvents {
		t.Fatalf("%d events, want %d: make more chats", count, leastEvents)
	}
	dir := t.TempDir()
	begun, busy := time.Now(), processorTime(t)
	if err := Build(t.Context(), Config{Dir: dir, Log: l, Blobs: l}, nil); err != nil {
		t.Fatal(err)
	}
	took := time.Since(begun)
	rate := float64(count) / took.Seconds()
	worked := processorTime(t) - busy
	t.Logf("%d events in %d commits were read in %v: %.0f events/s (%d are promised); processors worked for %v: %.0f events a second of one", count, commits,
		took.Round(time.Millisecond), rate, promisedRate, worked.Round(time.Millisecond), float64(count)/worked.Seconds())
	if rate < leastRate {
		t.Errorf("%.0f events a second, want %d at least", rate, leastRate)
	}
}

// processorTime is how long processors have worked for this process.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Among 100,000 messages words are found in milliseconds, rare ones and common ones.
func TestLoadASearchIsFast(t *testing.T) {
	const messages = 100_000
	l := &logs{}
	for n := range messages {
		k := events.Key{Tenant: []string{"acme", "zoo"}[n%10/9], Chat: fmt.Sprintf("chat-%d", n/50)}
		text := fmt.Sprintf("message number%d says the word common, every tenth%d and hundred%d one, and then some more of what people say to each other all day long", n, n%10, n%100)
		l.write(t, k, noon+events.Time(n), "user:ann", saying(fmt.Sprint("i", n), text))
	}
	x := follow(t, l, t.TempDir())
	var all []time.Duration
	for n := range 300 {
		for _, text := range []string{
			fmt.Sprintf("number%d", n*97), "common", fmt.Sprintf("common tenth%d", n%10), fmt.Sprintf("hundred%d people", n%100),
			`"the word common"`, "numb*", "nothing like it", fmt.Sprintf("hundred%d tenth%d", n%100, (n+1)%10),
		} {
			begun := time.Now()
			ask[listing.Hits](t, x.Index, "acme", listing.QuerySearch, listing.SearchRequest{Text: text})
			all = append(all, time.Since(begun))
		}
	}
	slices.Sort(all)
	p50, p99 := all[len(all)/2], all[len(all)*99/100]
	t.Logf("%d searches of %d messages: p50 %v (%v is promised), p99 %v, longest %v", len(all), messages, p50, promisedSearch, p99, all[len(all)-1])
	if p50 > mostSearch {
		t.Errorf("half of the searches take more than %v", p50)
	}
}
