package tools

import (
	"fmt"
	"sync"
	"time"
)

// Limits of what is kept of a command's output. The model reads less, see
// [maxCommandShownBytes].
const (
	maxOutputHeadBytes = 4 << 20 // from its beginning
	maxOutputTailBytes = 1 << 20 // from its end, if there is more
)

// maxCommandShownBytes is how much of a command's output the model reads: what a
// build or a test has to say is at its beginning and its end.
const maxCommandShownBytes = 8 << 10

// output keeps what a command writes, its middle left out if there is too much,
// so that nothing a command can do takes more of our memory than that.
type output struct {
	head    []byte
	tail    []byte // up to twice what is kept of it
	dropped int64
	follow  *follower
}

// Write implements [io.Writer]. It takes everything.
func (o *output) Write(b []byte) (int, error) {
	o.follow.add(b)
	rest := b
	if room := maxOutputHeadBytes - len(o.head); room > 0 {
		n := min(room, len(rest))
		o.head, rest = append(o.head, rest[:n]...), rest[n:]
	}
	o.tail = append(o.tail, rest...)
	if over := len(o.tail) - maxOutputTailBytes; over > maxOutputTailBytes {
		o.dropped += int64(over)
		o.tail = append(o.tail[:0], o.tail[over:]...)
	}
	return len(b), nil
}

// end gives what is kept, and how many bytes were dropped.
func (o *output) end() (text string, dropped int64) {
	if over := len(o.tail) - maxOutputTailBytes; over > 0 {
		o.dropped += int64(over)
		o.tail = o.tail[over:]
	}
	if o.dropped == 0 {
		return string(o.head) + string(o.tail), 0
	}
	return fmt.Sprintf("%s\n[%d bytes were dropped here: of one command, no more than %d are kept]\n%s",
		o.head, o.dropped, maxOutputHeadBytes+maxOutputTailBytes, o.tail), o.dropped
}

// Of what a command writes, those who watch are shown the newest, so often.
const (
	followEvery    = 100 * time.Millisecond
	maxFollowBytes = 4 << 10
)

// follower shows what a command writes while it runs.
type follower struct {
	show func(string)
	end  chan struct{}
	done chan struct{}

	mu      sync.Mutex
	pending []byte
}

func follow(show func(string)) *follower {
	f := &follower{show: show, end: make(chan struct{}), done: make(chan struct{})}
	go f.run()
	return f
}

func (f *follower) add(b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending = append(f.pending, b[max(0, len(b)-maxFollowBytes):]...)
	f.pending = append(f.pending[:0], f.pending[max(0, len(f.pending)-maxFollowBytes):]...)
}

func (f *follower) run() {
	defer close(f.done)
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			f.flush()
		case <-f.end:
			f.flush()
			return
		}
	}
}

func (f *follower) flush() {
	f.mu.Lock()
	text := string(f.pending)
	f.pending = f.pending[:0]
	f.mu.Unlock()
	if text != "" {
		f.show(text)
	}
}

// stop shows the last of it.
func (f *follower) stop() {
	close(f.end)
	<-f.done
}
