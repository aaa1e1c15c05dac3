package capture

import (
	"bytes"
	"sync"
	"time"
)

// Of what a program writes, those who watch are shown the newest, so often.
const (
	followEvery    = 100 * time.Millisecond
	maxFollowBytes = 4 << 10
)

// Follower shows what a program writes while it runs. What comes too fast is left
// out. It is safe for concurrent use.
type Follower struct {
	show  func(string)
	lines bool
	end   chan struct{}
	done  chan struct{}

	mu      sync.Mutex
	pending []byte
	cut     bool // pending does not begin where a line does
}

// Follow begins to show what is written. Stop must be called.
func Follow(show func(string)) *Follower { return follow(show, false) }

// FollowLines shows whole lines, and what has no end when it is stopped, or grows
// beyond what is shown at once. The start of a line is never left out alone.
func FollowLines(show func(string)) *Follower { return follow(show, true) }

func follow(show func(string), lines bool) *Follower {
	f := &Follower{show: show, lines: lines, end: make(chan struct{}), done: make(chan struct{})}
	go f.run()
	return f
}

// Write implements [io.Writer]. It takes everything, and never waits for who watches.
func (f *Follower) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut = f.cut || len(f.pending)+len(b) > maxFollowBytes
	f.pending = append(f.pending, b[max(0, len(b)-maxFollowBytes):]...)
	f.pending = append(f.pending[:0], f.pending[max(0, len(f.pending)-maxFollowBytes):]...)
	return len(b), nil
}

func (f *Follower) run() {
	defer close(f.done)
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			f.flush(false)
		case <-f.end:
			f.flush(true)
			return
		}
	}
}

func (f *Follower) flush(last bool) {
	if text := f.take(last); text != "" {
		f.show(text)
	}
}

// take is what is due to be shown.
func (f *Follower) take(last bool) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	from, to := 0, len(f.pending)
	if f.lines {
		end := bytes.LastIndexByte(f.pending, '\n') + 1
		if !last {
			to = end
		}
		if f.cut && to > 0 { // a part of a line says nothing, and may be a part of what nobody should see
			from = bytes.IndexByte(f.pending, '\n') + 1
		}
	}
	f.cut = f.cut && to == 0
	text := string(f.pending[from:to])
	f.pending = append(f.pending[:0], f.pending[to:]...)
	return text
}

// Stop shows the last of it.
func (f *Follower) Stop() {
	close(f.end)
	<-f.done
}
