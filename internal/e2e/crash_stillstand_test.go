//go:build processes && crashpoints

package e2e

import (
	"context"
	"os"
	"sync"
	"time"
)

// tooStill is a time in which a licence, or the time to ask for one, may run out
// with nobody to blame: 4 and 5 s, less the second until a message comes again
// and what it takes to start a process.
const tooStill = 1500 * time.Millisecond

// stillstand knows how long the machine did nothing, by doing a little all the
// time: what is tested shares its processors and its disk with everybody.
type stillstand struct {
	mu   sync.Mutex
	gaps []gap
}

type gap struct {
	end    time.Time
	length time.Duration
}

// watch writes and syncs a file again and again until ctx ends.
func (s *stillstand) watch(ctx context.Context, path string) {
	const every = 50 * time.Millisecond
	for last := time.Now(); ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
		if f, err := os.Create(path); err == nil {
			_, _ = f.WriteString(last.String()) // that it takes its time is all that counts
			_, _ = f.Sync(), f.Close()
		}
		now := time.Now()
		s.mu.Lock()
		s.gaps = append(s.gaps, gap{end: now, length: now.Sub(last) - every})
		s.mu.Unlock()
		last = now
	}
}

// since is the longest time that ended after the moment.
func (s *stillstand) since(moment time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var longest time.Duration
	for _, g := range s.gaps {
		if g.end.After(moment) {
			longest = max(longest, g.length)
		}
	}
	return longest
}
